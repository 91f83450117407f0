"""How often `gml check` raises an alarm, and what it finds: experiments, tables and plots.

    python benchmarks/check_study.py calibration [--networks asia,alarm] [--rows 500,5000]
    python benchmarks/check_study.py power [--networks asia]
    python benchmarks/check_study.py real [--folder data/real]
    python benchmarks/check_study.py numbers     # numbers and duplicates
    python benchmarks/check_study.py gaussian    # models of numbers: all of these
    python benchmarks/check_study.py mixed       # models of labels and numbers: all of these
    python benchmarks/check_study.py culprits [--sources asia,adult] [--rows 1000] [--scale 0.5]
    python benchmarks/check_study.py report      # Markdown tables of all of them
    python benchmarks/check_study.py plot        # docs/check_*.svg

Experiments are deterministic, run in one process, and go on where they were stopped: results are in
benchmarks/results/check_*.jsonl. Networks are BIF files in the folder that GML_BENCH_BIF names, by
default the shared one beside the checkout. Plots need matplotlib: pip install 'gml[plots]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import check_calibration
import check_culprits
from check_setup import SHARED


def _names(text):
    return tuple(text.split(","))


def main() -> None:
    """Run one experiment, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    calibration = commands.add_parser("calibration")
    calibration.add_argument(
        "--networks", type=_names, default=tuple(check_calibration.REPETITIONS)
    )
    calibration.add_argument("--rows", type=_names, default=check_calibration.ROWS)
    calibration.add_argument("--scale", type=float, default=1.0, help="of the repetitions")
    calibration.add_argument("--batches", type=int, default=check_calibration.BATCHES)
    power = commands.add_parser("power")
    power.add_argument("--networks", type=_names)
    power.add_argument("--scale", type=float, default=1.0)
    real = commands.add_parser("real")
    real.add_argument("--folder", type=Path, default=SHARED / "data" / "real")
    real.add_argument("--data", type=_names, help="some of the files, without suffix")
    numbers = commands.add_parser("numbers")
    numbers.add_argument("--scale", type=float, default=1.0)
    gaussian = commands.add_parser("gaussian")
    gaussian.add_argument("--scale", type=float, default=1.0)
    mixed = commands.add_parser("mixed")
    mixed.add_argument("--scale", type=float, default=1.0)
    culprits = commands.add_parser("culprits")
    check_culprits.add_options(culprits)
    commands.add_parser("report")
    commands.add_parser("plot")
    options = parser.parse_args()
    if options.command == "calibration":
        rows = [int(n) for n in options.rows]
        check_calibration.run(options.networks, rows, options.scale, options.batches)
    elif options.command == "power":
        import check_power

        check_power.run(options.networks or tuple(check_power.FAULTS), options.scale)
    elif options.command == "real":
        import check_real

        check_real.run(options.folder, options.data)
    elif options.command == "numbers":
        import check_numbers

        check_numbers.run(options.scale)
    elif options.command == "gaussian":
        import check_gaussian

        check_gaussian.run(options.scale)
    elif options.command == "mixed":
        import check_mixed

        check_mixed.run(options.scale)
    elif options.command == "culprits":
        check_culprits.run(options.sources, options.rows, options.scale)
    elif options.command == "report":
        import check_report

        print(check_report.report())
    else:
        import check_plots

        check_plots.draw()


if __name__ == "__main__":
    main()
