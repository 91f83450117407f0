"""The report page: one HTML file with all that is known of a model, and its scripts and styles."""
