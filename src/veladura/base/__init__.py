"""What everything rests on: streams, settings, estimates, limits, compiled kernels."""
