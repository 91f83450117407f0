"""Tests of independence: each a CITest over the engine, by its short label in TESTS."""
