"""gml pc DATA: the PC algorithm."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from gml import __version__
from gml.cli.shared.averaging import average_samples, shown_collider, warn_of_contradictions
from gml.cli.shared.common_options import (
    OUT_OF_TIME,
    chosen_options,
    common_options,
    max_seconds_option,
)
from gml.cli.shared.data_options import DataRequest, data_options
from gml.cli.shared.knowledge_options import KnowledgeRequest, knowledge_options
from gml.cli.shared.numbers import RealRange, WholeRange
from gml.cli.shared.output import GraphOutput, ReportOutput, graph_output
from gml.cli.shared.parameter_types import OutputFile
from gml.cli.shared.pc_options import PcRequest, pc_options
from gml.errors import UsageError
from gml.progress import Deadline, reporter

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.learners.pc import PcResult, Sepset, WeighedTriple
    from gml.learners.skeleton import Log, TestRecord

# ln 2: evidence that a coin might have given.
_WEAK = 0.69


@click.command(
    "pc",
    epilog="\b\nExamples:\n"
    "  gml pc survey.csv                              # CPDAG as DOT on standard output\n"
    "  gml pc survey.csv | dot -Tsvg > graph.svg\n"
    "  gml pc survey.csv --alpha 0.001 --max-cond 3 -o graph.json\n"
    "  gml pc survey.csv --tiers 'Age,Sex < Education < Income' -f text\n"
    "  gml pc survey.csv --test-log log.jsonl -o graph.dot && gml explain log.jsonl Age Income\n"
    "  gml pc survey.csv --bootstrap 100 -o strengths.json\n"
    "  gml pc heights.csv --test fisher-z --dag -o dag.json\n"
    "\n\b\n"
    "Exit code 5: stopped by --max-seconds; the graph so far was written.",
)
@data_options
@pc_options()
@knowledge_options
@click.option("--dag", is_flag=True, help="Write a DAG of the equivalence class instead.")
@click.option(
    "--sepsets",
    type=OutputFile(),
    metavar="FILE",
    help="Write what separated each pair; .csv .json .txt …",
)
@click.option(
    "--test-log",
    type=OutputFile(),
    metavar="FILE.jsonl",
    help="Write every test; gml explain reads it.",
)
@click.option(
    "--bootstrap",
    type=WholeRange(min=2),
    metavar="N",
    help="Average over N half-samples; edges carry strength and direction.",
)
@click.option(
    "--threshold",
    type=RealRange(min=0, max=1, min_open=True),
    help="Least strength of an edge with --bootstrap; found from the data.",
)
@max_seconds_option
@graph_output
@common_options
def command(
    data: DataRequest,
    pc: PcRequest,
    knowledge: KnowledgeRequest,
    dag: bool,
    sepsets: str | None,
    test_log: str | None,
    bootstrap: int | None,
    threshold: float | None,
    deadline: Deadline,
    out: GraphOutput,
) -> int:
    """Learn a CPDAG from DATA by independence tests (the PC algorithm, order-independent).

    Two variables have an edge unless some set of neighbours makes them independent; arrows follow
    from colliders and Meek's rules. The result is always a valid CPDAG or, with knowledge, the
    maximally oriented PDAG: where tests contradict each other the weaker evidence gives way, and a
    warning names it.
    """
    from gml.formats.knowledge import as_json

    pc.testing.check(seeded=bootstrap is not None)
    pc.testing.require_reachable_level()
    separators = _check_options(bootstrap, threshold, sepsets, test_log)
    counter = data.open(undeclared="numbers" if pc.testing.numeric else "labels")
    known = knowledge.resolve([variable.name for variable in counter.variables])
    learning: dict[str, Any] = {
        "command": "pc",
        "options": chosen_options(),
        "settings": pc.shown,
        "version": __version__,
        "rows": counter.n,
        "data": counter.digest,
    }
    if known:
        learning["knowledge"] = as_json(known)
    run = _Run(counter, data.threads, pc, known, deadline)
    levels = {v.name: v.levels for v in counter.variables if v.levels is not None}
    with run.logging(test_log) as log:
        sepsets_found: Sequence[Sepset] = ()
        if bootstrap is not None:
            graph, found = run.average(bootstrap, threshold, dag)
        else:
            graph, found, sepsets_found = run.learn(dag, log)
        # First: a format may refuse the names, and then no other file appears either.
        out.write(dataclasses.replace(graph, levels=levels), learning | found)
        if separators is not None:
            separators.write(_sepset_rows(sepsets_found))
    if found.get("complete", True):
        return 0
    done = "tests are missing, so edges may be too many and arrows wrong"
    if bootstrap is not None:
        done = f"{found['replicates']} of {bootstrap} replicates are averaged"
    reporter().warn(f"stopped by --max-seconds: {done}")
    return OUT_OF_TIME


def _check_options(
    bootstrap: int | None,
    threshold: float | None,
    sepsets: str | None,
    test_log: str | None,
) -> ReportOutput | None:
    """Refuse options that do not go together; returns where the separating sets go."""
    from gml.formats.suffixes import REPORT_SUFFIXES, format_of

    if threshold is not None and bootstrap is None:
        raise UsageError("--threshold belongs to --bootstrap")
    for option, path in (("--sepsets", sepsets), ("--test-log", test_log)):
        if path is None:
            continue
        if bootstrap is not None:
            raise UsageError(f"{option} is about one run; leave out --bootstrap")
        if path == "-":
            raise UsageError(f"{option} needs a file; standard output is for the graph")
    separators = None
    if sepsets is not None:
        separators = ReportOutput(sepsets, format_of(sepsets, REPORT_SUFFIXES, or_option=""))
    return separators


@dataclasses.dataclass(frozen=True)
class _Run:
    """The data, the test and the settings of the learner."""

    counter: Counter
    threads: int | None
    pc: PcRequest
    knowledge: Knowledge
    deadline: Deadline

    def learn(
        self, dag: bool, log: _LogWriter | None
    ) -> tuple[Graph, dict[str, Any], Sequence[Sepset]]:
        """Learn one graph; returns it with what `learning` says of the run, and what separates."""
        result = self._pc(self.counter, self.threads, log=None if log is None else log.test)
        if log is not None:
            log.finish(result)
        warn_of_contradictions(result.triples, "tests")
        _warn_of_ambiguous(result.ambiguous)
        reporter().note(
            f"{sum(result.tests)} tests for the skeleton, {result.collider_tests} for colliders"
        )
        _note_weak_colliders(result.triples)
        found: dict[str, Any] = {
            "tests": sum(result.tests),
            "tests_by_level": list(result.tests),
            "collider_tests": result.collider_tests,
        }
        if not result.complete:
            found["complete"] = False
        return result.dag if dag else result.graph, found, result.sepsets

    @contextmanager
    def logging(self, path: str | None) -> Iterator[_LogWriter | None]:
        """Yield what takes the tests, into a file that appears whole; None without one."""
        if path is None:
            yield None
            return
        from gml.atomic import whole_file
        from gml.formats.test_log import line, run_record

        names = [variable.name for variable in self.counter.variables]
        about = run_record(names, self.pc.shown, self.knowledge)
        with whole_file(path) as file:
            file.write(line(about))
            yield _LogWriter(file)

    def average(
        self, replicates: int, threshold: float | None, dag: bool
    ) -> tuple[Graph, dict[str, Any]]:
        """Average the graphs of half-samples; returns the same."""
        from gml.counts.memory import MemoryCounter
        from gml.learners.bootstrap import half_samples

        def learn(sample: Dataset) -> Graph | None:
            result = self._pc(MemoryCounter(sample, threads=1), 1)
            return result.graph if result.complete else None

        seed = self.pc.testing.options["seed"]
        averaged, found = average_samples(
            learn,
            half_samples(self.counter.require_rows("--bootstrap"), replicates, seed=seed),
            replicates,
            threshold=threshold,
            knowledge=self.knowledge,
            threads=self.threads,
            deadline=self.deadline,
        )
        warn_of_contradictions(averaged.triples, "tests")
        return averaged.dag if dag else averaged.graph, found

    def _pc(self, counter: Counter, threads: int | None, log: Log | None = None) -> PcResult:
        return self.pc.learn(
            counter, threads, knowledge=self.knowledge, deadline=self.deadline, log=log
        )


def _warn_of_ambiguous(ambiguous: Sequence[WeighedTriple]) -> None:
    if ambiguous:
        shown = ", ".join(f"{t.x} - {t.k} - {t.y}" for t in ambiguous)
        reporter().warn(
            "the tests leave open whether these are colliders, so none is made without need: "
            + shown
        )


def _note_weak_colliders(triples: Sequence[WeighedTriple]) -> None:
    weak = [t for t in triples if t.collider and 0 < t.weight < _WEAK]
    if weak:
        shown = ", ".join(f"{shown_collider(t)} ({t.weight:.2g})" for t in weak)
        reporter().note(f"colliders by less than a factor of 2 in p (ln): {shown}")


class _LogWriter:
    """Writes records as they come."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def test(self, record: TestRecord) -> None:
        """Write a test."""
        from gml.formats.test_log import line, test_record

        self._file.write(line(test_record(record)))

    def finish(self, result: PcResult) -> None:
        """Write what came out."""
        from gml.formats.test_log import line, result_records

        for record in result_records(result):
            self._file.write(line(record))


def _sepset_rows(sepsets: Sequence[Sepset]) -> list[dict[str, Any]]:
    from gml.formats.reports.tests import numbers_of

    return [
        {
            "x": sepset.x,
            "y": sepset.y,
            "given": list(sepset.given),
            **numbers_of(sepset.result),
            "n": sepset.result.n,
        }
        for sepset in sepsets
    ]
