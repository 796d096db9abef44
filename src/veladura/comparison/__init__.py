"""Comparison of recipes on one table: risk and utility of each, on one map."""
