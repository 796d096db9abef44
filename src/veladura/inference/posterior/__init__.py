"""Exact Bayesian inference from a differentially private release."""
