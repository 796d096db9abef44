"""A source before it is protected, for its holder: frequencies, moments, groups and tests."""
