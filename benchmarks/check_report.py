"""Markdown tables of what the experiments on checks found."""

from __future__ import annotations

from collections import Counter as Multiset
from collections import defaultdict

import check_culprits
import check_gaussian
import check_mixed
from check_setup import Results, share

ARMS = {
    "true": "true graph",
    "accepted": "true graph, half of the checks accepted",
    "learned": "learned graph, baseline",
    "bare": "learned graph, no baseline",
}


def report():
    """All tables."""
    parts = [*calibration(), *naive(), *power(), *check_culprits.tables(), *real(), *numbers()]
    return "\n\n".join([*parts, *check_gaussian.report(), *check_mixed.report()])


def totals(lines, key):
    """Repetitions, and kinds of checks that raised alarms at each level, by a key and arm."""
    found = defaultdict(lambda: [0, {"0.01": Multiset(), "0.05": Multiset()}])
    for line in lines:
        for arm, alarms in line["arms"].items():
            cell = found[key(line), arm]
            cell[0] += line["repetitions"]
            for level, kinds in alarms.items():
                cell[1][level].update(kinds)
    return found


def calibration():
    """Overall, by network, by rows, and by the ratio of rows."""
    lines = Results("check_calibration").lines
    yield "## Calibration"
    rows = ["| | alarms at 0.01 (95 % interval) | alarms at 0.05 | raised by, at 0.01 |"]
    rows.append("|---|---|---|---|")
    for (_, arm), (n, alarms) in sorted(totals(lines, lambda _: "").items(), key=_by_arm):
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(alarms["0.01"].items()))
        first, second = (sum(alarms[level].values()) for level in ("0.01", "0.05"))
        rows.append(f"| {ARMS[arm]} | {share(first, n)} | {share(second, n)} | {kinds} |")
    yield "\n".join(rows)
    for title, key in (
        ("network", lambda line: line["network"]),
        ("n₀", lambda line: line["rows_old"]),
        ("n/n₀", lambda line: line["rows_new"] / line["rows_old"]),
    ):
        rows = [f"| {title} | " + " | ".join(ARMS.values()) + " |", "|---" * 5 + "|"]
        cells = totals(lines, key)
        for value in dict.fromkeys(key(line) for line in lines):
            shown = []
            for arm in ARMS:
                n, alarms = cells[value, arm]
                shown.append(f"{sum(alarms['0.01'].values())} of {n}" if n else "·")
            label = f"{value:g}" if isinstance(value, float) else str(value)
            rows.append(f"| {label} | " + " | ".join(shown) + " |")
        yield "\n".join(rows)


def _by_arm(item):
    return list(ARMS).index(item[0][1])


def naive():
    """What was not done."""
    columns = {
        "exact": "tables as exact",
        "difference": "fit by posterior draws, relative to the old rows",
        "new rows": "fit by posterior draws",
        "fit": "fit by gml",
    }
    rows = ["| network | n₀ | n | " + " | ".join(columns.values()) + " |", "|---" * 7 + "|"]
    for line in Results("check_naive").lines:
        shown = []
        for key in columns:
            mean = f" (mean p {line['mean_p'][key]:.2f})" if key in line["mean_p"] else ""
            shown.append(f"{line['alarms'][key]} of {line['repetitions']}{mean}")
        place = f"{line['network']} | {line['rows_old']} | {line['rows_new']}"
        rows.append(f"| {place} | " + " | ".join(shown) + " |")
    yield "\n".join(rows)


def power():
    """In what share of runs the right check fails; and what else was accused."""
    lines = Results("check_power").lines
    if not lines:
        return
    yield "## Power"
    sizes = sorted({line["rows"] for line in lines})
    rows = [
        "| network | fault | what | " + " | ".join(map(str, sizes)) + " |",
        "|---" * (3 + len(sizes)) + "|",
    ]
    by_fault = defaultdict(dict)
    for line in lines:
        by_fault[line["network"], line["fault"], line["about"]][line["rows"]] = line
    for (network, fault, about), cells in by_fault.items():
        shown = [f"{_of(cells[n], 'right')}" if n in cells else "·" for n in sizes]
        about = about.replace("->", "→").replace("<→", "↔")
        rows.append(f"| {network} | {fault} | {about} | " + " | ".join(shown) + " |")
    yield "\n".join(rows)
    rows = [
        "| fault | runs | alarms | right check fails, of the alarms | named at all | "
        "surest is right, of the named | surest is about the variable | "
        "runs with a wrong accusation | wrong checks per run |",
        "|---" * 9 + "|",
    ]
    for kind in dict.fromkeys(line["kind"] for line in lines):
        sums = Multiset()
        for line in lines:
            if line["kind"] == kind:
                sums.update({k: v for k, v in line.items() if isinstance(v, int)})
        n, failed, named = sums["repetitions"], max(1, sums["failed"]), max(1, sums["named"])
        rows.append(
            f"| {kind} | {n} | {sums['failed']} | {sums['right'] / failed:.1%} | {sums['named']} | "
            f"{sums['right_first'] / named:.1%} | {sums['about_first'] / named:.1%} | "
            f"{sums['any_wrong']} ({sums['any_wrong'] / n:.2%}) | {sums['wrong'] / n:.4f} |"
        )
    yield "\n".join(rows)


def _of(line, key):
    return f"{line[key] / line['repetitions']:.2f}"


def real():
    """Alarms on the other half, and with a column shuffled."""
    lines = Results("check_real").lines
    if not lines:
        return
    yield "## Real data"
    rows = [
        "| data | rows | edges | accepted | alarms on the other half | shuffled column | alarms | "
        "surest is about it | all columns: alarms |",
        "|---" * 9 + "|",
    ]
    for name in dict.fromkeys(line["data"] for line in lines):
        of_name = [line for line in lines if line["data"] == name]
        n = len(of_name)
        column, other, nats = of_name[0]["chosen"]
        picked = [line["shuffles"][column] for line in of_name]
        every = [
            s for line in of_name if len(line["shuffles"]) > 1 for s in line["shuffles"].values()
        ]
        found = sum(named > 0 for named, _, _ in picked)
        alarms = sum(bool(line["alarms"]) for line in of_name)
        rows.append(
            f"| {name} | {of_name[0]['rows']} | {_mean(of_name, 'edges')} | "
            f"{_mean(of_name, 'accepted')} | {alarms} of {n} | "
            f"{column.strip()} ({nats:.2f} nats with {other.strip()}) | {found} of {n} | "
            f"{sum(first for _, _, first in picked)} of {found} | "
            f"{sum(named > 0 for named, _, _ in every)} of {len(every)} |"
        )
    yield "\n".join(rows)
    alarms = Multiset(check for line in lines for check in line["alarms"])
    if alarms:
        yield "\n".join(f"- {count} × `{check}`" for check, count in alarms.most_common())


def numbers():
    """Alarms of the checks of numbers and duplicates, and faults that they found."""
    lines = Results("check_numbers").lines
    if not lines:
        return
    yield "## Numbers and duplicates"
    quiet = [line for line in lines if "arm" in line]
    ratios = sorted({line["ratio"] for line in quiet})
    rows = [
        "| arm | n₀ | " + " | ".join(f"n/n₀ = {ratio:g}" for ratio in ratios) + " |",
        "|---" * (2 + len(ratios)) + "|",
    ]
    cells = {(line["arm"], line["rows_old"], line["ratio"]): line for line in quiet}
    for arm, n in dict.fromkeys((line["arm"], line["rows_old"]) for line in quiet):
        shown = [
            f"{found['alarms']}, {found['of_rows']} of {found['repetitions']}"
            if (found := cells.get((arm, n, ratio)))
            else "·"
            for ratio in ratios
        ]
        rows.append(f"| {arm} | {n} | " + " | ".join(shown) + " |")
    yield "\n".join(rows)
    faults = [line for line in lines if "fault" in line]
    sizes = list(dict.fromkeys((line["rows_old"], line["rows_new"]) for line in faults))
    rows = [
        "| fault | " + " | ".join(f"{n} → {m} rows" for n, m in sizes) + " |",
        "|---" * (1 + len(sizes)) + "|",
    ]
    found = {(line["fault"], line["rows_old"], line["rows_new"]): line for line in faults}
    for fault in dict.fromkeys(line["fault"] for line in faults):
        shown = [
            f"{_of(found[fault, *size], 'right')} ({_of(found[fault, *size], 'failed')})"
            if (fault, *size) in found
            else "·"
            for size in sizes
        ]
        rows.append(f"| {fault} | " + " | ".join(shown) + " |")
    yield "\n".join(rows)


def _mean(lines, key):
    return f"{sum(line[key] for line in lines) / len(lines):.0f}"
