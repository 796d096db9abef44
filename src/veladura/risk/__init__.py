"""Disclosure risk."""
