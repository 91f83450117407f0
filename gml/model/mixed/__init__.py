"""Exact inference in networks of labels and numbers: conditional linear Gaussian models."""
