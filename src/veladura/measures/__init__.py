"""Measures of risk and utility."""
