"""Databases, connections and private scratch space."""
