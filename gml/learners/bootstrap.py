"""Graphs learned on many samples of the rows: half-samples or the bootstrap.

G on a bootstrap sample behaves like 2χ² under independence, so learners that test use complementary
half-samples instead: the rows are split in two at random, without replacement, and both halves are
learned from (Shah & Samworth 2013, J. R. Stat. Soc. B 75:55). Learners with a score use the
bootstrap: as many rows as there are, with replacement (Friedman, Goldszmidt & Wyner 1999, UAI).
Both draw from the sorted distinct rows with their counts, so the order of rows does not matter.
`gml.learners.averaging` makes one graph of the many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gml.data.dataset import Dataset
from gml.data.resampling import Samples, require_splittable, resampled, sorted_equal_rows, stream
from gml.graph.graph import Graph
from gml.kernel.processes import in_processes
from gml.progress import Deadline, reporter
from gml.resources import available_threads


def half_samples(dataset: Dataset, replicates: int, *, seed: int = 0) -> Samples:
    """Return half-samples, each followed by its complement."""
    rows, counts = sorted_equal_rows(dataset)
    n = require_splittable(counts, 2)

    def draw(replicate: int) -> Dataset:
        # Drawn again for the complement, which costs less than keeping it.
        rng = stream(seed, replicate // 2)
        half = rng.multivariate_hypergeometric(counts, n // 2)
        return resampled(dataset, rows, half if replicate % 2 == 0 else counts - half)

    return Samples(draw, replicates)


def learn_replicates(
    learn: Callable[[Dataset], Graph | None],
    samples: Sequence[Dataset],
    *,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> list[Graph]:
    """Learn a graph from each sample, several at a time; at the deadline return those ready.

    Samples are drawn and learned from in processes of their own, as many as there are threads
    (`gml.kernel.processes`). `learn` returns None when it could not finish in time.
    """
    deadline = deadline or Deadline()
    threads = threads or available_threads()
    graphs: list[Graph] = []
    found = in_processes(
        lambda k: learn(samples[k]),
        len(samples),
        threads,
        may_go_on=lambda: not deadline.passed,
    )
    with reporter().counting("replicates", len(samples)) as count:
        for graph in found:
            if graph is not None:
                graphs.append(graph)
            count(len(graphs))
    return graphs
