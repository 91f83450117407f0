"""The front door: a module per verb, with the function that does what the command does."""
