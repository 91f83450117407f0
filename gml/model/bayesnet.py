"""BayesNet: a directed model, which can be queried, sampled and compared with data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gml.calls import public
from gml.model.network import CPT, Network
from gml.model.regressions import ConditionalGaussian, LinearGaussian

if TYPE_CHECKING:
    import os

    import pandas as pd

    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.model.answer import Answer
    from gml.model.row_answers import Predictions

__all__ = ["CPT", "BayesNet", "ConditionalGaussian", "LinearGaussian"]


@dataclass(frozen=True, repr=False)
class BayesNet(Network):
    """A network of tables or of regressions, and the questions that it answers.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> net
    BayesNet(8 discrete nodes, 8 edges: 'asia', 'tub', 'smoke', 'lung', 'bronc', 'either', \
'xray', 'dysp')
    >>> net.query("lung", {"xray": "yes"})
    P(xray=yes) = 0.10317
    node  level  probability
    lung  no        0.521722
    lung  yes       0.478278
    """

    if TYPE_CHECKING:
        # The package adds these to the class: files are above this room.
        @staticmethod
        def from_file(path: str | os.PathLike[str]) -> BayesNet: ...
        def to_file(self, path: str | os.PathLike[str], format: str | None = None) -> None: ...

    @public
    def sample(self, n: int, *, seed: int = 0) -> Dataset:
        """Draw n rows; `gml.verbs.sample.sample` draws given evidence too."""
        from gml.model.sample import sample

        return sample(self, n, seed=seed)

    @public
    def query(
        self,
        target: str | Sequence[str] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        do: Mapping[str, Any] | None = None,
        each: bool = False,
        interval: float | None = None,
    ) -> Answer:
        """Return the distribution of a target given evidence, or the joint one of several targets.

        See `gml.model.query.query`; `gml.Inference` answers many questions faster.

        Examples
        --------
        >>> import gml
        >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
        >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
        >>> net.query("lung", {"xray": "yes"})
        P(xray=yes) = 0.10317
        node  level  probability
        lung  no        0.521722
        lung  yes       0.478278
        """
        from gml.model.query import query

        return query(self, target, evidence, do=do, each=each, interval=interval)

    @public
    def mpe(
        self, evidence: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None
    ) -> Answer:
        """Return the most probable values of all unobserved nodes together."""
        from gml.model.query import best

        return best(self, None, evidence, do=do)

    @public
    def map(
        self,
        target: str | Sequence[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        do: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Return the most probable values of the target, with the other nodes summed out."""
        from gml.model.query import best

        return best(self, target, evidence, do=do)

    @public
    def predict(
        self,
        data: str | os.PathLike[str] | Dataset | pd.DataFrame,
        target: str,
        *,
        evidence: Mapping[str, Any] | None = None,
        do: Mapping[str, Any] | None = None,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
        interval: float | None = None,
    ) -> Predictions:
        """Predict a node from each row of a table; see `gml.model.predict.predict`."""
        from gml.model.predict import predict

        return predict(
            self,
            data,
            target,
            evidence=evidence,
            do=do,
            missing=missing,
            ignore_unknown=ignore_unknown,
            interval=interval,
        )

    @public
    def log_likelihood(
        self, data: str | os.PathLike[str] | pd.DataFrame | Dataset | Counter
    ) -> float:
        """Return ln P(data); −infinity if a row has probability 0."""
        from gml.model.likelihood import log_likelihood

        return log_likelihood(self, data)
