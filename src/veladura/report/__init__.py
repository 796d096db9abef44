"""The page people decide from."""
