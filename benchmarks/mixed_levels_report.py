"""The tables that benchmarks/mixed_levels.py makes of its results."""

from __future__ import annotations

from collections import defaultdict

from mixed_levels_data import ALTERNATIVES, NULLS

ROWS = (100, 1000, 10000)
SHOWN = ("auto", "dg", "cg", "pybnesian mi", "pgmpy pillai", "G of peers")
HEADS = ("auto", "dg", "cg", "cg silent", "pybnesian", "pgmpy Pillai", "G, z of peers")
# Fewer answers than this make no rate.
_LEAST_ANSWERS = 50


def named(test, cell):
    """The columns of the table that a result belongs to."""
    every = cell[1] + cell[2]
    if test in ("auto", "fisher-z"):
        return ["auto"]
    if test == "dg":
        return ["dg", "auto"] if "n" in every and "l" in every else ["dg"]
    if test in ("pgmpy g", "causal-learn gsq", "causal-learn fisherz"):
        return ["G of peers"]
    return [test]


def report(results):
    """Print nulls and alternatives, the range over Z and levels of shares rejected at 0.01."""
    rates, silent = defaultdict(list), defaultdict(list)
    for result in results.values():
        law, kinds, _, _, rows = cell = result["cell"]
        for test in named(result["test"], cell):
            key = law, kinds, rows, test
            silent[key].append(1 - result["answered"] / result["draws"])
            if result["answered"] >= _LEAST_ANSWERS:
                rates[key].append(result["rejected"][0] / result["answered"])
    for title, laws in (("Nulls", NULLS), ("Alternatives", ALTERNATIVES)):
        print(f"\n**{title}**\n")
        print("| law | x, y | rows | " + " | ".join(HEADS) + " |\n|---|---|---" + "|---" * 7 + "|")
        digits = 3 if laws is NULLS else 2
        for law in laws:
            for kinds in ("nn", "ln", "ll"):
                for rows in ROWS:
                    key = law, kinds, rows
                    if any((*key, test) in silent for test in SHOWN):
                        shown = [_range(rates[*key, test], digits) for test in SHOWN]
                        shown.insert(3, _most(silent[*key, "cg"]))
                        print(f"| {law} | {kinds} | {rows} | " + " | ".join(shown) + " |")
    _draws(results)


def _range(found, digits):
    if not found:
        return ""
    low, high = (f"{end:.{digits}f}" for end in (min(found), max(found)))
    return low if low == high else f"{low}–{high}"


def _most(found):
    return f"{max(found):.0%}" if found and max(found) >= 0.005 else ""


def _draws(results):
    """Say how many draws the cells have."""
    sizes = defaultdict(set)
    for result in results.values():
        law, _, _, _, rows = result["cell"]
        what = "alternatives" if law in ALTERNATIVES else "inside" if law == "inside" else "outside"
        sizes[result["test"], what, rows].add(result["draws"])
    print()
    for (test, what, rows), draws in sorted(sizes.items()):
        print(f"{test}, {what}, {rows} rows: {sorted(draws)} draws")
