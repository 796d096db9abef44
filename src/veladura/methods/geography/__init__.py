"""Method 4: synthetic locations from disease-mapping models."""
