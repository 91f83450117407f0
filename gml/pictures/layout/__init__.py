"""Where the nodes and edges of a graph go on the plane; nothing here knows how they look."""
