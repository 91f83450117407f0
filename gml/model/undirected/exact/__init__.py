"""Maximum likelihood by exact inference on a junction tree."""
