"""pandas, polars and pyarrow frames, as input and as output."""
