"""What a run would cost, before it is run: samples of the table, pilots, and what follows."""
