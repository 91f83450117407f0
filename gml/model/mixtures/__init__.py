"""Mixtures: rows of several kinds, whose class nobody recorded."""
