"""Synthetic tables: columns drawn one after the other from models of the original."""
