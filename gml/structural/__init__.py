"""Structures from incomplete rows: where learning a graph and fitting a model meet."""
