"""Recipe, fitted, release: the one shape of every method."""
