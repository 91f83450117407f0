"""Thousands of random problems on which EM has to keep what it promises.

    python -m benchmarks.em_conditions [--problems 1000] [--from 0] [tables gaussian mixed mixtures]

A line per kind of problem: how many there were, climbs with and without acceleration, those that
collapsed (a likelihood without a bound), and the worst that was found: `fall` of the objective from
step to step as a share of it, `slope` of the objective per row where a climb had ended (0 or less
at a maximum), `e-step` and `counts` beside enumeration and the number of rows, `closed form` beside
the fit to complete rows. Problems that break a limit are named, and the exit code is 1. What is
drawn and what is asked is in `tests/em_conditions.py`.
"""

from __future__ import annotations

import argparse
import sys
import time

from gml.kernel.blas import one_blas_thread
from tests.em_conditions import EXAMINED, Conditions


def study(kind, seeds):
    """Examine problems of a kind; whether all kept the promises."""
    started, found = time.process_time(), Conditions()
    for seed in seeds:
        EXAMINED[kind](found, seed)
    print(
        f"{kind}: {found.problems} problems, {found.climbs} climbs of {found.steps} steps, "
        f"{found.converged} converged, {found.collapsed} collapsed; {found.closed_forms} complete; "
        f"worst fall {found.fall:.1e}, slope {found.slope:.1e}, e-step {found.e_step_gap:.1e}, "
        f"counts {found.count_gap:.1e}, closed form {found.closed_form_gap:.1e}; "
        f"{time.process_time() - started:.0f} CPU s",
        flush=True,
    )
    for line in found.broken:
        print(f"  broken: {line}")
    return not found.broken


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(EXAMINED))
    parser.add_argument("--problems", type=int, default=1000, help="of each kind")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.problems)
    with one_blas_thread():
        kept = [study(kind, seeds) for kind in asked.kinds]
    sys.exit(0 if all(kept) else 1)
