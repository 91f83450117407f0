"""The counting engine: batches of variable sets in, contingency tables and moments out."""
