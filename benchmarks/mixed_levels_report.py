"""The tables that benchmarks/mixed_levels.py makes of its results."""

from __future__ import annotations

from collections import defaultdict

from mixed_levels_data import ALTERNATIVES, NULLS

ROWS = (100, 1000, 10000)
SITUATIONS = (
    "numbers alone",
    "two numbers given labels",
    "a label and a number",
    "two labels given numbers",
    "labels alone",
)
# The columns of tables: tests, and for how many rows.
OWN = {"auto": ROWS, "cg": ROWS, "rcit": ROWS[:2]}
PEERS = dict.fromkeys(("auto", "pybnesian", "pgmpy", "causal-learn"), ROWS[:2])
# Fewer answers than this make no rate.
_LEAST_ANSWERS = 50


def situation_of(cell):
    """The situation that `auto` sees: as gml.independence.automatic has them."""
    _, kinds, given, _, _ = cell
    if "n" not in kinds + given:
        return "labels alone"
    if "l" not in kinds + given:
        return "numbers alone"
    return {
        "nn": "two numbers given labels",
        "ln": "a label and a number",
        "ll": "two labels given numbers",
    }[kinds]


def named(test, situation):
    """The column of the table that results of a test belong to."""
    if test in ("auto", "fisher-z"):
        return "auto"
    if test == "dg":
        return "dg beside auto" if situation in ("labels alone", "numbers alone") else "auto"
    return test if test in ("cg", "rcit", "fisher-z rank", "dg normal") else test.split()[0]


def report(results):
    """Print the range over Z and levels of shares rejected at 0.01, and of tests that are mute."""
    rates, silent = shares(results.values())
    others = set(PEERS) - {"auto"}
    peers = {tuple(r["cell"]) for r in results.values() if r["test"].split()[0] in others}
    beside, _ = shares(r for r in results.values() if tuple(r["cell"]) in peers)
    for columns, found in ((OWN, rates), (PEERS, beside)):
        for title, laws, digits in (("Nulls", NULLS, 3), ("Alternatives", ALTERNATIVES, 2)):
            print(f"\n**{title}**\n")
            table(columns, found, laws, digits)
    _others(rates)
    _silent(silent)
    _draws(results)


def shares(results):
    """Rejections over answers, and the share without answers, by law, situation, test and rows."""
    rates, silent = defaultdict(list), defaultdict(list)
    for result in results:
        situation = situation_of(result["cell"])
        test = named(result["test"], situation)
        key = result["cell"][0], situation, test, result["cell"][4]
        silent[key].append(1 - result["answered"] / result["draws"])
        if result["answered"] >= _LEAST_ANSWERS:
            rates[key].append(result["rejected"][0] / result["answered"])
    return rates, silent


def table(columns, rates, laws, digits):
    """Print one line per law and situation."""
    heads = [f"{test} {rows}" for test, sizes in columns.items() for rows in sizes]
    print("| law | x, y given Z | " + " | ".join(heads) + " |")
    print("|---" * (2 + len(heads)) + "|")
    for law in laws:
        for situation in SITUATIONS:
            shown = [
                _range(rates.get((law, situation, test, rows)), digits)
                for test, sizes in columns.items()
                for rows in sizes
            ]
            if any(shown):
                print(f"| {law} | {situation} | " + " | ".join(shown) + " |")


def _range(found, digits):
    if not found:
        return ""
    low, high = (f"{end:.{digits}f}" for end in (min(found), max(found)))
    return low if low == high else f"{low}–{high}"


def _others(rates):
    print("\nTests that auto does not use, shares at 0.01:\n")
    for (law, situation, test, rows), found in sorted(rates.items()):
        if test in ("dg beside auto", "fisher-z rank", "dg normal"):
            print(f"- {test}, {law}, {situation}, {rows} rows: {_range(found, 3)}")


def _silent(silent):
    print(
        "\nCells in which a test has no answer for some tables, and the largest share of these:\n"
    )
    for (law, situation, test, rows), found in sorted(silent.items()):
        if law == "inside" and max(found) > 0.005:
            some = sum(share > 0.005 for share in found)
            shown = f"{some} of {len(found)} cells, at most {max(found):.0%}"
            print(f"- {test}, {situation}, {rows} rows: {shown}")


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
