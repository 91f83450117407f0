"""The front door: one module per verb, each doing what the command of its name does."""
