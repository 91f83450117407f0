"""Graphs with edge marks, and what can be said of them without data."""
