"""Fitting from incomplete rows: expectation–maximisation (Dempster, Laird & Rubin 1977)."""
