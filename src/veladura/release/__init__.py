"""From datasets to a checked folder, and back."""
