"""Learners: functions from counts, a test or a score to a graph."""
