"""Files: graphs in and out, reports out."""
