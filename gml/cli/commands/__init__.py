"""One module per verb: its options, its help, and how it asks the library."""
