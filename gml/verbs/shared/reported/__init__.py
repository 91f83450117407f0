"""The facts of a report, gathered from an engine, a model and files, one module per section."""
