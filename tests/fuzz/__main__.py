"""python -m tests.fuzz: run for some time, repeat a case, or serve cases one by one.

python -m tests.fuzz --seconds 60 [--kinds csv,dot] [--seed 0] [--cases N]
python -m tests.fuzz --repeat tests/fuzz/findings/bug-…
python -m tests.fuzz --serve            # a case as JSON per line, a record as JSON per line
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import harness, readers
from tests.fuzz.case import Case
from tests.fuzz.kinds import KINDS


def main() -> int:
    """Run, and exit 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cases", type=int, help="of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-minimise", action="store_true")
    parser.add_argument("--repeat", type=Path, nargs="*", default=[])
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    harness.prepare(kinds)
    if options.serve:
        return _serve()
    if options.repeat:
        return _repeat(options.repeat)
    seconds = options.seconds if options.seconds or options.cases else 60.0
    return _campaign(kinds, options.seed, seconds, options.cases, not options.no_minimise)


def _campaign(
    kinds: list[str], seed: int, seconds: float | None, cases: int | None, minimise: bool
) -> int:
    campaign = harness.Campaign(kinds, seed, echo=harness.say)
    started = time.monotonic()
    differ = False
    try:
        campaign.run(seconds=seconds, cases=cases)
        took = time.monotonic() - started
        harness.say(
            f"{campaign.n_cases} cases in {took:.0f} s, {campaign.n_cases / took:.0f} cases/s; "
            f"{len(campaign.found)} distinct findings; most memory {campaign.most_growth >> 20} MiB\n"
        )
        for name in kinds:
            codes = {str(code): n for (kind, code), n in campaign.codes.items() if kind == name}
            harness.say(
                f"  {name}: "
                + ", ".join(f"{n} × exit {code}" for code, n in sorted(codes.items()))
                + "\n"
            )
        for signature, (finding, case) in campaign.found.items():
            small, again = (case, True)
            if minimise and case.args:
                small, again = harness.minimised(case, signature, campaign.folder)
            folder = harness.write_finding(finding, small, again)
            harness.say(
                f"{campaign.times[signature]} × {signature}\n  {ascii(small.line)[:300]}\n  {folder}\n"
            )
        if campaign.found:
            harness.say(_HOW_TO_KEEP)
        if "csv" in kinds and seconds is not None:
            differ = _compare_readers(seed, seconds / 20)
    finally:
        campaign.close()
    return 1 if campaign.found or differ else 0


def _compare_readers(seed: int, seconds: float) -> bool:
    try:
        done, found = readers.compare(seed, seconds=seconds)
    except ImportError:
        return False
    harness.say(f"{done} tables by both CSV readers; {len(found)} differ\n" + "\n".join(found))
    return bool(found)


_HOW_TO_KEEP = """
Once a finding is mended, keep it: copy its file to tests/fuzz/corpus/, and add to manifest.json
  {"name": "…", "run": "convert in.bif out.json", "files": {"in.bif": "the-file.bif"}, "expect": [3]}
"""


def _repeat(folders: list[Path]) -> int:
    found = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders:
            case = Case.from_json((folder / "case.json").read_text())
            record, findings = harness.examine_in_child(case, Path(scratch))
            sys.stdout.write(f"{folder.name}: {ascii(case.line)[:300]}\n  {record and record[1]}\n")
            for finding in findings:
                found += 1
                sys.stdout.write(
                    f"  {finding.signature}\n    " + finding.detail.replace("\n", "\n    ") + "\n"
                )
    return 1 if found else 0


def _serve() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        for line in sys.stdin:
            record, findings = harness.examine_in_child(Case.from_json(line), Path(scratch))
            answer = {
                "record": record,
                "findings": [[f.what, f.signature, f.detail] for f in findings],
            }
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
