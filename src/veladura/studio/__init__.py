"""The studio: a local page in which a table is described, protected, tried, released and read."""
