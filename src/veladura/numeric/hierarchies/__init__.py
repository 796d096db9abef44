"""Value generalisation hierarchies."""
