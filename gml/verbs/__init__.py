"""The front door: one module per verb, what each command does for Python users."""
