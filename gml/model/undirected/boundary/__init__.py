"""Maxima at infinity: the cells that they make impossible."""
