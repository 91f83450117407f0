"""Mixtures for people: what was fitted, what was chosen, and what the classes are like.

Numbers have 6 significant digits, but log-likelihoods, whose differences matter, have decimals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gml.errors import counted
from gml.model.mixtures.fitting import MixtureFit
from gml.model.mixtures.profiles import ClassProfiles, LabelProfile, NumberProfile
from gml.model.mixtures.result import MixtureResult, classes_in_words
from gml.printable_text import cell_width, visible
from gml.text_table import aligned

_WIDTH = 100
_INDENT = "  "
_MOST_LEVELS = 20
_MANY_CELLS = 1_000_000
_NOTHING = "-"


def dump_mixture_text(result: MixtureResult) -> str:
    """Return the mixtures that were fitted, and the classes of the one that was chosen.

    Examples
    --------
    >>> import gml
    >>> found = gml.mixture("sample_data/carcinoma.csv", components=3, weights="slides")
    >>> for line in dump_mixture_text(found).splitlines()[6:9]:
    ...     print(line)
    classes
      class       1       2       3
      size   0.4447  0.3736  0.1817
    """
    chosen = result.chosen
    model = [] if chosen.covariance is None else [f"covariances {chosen.covariance}"]
    title = [
        classes_in_words(chosen.n_classes),
        *model,
        counted(result.rows, "row"),
        counted(len(result.model.names) - 1, "column"),
        *(
            []
            if len(result.fits) < 2
            else [f"chosen by {result.criterion} among {len(result.fits)}"]
        ),
        *([] if result.complete else ["stopped before all were fitted"]),
    ]
    parts = [[", ".join(title)], fits_in_words(result.fits, chosen)]
    parts += profiles_in_words(result.profiles)
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts if lines)


def fits_in_words(fits: Sequence[MixtureFit], chosen: MixtureFit) -> list[str]:
    """The table of all mixtures; the one that was chosen has a star."""
    columns = {
        "classes": [f"{fit.n_classes}{'*' if fit is chosen else ' '}" for fit in fits],
        "model": [fit.covariance or "" for fit in fits],
        "log-likelihood": [_fixed(fit.log_likelihood) for fit in fits],
        "parameters": [_parameters(fit) for fit in fits],
        "bic": [_fixed(fit.bic) for fit in fits],
        "icl": [_fixed(fit.icl) for fit in fits],
        "held out": ["" if fit.held_out is None else _fixed(fit.held_out) for fit in fits],
        "entropy": ["" if fit.entropy is None else f"{fit.entropy:.3f}" for fit in fits],
        "G²": [_g2(fit) for fit in fits],
        "df": [_df(fit) for fit in fits],
        "best of starts": [_starts(fit) for fit in fits],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    lines = [list(shown), *(list(line) for line in zip(*shown.values(), strict=True))]
    right = {k for k, name in enumerate(shown) if name != "model"}
    return ["mixtures", *aligned(lines, right=right, indent=_INDENT)]


def _fixed(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.4f}"


def _parameters(fit: MixtureFit) -> str:
    return str(fit.n_parameters) + ("" if fit.is_identified else f" (rank {fit.rank})")


def _g2(fit: MixtureFit) -> str:
    return "" if fit.table is None or fit.table.g2 is None else f"{fit.table.g2:.4f}"


def _df(fit: MixtureFit) -> str:
    if fit.table is None or fit.table.df is None:
        return ""
    if fit.table.is_sufficient:
        return str(fit.table.df)
    # Degrees of freedom by the million mean nothing to anybody.
    few = f"{fit.table.df}, " if fit.table.cells < _MANY_CELLS else ""
    return f"{few}insufficient"


def _starts(fit: MixtureFit) -> str:
    lost = f", {len(fit.discarded)} discarded" if fit.discarded else ""
    slow = "" if fit.converged or not fit.times_best else ", not converged"
    return f"{fit.times_best} of {len(fit.ends)}{lost}{slow}"


def profiles_in_words(profiles: ClassProfiles) -> Iterator[list[str]]:
    """Yield the classes side by side, in as many tables as lines of a readable width need."""
    lines = list(_lines(profiles))
    names = max(cell_width(line[0]) for line in lines)
    n_classes = len(profiles.sizes)
    widths = [max(cell_width(line[k + 1]) for line in lines) + 2 for k in range(n_classes)]
    first = 0
    while first < n_classes:
        last, used = first, len(_INDENT) + names
        while last < n_classes and (last == first or used + widths[last] <= _WIDTH):
            used += widths[last]
            last += 1
        some = [[line[0], *line[1 + first : 1 + last]] for line in lines]
        yield [
            "classes" if first == 0 else "classes, continued",
            *aligned(some, right=set(range(1, last - first + 1)), indent=_INDENT),
        ]
        first = last


def _lines(profiles: ClassProfiles) -> Iterator[list[str]]:
    n_classes = len(profiles.sizes)
    yield [visible(profiles.hidden.name), *map(visible, profiles.hidden.levels or ())]
    yield ["size", *(f"{size:.4f}" for size in profiles.sizes)]
    for column in profiles.columns:
        name = visible(column.variable.name)
        if isinstance(column, NumberProfile):
            pairs = zip(column.means, column.sds, strict=True)
            yield [name, *(f"{mean:.6g} ± {sd:.4g}" for mean, sd in pairs)]
            continue
        yield [name, *[""] * n_classes]
        yield from _levels(column)


def _levels(column: LabelProfile) -> Iterator[list[str]]:
    levels = column.variable.levels or ()
    for k, level in enumerate(levels[:_MOST_LEVELS]):
        yield [f"  {visible(level)}", *(f"{p:.4f}" for p in column.table[:, k])]
    left = len(levels) - _MOST_LEVELS
    if left > 0:
        rest = column.table[:, _MOST_LEVELS:].sum(axis=1)
        yield [f"  {counted(left, 'more level')}", *(f"{p:.4f}" for p in rest)]
