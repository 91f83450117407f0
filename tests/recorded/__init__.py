"""What the commands print and write, recorded before a change and compared after it."""
