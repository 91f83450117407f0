"""The scores by their short labels.

An entry is all that the command line, the checks of options and the documentation know of a score;
whoever adds one writes the class that computes it (`FamilyScore`) and its entry here. This module
imports nothing that computes: commands read it when they declare their options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from gml.parameters import (
    ESS,
    LABELS,
    NUMBERS,
    Entry,
)
from gml.scores.options import OF_KERNEL, PENALTY, PRIOR_COUNT, RIDGE

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.scores.base import FamilyScore


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownScore(Entry):
    """An entry of SCORES, which makes the score when it is called with a counter.

    The formula is what a node is worth given its parents.
    """

    equivalent: bool
    """Whether Markov equivalent DAGs have the same score, of those that it can score."""
    labels_first: bool = False
    """Whether it cannot score DAGs in which a number is a parent of a label."""
    bayes_factors: bool = False
    """Whether differences are logarithms of Bayes factors, at least about."""
    likelihood: str = "loglik"
    """The score that is the plain likelihood of such columns."""
    ceilings: bool = True
    """Whether it is known how high a child with more parents can score (`bounded_batch`)."""
    takes_gaps: bool = False
    """Whether families may be scored on different rows, those complete in their own columns."""

    def __call__(self, counter: Counter, **options: Any) -> FamilyScore:
        """Return the score over the columns of a counter."""
        score: FamilyScore = self.load()(self, counter, **options)
        return score


_ANY = (LABELS, NUMBERS)

SCORES: dict[str, KnownScore] = {
    score.name: score
    for score in (
        KnownScore(
            name="loglik",
            home="gml.scores.likelihood:LogLikelihood",
            summary="log-likelihood, which never prefers the simpler graph",
            formula="Σ nⱼₖ ln(nⱼₖ/nⱼ) = n(I(x;pa) − H(x))",
            equivalent=True,
        ),
        KnownScore(
            name="aic",
            home="gml.scores.likelihood:Aic",
            summary="loglik less the number of parameters",
            formula="loglik − d, d = (r−1)q",
            options=(PENALTY,),
            equivalent=True,
        ),
        KnownScore(
            name="bic",
            home="gml.scores.likelihood:Bic",
            summary="loglik less half of ln n for each parameter",
            formula="loglik − ½ ln n·d, d = (r−1)q",
            options=(PENALTY,),
            equivalent=True,
            bayes_factors=True,
        ),
        KnownScore(
            name="ebic",
            home="gml.scores.likelihood:Ebic",
            summary="bic less a price for each parent that grows with the number of columns",
            formula="bic − 2γ|pa| ln p, γ = ½",
            options=(PENALTY,),
            equivalent=True,
        ),
        KnownScore(
            name="bd",
            home="gml.scores.dirichlet:Bd",
            summary="marginal likelihood, prior rows per cell as given",
            formula="bdeu with α = `prior_count`",
            options=(PRIOR_COUNT,),
            equivalent=False,
            bayes_factors=True,
        ),
        KnownScore(
            name="bdeu",
            home="gml.scores.dirichlet:Bdeu",
            summary="marginal likelihood, prior rows spread evenly over the table",
            formula="Σⱼ ln Γ(rα)/Γ(rα+nⱼ) + Σₖ ln Γ(α+nⱼₖ)/Γ(α), α = ess/(rq)",
            options=(ESS,),
            equivalent=True,
            bayes_factors=True,
        ),
        KnownScore(
            name="bds",
            home="gml.scores.dirichlet:Bds",
            summary="marginal likelihood, prior rows spread over the configurations seen",
            formula="bdeu with α = ess/(r·configurations seen), on those",
            options=(ESS,),
            equivalent=False,
            bayes_factors=True,
        ),
        KnownScore(
            name="bdj",
            home="gml.scores.dirichlet:Bdj",
            summary="marginal likelihood, half a prior row per cell",
            formula="bdeu with α = ½",
            equivalent=False,
            bayes_factors=True,
        ),
        KnownScore(
            name="k2",
            home="gml.scores.dirichlet:K2",
            summary="marginal likelihood, one prior row per cell",
            formula="bdeu with α = 1",
            equivalent=False,
            bayes_factors=True,
        ),
        KnownScore(
            name="fnml",
            home="gml.scores.nml:Fnml",
            summary="normalised maximum likelihood of each configuration",
            formula="loglik − Σⱼ ln C(nⱼ, r)",
            equivalent=False,
            ceilings=False,
        ),
        KnownScore(
            name="qnml",
            home="gml.scores.nml:Qnml",
            summary="normalised maximum likelihood of the family over that of the parents",
            formula="loglik − ln C(n, rq) + ln C(n, q)",
            equivalent=True,
            ceilings=False,
        ),
        KnownScore(
            name="loglik-g",
            home="gml.scores.linear:LinearLikelihood",
            summary="log-likelihood of linear regressions",
            formula="−n/2·(ln 2πσ² + 1), σ² = SSE/n",
            columns=(NUMBERS,),
            options=(RIDGE,),
            equivalent=True,
            likelihood="loglik-g",
        ),
        KnownScore(
            name="aic-g",
            home="gml.scores.linear:LinearAic",
            summary="loglik-g less the number of parameters",
            formula="loglik-g − d, d = |pa| + 2",
            columns=(NUMBERS,),
            options=(PENALTY, RIDGE),
            equivalent=True,
            likelihood="loglik-g",
        ),
        KnownScore(
            name="bic-g",
            home="gml.scores.linear:LinearBic",
            summary="loglik-g less half of ln n for each parameter",
            formula="loglik-g − ½ ln n·d, d = |pa| + 2",
            columns=(NUMBERS,),
            options=(PENALTY, RIDGE),
            equivalent=True,
            bayes_factors=True,
            likelihood="loglik-g",
        ),
        KnownScore(
            name="bge",
            home="gml.scores.gaussian:Bge",
            summary="marginal likelihood under the normal-Wishart prior",
            formula="Kuipers, Moffa & Heckerman (2014), α_μ = 1, α_w = p+2, T = ½·I, ν the means",
            columns=(NUMBERS,),
            equivalent=True,
            bayes_factors=True,
            likelihood="loglik-g",
            ceilings=False,
        ),
        KnownScore(
            name="loglik-dg",
            home="gml.scores.linear:LinearLikelihood",
            summary="log-likelihood of linear regressions, labels as indicators of their levels",
            formula="−n/2·Σ(ln 2πσ² + 1) over the columns of x, each given pa and those before it",
            columns=_ANY,
            options=(RIDGE,),
            equivalent=True,
            likelihood="loglik-dg",
        ),
        KnownScore(
            name="aic-dg",
            home="gml.scores.linear:LinearAic",
            summary="loglik-dg less the number of parameters",
            formula="loglik-dg − d, d = Σ(regressors + 2)",
            columns=_ANY,
            options=(PENALTY, RIDGE),
            equivalent=True,
            likelihood="loglik-dg",
        ),
        KnownScore(
            name="bic-dg",
            home="gml.scores.linear:LinearBic",
            summary="loglik-dg less half of ln n for each parameter",
            formula="loglik-dg − ½ ln n·d, d = Σ(regressors + 2)",
            columns=_ANY,
            options=(PENALTY, RIDGE),
            equivalent=True,
            bayes_factors=True,
            likelihood="loglik-dg",
        ),
        KnownScore(
            name="loglik-cg",
            home="gml.scores.conditional_gaussian:LogLikelihoodCg",
            summary="log-likelihood of tables, and of a regression per configuration of labels",
            formula="loglik of a label; −½ Σⱼ nⱼ(ln 2πσⱼ² + 1) of a number, σⱼ² = SSEⱼ/nⱼ",
            columns=_ANY,
            equivalent=True,
            labels_first=True,
            likelihood="loglik-cg",
            ceilings=False,
        ),
        KnownScore(
            name="aic-cg",
            home="gml.scores.conditional_gaussian:AicCg",
            summary="loglik-cg less the number of parameters",
            formula="loglik-cg − d, d = (r−1)q of a label, (numbers in pa + 2)q of a number",
            columns=_ANY,
            options=(PENALTY,),
            equivalent=True,
            labels_first=True,
            likelihood="loglik-cg",
            ceilings=False,
        ),
        KnownScore(
            name="bic-cg",
            home="gml.scores.conditional_gaussian:BicCg",
            summary="loglik-cg less half of ln n for each parameter",
            formula="loglik-cg − ½ ln n·d, d = (r−1)q of a label, (numbers in pa + 2)q of a number",
            columns=_ANY,
            options=(PENALTY,),
            equivalent=True,
            labels_first=True,
            bayes_factors=True,
            likelihood="loglik-cg",
            ceilings=False,
        ),
        KnownScore(
            name="bic-glm",
            home="gml.scores.generalised_linear:BicGlm",
            summary="BIC of any DAG: tables, logits and regressions, the best kind for each family",
            formula="most of bic-dg and bic-cg of a number, of table and logit of a label",
            columns=_ANY,
            options=(PENALTY, RIDGE),
            equivalent=False,
            bayes_factors=True,
            likelihood="bic-glm",
            ceilings=False,
        ),
        KnownScore(
            name="nal",
            home="gml.scores.node_average:NodeAverage",
            summary="log-likelihood of each family per row that is complete in it, for gaps",
            formula="loglik-cg/n(x, pa), n(x, pa) rows being complete in x and pa",
            columns=_ANY,
            equivalent=False,
            labels_first=True,
            likelihood="nal",
            ceilings=False,
            takes_gaps=True,
        ),
        KnownScore(
            name="pnal",
            home="gml.scores.node_average:PenalisedNodeAverage",
            summary="nal less n^(−1/4) for each parameter",
            formula="nal − n^(−1/4)·d, n being all rows and d as in bic-cg",
            columns=_ANY,
            options=(PENALTY,),
            equivalent=False,
            labels_first=True,
            likelihood="nal",
            ceilings=False,
            takes_gaps=True,
        ),
        KnownScore(
            name="kernel",
            home="gml.scores.kernel_score:KernelScore",
            summary="cross-validated likelihood of regressions between kernels, for small tables",
            formula="−½ Σ_folds (n₀ ln |Σ/γ| + Σ eᵀΣ⁻¹e), Huang et al. (2018) in low rank",
            columns=_ANY,
            options=OF_KERNEL,
            equivalent=False,
            likelihood="kernel",
            ceilings=False,
        ),
    )
}
"""The scores by their labels; an entry makes its score over a counter.

>>> import gml
>>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
>>> round(gml.SCORES["bdeu"](counter, ess=2.0).local(0, ()), 2)
-326.15
"""

Families: TypeAlias = Mapping[str, Mapping[tuple[str, ...], str]]

FAMILIES: Families = {
    name: {(LABELS,): name, (NUMBERS,): f"{name}-g", _ANY: f"{name}-dg"}
    for name in ("loglik", "aic", "bic")
}
"""Scores that have a form for each kind of table, by the kinds of its columns."""
SEARCH_SCORES = FAMILIES["bic"]
POSTERIOR_SCORES = {(LABELS,): "bdeu", (NUMBERS,): "bge", _ANY: "bic-dg"}
"""The scores of searches and of posteriors unless told otherwise, by the kinds of the columns.

Posteriors are over marginal likelihoods, of which bic is but a rough approximation.
"""

EITHER, JUDGE = "bic-either", "bic-glm"
RIVALS = {EITHER: ("bic-dg", "bic-cg")}
"""The name that stands for a search by each of two scores, these, and the score that chooses."""


def scores_with_gaps() -> list[str]:
    """Return the scores that compare families on different rows."""
    return [name for name, score in SCORES.items() if score.takes_gaps]


def scores_without_ceilings() -> list[str]:
    """Return the scores by which no set of parents can be passed over unseen."""
    return [name for name, score in SCORES.items() if not score.ceilings]
