"""Run checks in tests, and look at their reports."""

from __future__ import annotations

import gml


def run(model, data, **options):
    """The report of a check on one thread."""
    return gml.check(data, model, threads=1, **options)


def failing(report):
    """The names of the checks that fail."""
    return {check.id for check in report.ranked("fail")}


def by_id(report):
    """The checks by their names."""
    return {check.id: check for check in report.checks}
