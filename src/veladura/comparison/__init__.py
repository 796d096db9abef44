"""Many recipes on one table: run each, measure each, and see which are worth having."""
