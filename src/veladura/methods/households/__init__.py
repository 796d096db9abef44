"""Synthesis of units with several rows: households and their members, people and their rows."""
