"""Pictures: layouts, drawings in SVG and in box characters, plots, and the report page."""
