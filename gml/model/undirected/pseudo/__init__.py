"""Pseudo-likelihood: its value and derivatives from counts and from rows, and its fits."""
