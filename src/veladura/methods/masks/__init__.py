"""Masks: the simple baselines that every source document names."""
