"""Chain fields as `gml.crf` trains them: rows of one sequence, in the order of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.options import ReadingKeywords, ReadOptions
from gml.data.sequences import SequenceRows, read_sequences, sequences_of
from gml.errors import UsageError, parameter
from gml.graph.provenance import Provenance
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.decoding import prediction_options
from gml.model.sequences.estimation import estimate_chain
from gml.progress import Deadline, reporter
from gml.verbs.shared.data_input import Data, options_for
from gml.verbs.shared.holdout_input import naming_holdout
from gml.verbs.shared.recording import recorded
from gml.verbs.shared.weights_as_inputs import warn_of_weights_as_inputs

WINDOW = 1


def train_field(
    data: Data,
    *,
    sequence: str,
    target: str,
    window: int,
    holdout: Data | None,
    reading: ReadingKeywords,
    asked: Mapping[str, Any],
    deadline: Deadline,
    **how: Any,
) -> ChainField:
    """Train a chain field; `how` are the penalties, folds, seed and threads."""
    if not isinstance(sequence, str):
        raise UsageError(f"{parameter('sequence')} must be the name of a column, not {sequence!r}")
    options = options_for(data, reading, threads=how["threads"])
    rows = _sequences(data, options, sequence=sequence, target=target)
    warn_of_weights_as_inputs(rows.inputs.variables, reading, may_count=False)
    reporter().note(f"{rows.n_rows} rows in {rows.n_sequences} sequences")

    judged_by = None
    if holdout is not None:
        # Before training, so that what is wrong with the file is said at once.
        wanted = replace(options_for(holdout, reading, threads=how["threads"]), digest=False)
        with naming_holdout(holdout):
            judged_by = _sequences(
                holdout,
                prediction_options(Attributes.seen_in(rows, 0), wanted),
                sequence=sequence,
                target=target,
                inputs=rows.inputs.names,
            )
    field, complete = estimate_chain(
        rows,
        window=window,
        holdout=judged_by,
        deadline=deadline,
        **how,
    )
    assert field.summary is not None
    learning = Provenance.of(
        "crf",
        options=recorded(asked, MemoryCounter(rows.inputs), policy=False),
        rows=rows.n_rows,
        data=rows.inputs.digest,
    )
    if not complete:
        learning = learning.also(complete=False)
        reporter().warn(f"stopped by {parameter('max_seconds')}: this is the model so far")
    elif not field.summary.converged:
        reporter().warn(
            "training did not converge: a derivative of "
            f"{field.summary.gradient:.3g} per row is left"
        )
    return replace(field, learning=learning)


def _sequences(
    data: Data, options: ReadOptions, *, sequence: str, target: str, inputs: Any = None
) -> SequenceRows:
    if isinstance(data, Counter):
        raise UsageError(
            f"{parameter('sequence')} needs rows in their order: give a path, a frame or a Dataset"
        )
    if isinstance(data, Dataset):
        return sequences_of(data, sequence=sequence, target=target, inputs=inputs)
    return read_sequences(
        cast("Any", data), options, sequence=sequence, target=target, inputs=inputs
    )
