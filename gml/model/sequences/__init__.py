"""Linear-chain conditional random fields: sequences of rows, and a label for each row."""
