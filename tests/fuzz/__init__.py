"""Fuzzing: damaged input of every kind, through every command; see harness.py."""
