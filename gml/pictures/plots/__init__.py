"""Plots that are not graphs: matrices, traces, strengths, losses and tables."""
