"""Tables of coded columns, and how files become such tables."""
