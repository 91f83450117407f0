"""Conditional random fields: p(y | x) over some columns, given the others."""
