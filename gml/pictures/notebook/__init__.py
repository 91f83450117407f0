"""What a notebook shows of graphs, models, answers and reports: pictures and tables in HTML.

The package gives these to the classes (`verbs/shared/attached_methods.py`), as they live in rooms
below this one.
Nothing here is a script or a style sheet, and text inherits the colours of the notebook, so that it
is read on a dark page too; only pictures bring their own background.
"""
