"""Raking: row weights that give a table the margins that are known of its population."""
