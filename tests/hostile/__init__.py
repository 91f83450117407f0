"""Inputs and surroundings that mean harm, or might as well: small files that want much, odd streams."""
