"""What commands that average graphs share: learning from samples, and what they say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gml.errors import CannotAnswer
from gml.progress import Deadline, reporter

if TYPE_CHECKING:
    from gml.data.dataset import Dataset
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.learners.averaging import Averaged
    from gml.learners.pc import WeighedTriple


def average_samples(
    learn: Callable[[Dataset], Graph | None],
    samples: Iterable[Dataset],
    replicates: int,
    *,
    threshold: float | None,
    knowledge: Knowledge,
    threads: int | None,
    deadline: Deadline,
) -> tuple[Averaged, dict[str, Any]]:
    """Average the graphs of samples; returns it with what `learning` says of the run."""
    from gml.learners.averaging import average_graphs
    from gml.learners.bootstrap import learn_replicates

    graphs = learn_replicates(learn, samples, total=replicates, threads=threads, deadline=deadline)
    if not graphs:
        raise CannotAnswer("--max-seconds was over before the first replicate was learned")
    averaged = average_graphs(graphs, threshold=threshold, knowledge=knowledge)
    reporter().note(
        f"{averaged.replicates} replicates; edges of strength {averaged.threshold:g} or more"
    )
    found: dict[str, Any] = {"replicates": averaged.replicates, "threshold": averaged.threshold}
    if averaged.replicates < replicates:
        found["complete"] = False
    return averaged, found


def warn_of_contradictions(triples: Sequence[WeighedTriple], what: str) -> None:
    """Name the triples that the graph has otherwise than their own evidence says."""
    changed = [triple for triple in triples if triple.changed]
    reasons = ((False, f"{what} contradict one another"), (True, "against knowledge"))
    for by_knowledge, why in reasons:
        some = [triple for triple in changed if triple.by_knowledge is by_knowledge]
        broken = [shown_collider(triple) for triple in some if not triple.collider]
        made = [shown_collider(triple) for triple in some if triple.collider]
        if broken:
            reporter().warn(f"{why}; the weaker gave way, no collider: {', '.join(broken)}")
        if made:
            reporter().warn(f"{why}; the weaker gave way, a collider: {', '.join(made)}")


def shown_collider(triple: WeighedTriple) -> str:
    """A triple as a collider."""
    return f"{triple.x} -> {triple.k} <- {triple.y}"
