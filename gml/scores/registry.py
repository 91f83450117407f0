"""The scores by the name that users give; each is a class that takes a counter and options."""

from __future__ import annotations

from typing import Any

from gml.scores.dirichlet import K2, Bd, Bdeu, Bdj, Bds
from gml.scores.gaussian import AicG, Bge, BicG, LogLikelihoodG
from gml.scores.likelihood import Aic, Bic, Ebic, LogLikelihood
from gml.scores.nml import Fnml, Qnml

SCORES: dict[str, Any] = {
    score.name: score
    for score in (
        *(LogLikelihood, Aic, Bic, Ebic),
        *(Bd, Bdeu, Bds, Bdj, K2),
        *(Fnml, Qnml),
        *(LogLikelihoodG, AicG, BicG, Bge),
    )
}
