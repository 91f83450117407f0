"""The completion in shells that few machines have: make shells installs them."""
