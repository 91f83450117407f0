"""The forms of constraints, by which `gml help constraints` explains them."""

from __future__ import annotations

CONSTRAINT_FORMS: tuple[tuple[str, str, str], ...] = (
    (
        "margin",
        "probabilities, counts or percent of all cells of some variables; a cell not listed has 0",
        '{"margin": ["A", "B"], "counts": {"n": {"x": 1, "z": 2}, "y": {"x": 3, "z": 4}}}',
    ),
    (
        "expectation",
        "of a sum of numbers attached to levels: equals, at_most or at_least",
        '{"expectation": {"die": {"1": 1, "2": 2, "3": 3}}, "equals": 2.5}',
    ),
    (
        "probability",
        "of levels, given others or not: equals, at_most or at_least",
        '{"probability": {"A": "y"}, "given": {"B": "z"}, "at_most": 0.3, "name": "cap"}',
    ),
    (
        "numeric",
        "one numeric variable alone: support, mean, variance, moments by power",
        '{"numeric": {"name": "wait", "support": [0, null], "mean": 2, "variance": 1.5}}',
    ),
    (
        "margins by name",
        "of single variables, in counts or shares of one total; nothing else beside them",
        '{"sex": {"m": 490, "f": 510}, "age": {"young": 300, "old": 700}}',
    ),
    (
        "csv margins",
        "a column per variable, empty where a margin lacks it, and count, percent or probability",
        "sex,age,count / m,,490 / f,,510 / ,young,300 / ,old,700",
    ),
    (
        "csv given",
        "a column given with the variables that a row's probability is conditional on",
        "rain,clouds,given,probability / yes,no,clouds,0.1",
    ),
    (
        "csv expectations",
        "a row per number; relation is =, <= or >=",
        "constraint,variable,level,number,relation,value / mean,die,1,1,=,2.5 / mean,die,2,2,,",
    ),
)
"""Name, meaning and example of each form; lines of CSV are separated by slashes."""
