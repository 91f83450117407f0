"""What verbs share: how data, graphs and models come in, and how results are recorded."""
