"""Sequential synthesis with CART: columns drawn one after the other from models of the original."""
