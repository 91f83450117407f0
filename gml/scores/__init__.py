"""Scores: how well a child's parents explain it, in nats; higher is better."""
