"""Inference from releases."""
