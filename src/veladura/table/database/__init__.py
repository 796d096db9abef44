"""Databases, connections and scratch space."""
