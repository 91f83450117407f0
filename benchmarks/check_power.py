"""How often a planted fault is found, and whether what is accused has changed.

A model is fitted on n rows of a network with its true graph and checked on n rows after the fault.
"""

from __future__ import annotations

from check_setup import (
    Results,
    checked,
    fitted,
    network,
    sampled,
    seeds,
    with_seen_levels,
)

from tests.planted_faults import cut_edge, drifted_root, new_edge, shifted_row, swapped_label

ROWS = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
_SMALL = {
    **{
        f"row {likely:g} {delta:g}": (shifted_row, likely, delta)
        for likely in (0.5, 0.1, 0.02)
        for delta in (0.05, 0.1, 0.2)
    },
    "cut strongest": (cut_edge, "strongest"),
    "cut median": (cut_edge, "median"),
    **{f"new edge {strength:g}": (new_edge, strength) for strength in (0.2, 0.5, 1.0)},
    "swap": (swapped_label,),
    **{f"drift {delta:g}": (drifted_root, delta) for delta in (0.05, 0.1, 0.2)},
}
_LARGE = {
    label: fault
    for label, fault in _SMALL.items()
    if label in ("row 0.1 0.1", "row 0.1 0.2", "cut median", "new edge 0.5", "swap", "drift 0.1")
}
FAULTS = {"survey": _SMALL, "asia": _SMALL, "alarm": _LARGE, "insurance": _LARGE}
REPETITIONS = {"survey": 50, "asia": 50, "alarm": 20, "insurance": 20}


def run(networks, scale=1.0):
    """Run what is not there yet."""
    results = Results("check_power")
    for name in networks:
        for label, (make, *options) in FAULTS[name].items():
            fault = make(network(name), *options)
            for n in ROWS:
                setting = f"{name} {label} {n}"
                if setting not in results:
                    repetitions = max(2, round(REPETITIONS[name] * scale))
                    found = [_once(name, fault, n, setting, k) for k in range(repetitions)]
                    results.add(
                        setting,
                        network=name,
                        fault=label,
                        kind=fault.kind,
                        about=fault.about,
                        rows=n,
                        repetitions=repetitions,
                        **{key: sum(one[key] for one in found) for key in found[0]},
                    )


def _once(name, fault, n, setting, repetition):
    net = network(name)
    old, new, check_seed = seeds(setting, repetition, 3)
    model = fitted(net.graph, sampled(net, n, old))
    report = checked(model, with_seen_levels(fault.sample(n, new)), check_seed)
    failures = report.ranked("fail")
    named = [check for check in failures if check.kind != "likelihood"]
    wrong = [check for check in failures if not fault.entitled(check)]
    first = named[0] if named else None
    return {
        "failed": report.failed,
        "right": any(map(fault.right, failures)),
        "named": bool(named),
        "right_first": first is not None and fault.right(first),
        "about_first": first is not None and _speaks_of(first, fault.variable),
        "entitled_first": first is not None and fault.entitled(first),
        "any_wrong": bool(wrong),
        "wrong": len(wrong),
        "failures": len(failures),
    }


def _speaks_of(check, name):
    return name in check.variables or name in dict(check.given)
