"""Classes that nobody recorded: gml.mixture, `gml mixture`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

from gml.counts.open_count_file import is_counted
from gml.data.dataset import Dataset, Variable
from gml.data.options import EM
from gml.errors import (
    CannotAnswer,
    UsageError,
    counted,
    listing,
    parameter,
    quote,
    require_one_of,
    require_whole,
    unknown_name,
)
from gml.model.bayesnet import BayesNet
from gml.model.em.climbing import MOST_STEPS
from gml.model.mixtures.choosing import CRITERIA, FOLDS, Choice, choose_mixture
from gml.model.mixtures.covariances import MODELS
from gml.model.mixtures.fitting import (
    RESTARTS,
    MixtureData,
    MixtureFit,
    MixtureSettings,
    require_varying,
)
from gml.model.mixtures.network import network_of
from gml.model.mixtures.result import MixtureResult, classes_in_words
from gml.model.mixtures.rows import MixtureRows, mixture_rows
from gml.model.training import training_of
from gml.progress import Deadline, reporter
from gml.resources import available_threads
from gml.verbs.shared.data_input import Data, is_read, open_data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.mixture_report import learning_of, nothing_left, tell, tell_of_holes
from gml.verbs.shared.recording import records_keywords

COMPONENTS = "1..8"
NAME = "class"
_POLICIES = (EM, "error", "drop", "level")
_FULL = ("EEE", "VVV")
_MOST_COMPONENTS = 1000
_RANGE = re.compile(r"\s*(-?\d+)\s*(?:\.\.\s*(-?\d+)\s*)?")

Components = int | str | Iterable[int]
"""A number, a range such as `1..8`, or several numbers."""


@front_door()
@records_keywords
def mixture(
    data: Data,
    *,
    components: Components = COMPONENTS,
    covariance: str | Sequence[str] | None = None,
    criterion: str = "bic",
    folds: int | None = None,
    name: str = NAME,
    gaussian: bool = False,
    regularise: float = 0.0,
    em_restarts: int = RESTARTS,
    em_steps: int = MOST_STEPS,
    seed: int = 0,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    before: Callable[[Sequence[Variable]], None] | None = None,
    **reading: Any,
) -> MixtureResult:
    """Find classes that nobody recorded: latent classes of labels, Gaussian mixtures of numbers.

    Within a class, labels are independent of one another and of the numbers, which have a normal
    distribution. Missing values are integrated out, which assumes that they are missing at random.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter with rows.
    components
        How many classes: a number, a range `"1..8"`, or several of both.
    covariance
        The models of covariances to choose from, by the names of mclust: `EII`, `VII`, `EEI`,
        `VVI`, `EEE`, `VVV`; all by default.
    criterion
        What chooses: `bic`, `icl`, or `folds`, the log-likelihood of rows that were left out.
    folds
        How many folds, 10 by default; it means `criterion="folds"`.
    name
        The name of the node that has the classes.
    gaussian
        Take columns for numbers, if neither `numeric` nor a schema says what they hold.
    regularise
        Added to the variances of all classes, as a share of that of each column.
    em_restarts, em_steps
        How many times EM starts, the best end of which is taken, and the most steps from each.
    seed
        Seed of the starts and of the folds.
    max_seconds
        Stop after this time with the best so far; the result says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    before
        Called with the columns before anything is fitted, so that it can refuse them.
    **reading
        How to read the data; see `gml.read`. `missing` is `em` by default here.

    Returns
    -------
    MixtureResult
        With the `model`, in which the class is the last node, the mixture that was `chosen`, all
        `fits`, and the `profiles` of the classes.

    Examples
    --------
    >>> import gml
    >>> found = gml.mixture("sample_data/carcinoma.csv", components="1..4", weights="slides")
    >>> found.chosen.n_classes, round(found.chosen.log_likelihood, 6)
    (3, -293.704979)
    """
    deadline = Deadline(max_seconds)
    counts = parsed_components(components)
    names = _models(covariance)
    criterion = _criterion(criterion, folds, reading)
    require_whole(1, em_restarts=em_restarts, em_steps=em_steps)
    require_whole(0, seed=seed)
    if not (isinstance(regularise, int | float) and 0 <= regularise < math.inf):
        raise UsageError(f"{parameter('regularise')} must be 0 or more, not {regularise!r}")
    integrates = _integrates(data, reading)
    if integrates:
        # Missing cells are read as they stand.
        reading["missing"] = "available"
    counter = open_data(
        data,
        fractional=True,
        undeclared="numbers" if gaussian else "auto",
        takes_numbers=f"{parameter('numeric')}, {parameter('gaussian')}",
        refuses_constants=True,
        offer_available=False,
        offer_em=True,
        threads=threads,
        **reading,
    )
    table = counter.require_rows("a mixture")
    _require_new_name(name, table.names)
    if before is not None:
        before(table.variables)
    rows = mixture_rows(table)
    require_varying(rows)
    counts = _possible(counts, rows)
    settings = MixtureSettings(
        em_restarts,
        em_steps,
        seed,
        float(regularise),
        threads or available_threads(),
        deadline,
    )
    usable = _usable(names, covariance, rows, settings)
    tell_of_holes(table)
    choice = choose_mixture(
        usable.data, counts, usable.names, settings, criterion=criterion, folds=folds or FOLDS
    )
    net, best = _best_network(choice, counts, usable.data, table, name)
    n = int(rows.n) if rows.n == int(rows.n) else rows.n
    learning = learning_of(
        counter, asked or {}, choice, best, criterion, integrates=integrates, rows=n
    )
    net = replace(net, learning=learning, training=training_of(table))
    return MixtureResult(net, best, choice.fits, criterion, n, choice.complete)


def parsed_components(components: Components) -> tuple[int, ...]:
    """Return the numbers of classes that are asked for, in order.

    Examples
    --------
    >>> parsed_components("2,4..6"), parsed_components(3), parsed_components([2, 1])
    ((2, 4, 5, 6), (3,), (1, 2))
    """
    found: set[int] = set()
    parts = [components] if isinstance(components, Integral) else components
    for part in parts.split(",") if isinstance(parts, str) else parts:  # type: ignore[union-attr]
        if isinstance(part, Integral):
            first = last = int(part)
        else:
            match = _RANGE.fullmatch(part) if isinstance(part, str) else None
            if match is None:
                raise UsageError(
                    f"{parameter('components')} must be a number or a range such as 1..8, not "
                    + repr(part)
                )
            first, last = int(match[1]), int(match[2] or match[1])
        if first < 1:
            raise UsageError(f"{parameter('components')} must be at least 1, not {first}")
        if last < first:
            raise UsageError(
                f"{parameter('components')}: {first}..{last} goes down; write {last}..{first}"
            )
        if last - first >= _MOST_COMPONENTS or last > _MOST_COMPONENTS:
            raise UsageError(
                f"{parameter('components')} must be at most {_MOST_COMPONENTS}, not {last}"
            )
        found.update(range(first, last + 1))
    if not found:
        raise UsageError(f"{parameter('components')} names no number of classes")
    return tuple(sorted(found))


def _models(covariance: str | Sequence[str] | None) -> tuple[str, ...]:
    if covariance is None:
        return tuple(MODELS)
    names = covariance.split(",") if isinstance(covariance, str) else covariance
    for name in names:
        if name not in MODELS:
            raise UsageError(
                f"{parameter('covariance')}: {unknown_name('model', str(name), tuple(MODELS))}"
            )
    if not names:
        raise UsageError(f"{parameter('covariance')} names no model")
    return tuple(names)


def _criterion(criterion: str, folds: int | None, reading: Mapping[str, Any]) -> str:
    """What chooses among mixtures, of rows that are read so."""
    require_one_of("criterion", criterion, CRITERIA)
    require_whole(2, folds=folds)
    if folds is not None and criterion == "icl":
        raise UsageError(f"{parameter('folds')} belongs to {parameter('criterion', 'folds')}")
    chosen = "folds" if folds is not None else criterion
    if chosen == "folds" and reading.get("weights_fractional") is not None:
        raise UsageError(
            f"{parameter('criterion', 'folds')} splits whole rows, so "
            f"{parameter('weights_fractional')} contradicts it"
        )
    return chosen


def _integrates(data: Data, reading: Mapping[str, Any]) -> bool:
    """Whether missing values are integrated out, of what is read here."""
    if not is_read(data):
        return False
    policy: str = reading.get("missing") or EM
    require_one_of("missing", policy, _POLICIES)
    # A count file was read before: that it has no rows is said when they are asked for.
    return policy == EM and not is_counted(data)


def _require_new_name(name: str, columns: Sequence[str]) -> None:
    """Refuse a name of the class that no file can hold, or that a column has."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            f"{parameter('name')} {quote(name)} is not text that UTF-8 can hold"
        ) from None
    if name in columns:
        raise UsageError(
            f"{parameter('name')} {quote(name)} is a column of the data; name the class otherwise"
        )


def _possible(counts: Sequence[int], rows: MixtureRows) -> tuple[int, ...]:
    """The numbers of classes that are not more than there are different rows."""
    most = rows.n_distinct
    possible = tuple(count for count in counts if count <= most)
    if not possible:
        raise CannotAnswer(
            f"{classes_in_words(counts[0])} cannot be told apart in "
            f"{counted(most, 'different row')}"
        )
    if len(possible) < len(counts):
        reporter().warn(
            f"there are only {counted(most, 'different row')}: more classes than that are left out"
        )
    return possible


class _Usable(NamedTuple):
    """The rows, and the models of covariances that they can have."""

    data: MixtureData
    names: tuple[str, ...]


def _usable(
    names: tuple[str, ...],
    covariance: str | Sequence[str] | None,
    rows: MixtureRows,
    settings: MixtureSettings,
) -> _Usable:
    """Refuse, or leave out, what numbers and their number do not allow."""
    if not rows.numbers:
        for name, value in (
            ("covariance", covariance),
            ("regularise", settings.regularise or None),
        ):
            if value is not None:
                raise UsageError(
                    f"{parameter(name)} is for numbers, and all columns hold labels; "
                    f"{parameter('numeric')} says which hold numbers, {parameter('gaussian')} that "
                    "all do"
                )
        return _Usable(MixtureData(rows, settings), names)
    data = MixtureData(rows, settings)
    if any(name in _FULL for name in names) and not settings.regularise and data.dependent:
        which = listing(data.dependent)
        if covariance is not None:
            raise CannotAnswer(
                f"the columns {which} are linear functions of one another in these rows, so EEE "
                f"and VVV have no likelihood; leave one out ({parameter('exclude')}), choose "
                f"{parameter('covariance', 'VVI')}, or give {parameter('regularise', 0.01)}"
            )
        reporter().warn(
            f"the columns {which} are linear functions of one another in these rows: EEE and VVV "
            "are left out"
        )
        names = tuple(name for name in names if name not in _FULL)
    return _Usable(data, names)


def _best_network(
    choice: Choice, counts: Sequence[int], data: MixtureData, table: Dataset, name: str
) -> tuple[BayesNet, MixtureFit]:
    """The network of the best mixture, and that mixture; refused if there is none."""
    best = choice.best
    if best is None or best.parameters is None or best.expected_counts is None:
        raise nothing_left(choice)
    tell(choice, best, counts)
    rows = data.rows_for(MODELS[best.covariance or "VVV"])
    net = network_of(rows, best.parameters, best.expected_counts, table.variables, name)
    return net, best
