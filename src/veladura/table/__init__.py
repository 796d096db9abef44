"""Tables wherever they live: the only folder that knows Ibis, and it holds no statistics."""
