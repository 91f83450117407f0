"""Models: a graph with its tables, and what can be asked of it."""
