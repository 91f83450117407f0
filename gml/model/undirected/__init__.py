"""Undirected models of labels: which terms they have, how they are fitted, and what a fit says."""
