"""Maximum entropy: constraints, and the distributions nearest to what was known before them."""
