"""What a notebook shows of graphs, models, answers and reports: pictures and tables in HTML.

The classes are in rooms below this one; `views` gives them what they show.
Nothing here is a script or a style sheet, and text inherits the colours of the notebook, so that it
is read on a dark page too; only pictures bring their own background.
"""
