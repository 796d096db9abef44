"""Shared foundations: random streams, settings, estimates, limits, pictures, compiled kernels."""
