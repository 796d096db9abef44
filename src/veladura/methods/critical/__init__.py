"""Synthesis of critical cells only."""
