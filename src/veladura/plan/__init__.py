"""Plans: read them, draft them, run them."""
