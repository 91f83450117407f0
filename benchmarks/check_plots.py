"""Draw what the experiments on checks found: docs/check_calibration.svg, docs/check_power.svg."""

from __future__ import annotations

import sys

from check_report import ARMS, totals
from check_setup import HERE, Results, interval

DOCS = HERE.parent / "docs"
# Okabe & Ito's colours, which all eyes can tell apart.
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000"
SHADES = (ORANGE, GREEN, BLUE)
NETWORK_STYLES = {"survey": "-", "asia": "--", "alarm": ":", "insurance": "-."}
PANELS = (
    ("a row of a table shifted, P(row) ≈ 0.5", "row 0.5 ", "shift of {}"),
    ("a row of a table shifted, P(row) ≈ 0.1", "row 0.1 ", "shift of {}"),
    ("a row of a table shifted, P(row) ≈ 0.02", "row 0.02 ", "shift of {}"),
    ("a root's distribution drifted", "drift ", "shift of {}"),
    ("a new edge", "new edge ", "strength {}"),
    ("an edge cut, labels swapped", ("cut ", "swap"), "{}"),
)


def draw():
    """Write the figures; the same results give the same bytes."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("plots need matplotlib: pip install 'gml[plots]'")
    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "gml",
            "svg.fonttype": "none",
            "font.size": 9,
            "font.family": "sans-serif",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 9,
        }
    )
    _save(_calibration(), "check_calibration")
    _save(_power(), "check_power")


def _save(figure, name):
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None, "Creator": None})
    print(DOCS / f"{name}.svg", file=sys.stderr)


def _calibration():
    import matplotlib.pyplot as plt

    lines = Results("check_calibration").lines
    groups = (
        ("network", lambda line: line["network"]),
        ("rows that the model was fitted on", lambda line: f"{line['rows_old']:,}"),
        ("new rows for each of these", lambda line: f"{line['rows_new'] / line['rows_old']:g}"),
    )
    figure, axes = plt.subplots(
        1, 3, figsize=(9, 3.2), sharey=True, layout="constrained", width_ratios=(1.35, 1.15, 1)
    )
    arms = {"true": (BLUE, "o"), "accepted": (ORANGE, "s"), "learned": (GREEN, "^")}
    for axis, (title, key) in zip(axes, groups, strict=True):
        cells = totals(lines, key)
        values = list(dict.fromkeys(key(line) for line in lines))
        for shift, (arm, (colour, marker)) in zip((-0.2, 0.0, 0.2), arms.items(), strict=True):
            for x, value in enumerate(values):
                n, alarms = cells[value, arm]
                if n:
                    hits = sum(alarms["0.01"].values())
                    low, high = interval(hits, n)
                    axis.plot([x + shift] * 2, [100 * low, 100 * high], color=colour, lw=1.2)
                    axis.plot(
                        x + shift,
                        100 * hits / n,
                        marker,
                        color=colour,
                        ms=5,
                        label=ARMS[arm] if x == 0 else None,
                    )
        axis.axhline(1, color=BLACK, lw=0.8, ls="--", label="α")
        axis.set_xticks(range(len(values)), values)
        axis.set_xlim(-0.5, len(values) - 0.5)
        axis.set_xlabel(title)
    axes[0].set_ylabel("runs with an alarm, %")
    axes[0].set_ylim(0, 8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _power():
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    lines = Results("check_power").lines
    figure, axes = plt.subplots(
        2, 3, figsize=(9, 5.6), sharex=True, sharey=True, layout="constrained"
    )
    for axis, (title, start, wording) in zip(axes.flat, PANELS, strict=True):
        faults = sorted({line["fault"] for line in lines if line["fault"].startswith(start)})
        for fault, colour in zip(faults, SHADES, strict=False):
            size = fault.split()[-1]
            label = "labels" if size == "swap" else wording.format(size)
            if size in ("median", "strongest"):
                label = f"{size} edge"
            axis.plot([], [], color=colour, lw=2, label=label)
            for network, style in NETWORK_STYLES.items():
                cells = sorted(
                    (line["rows"], line["right"] / line["repetitions"])
                    for line in lines
                    if line["fault"] == fault and line["network"] == network
                )
                if cells:
                    axis.plot(*zip(*cells, strict=True), style, color=colour, lw=1.4, marker=".")
        axis.set_xscale("log")
        axis.set_title(title)
        if faults:
            axis.legend(
                frameon=False,
                fontsize=7.5,
                loc="upper center",
                ncols=len(faults),
                handlelength=1.2,
                columnspacing=1.0,
            )
        axis.grid(color="0.92")
    # Room for the legends above the curves.
    axes[0, 0].set_ylim(-0.03, 1.19)
    axes[0, 0].set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    for axis in axes[1]:
        axis.set_xlabel("rows of the model, and as many new ones")
    for axis in axes[:, 0]:
        axis.set_ylabel("runs in which the right check fails")
    shown = [network for network in NETWORK_STYLES if any(li["network"] == network for li in lines)]
    handles = [Line2D([], [], color="0.3", ls=NETWORK_STYLES[n], label=n) for n in shown]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    return figure
