"""Plans: read, drafted, run."""
