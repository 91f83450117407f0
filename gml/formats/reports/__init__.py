"""Reports: rows of named values as text, JSON, JSON lines, CSV or Markdown."""
