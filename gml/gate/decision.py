"""Decide which checks fail.

If nothing changed, the answer is no with probability at most α: p-values of all checks that are
not baselined are adjusted together by Holm's method (1979), which needs no independence of the
tests. A check fails iff its adjusted p-value is at most α and its effect at least as large as asked
for. The method of Benjamini & Hochberg only ranks the report.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from gml.gate.check import BASELINED, FAIL, INSUFFICIENT, PASS, WARN, Check
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.settings import CheckSettings
from gml.independence.multiplicity import adjust
from gml.progress import reporter
from gml.resources import available_threads

# p-values within this factor of the level are settled exactly.
_DOUBT = 50
_TIE = 1e-12


def decide(
    questions: Sequence[Question], settings: CheckSettings, *, accepted: Collection[str]
) -> list[Check]:
    """Settle the p-values that matter, adjust them together, and give each check its status."""
    (checks,) = decide_together([questions], settings, accepted=accepted)
    return checks


def decide_together(
    deliveries: Sequence[Sequence[Question]],
    settings: CheckSettings,
    *,
    accepted: Collection[str],
) -> list[list[Check]]:
    """Do the same for the questions of several deliveries, whose p-values are one family.

    Each delivery draws with a budget of its own, so that their order does not show.
    """
    questions = [question for delivery in deliveries for question in delivery]
    open_ = [
        k
        for k, question in enumerate(questions)
        if question.check.id not in accepted and question.check.log_p is not None
    ]
    level = settings.alpha / max(1, len(open_))
    threads = settings.threads or available_threads()
    draws = [
        monte_carlo
        for delivery in deliveries
        for monte_carlo in [MonteCarlo(level, settings.seed, threads)] * len(delivery)
    ]
    checks = [question.check for question in questions]
    for done, k in enumerate(open_):
        checks[k] = _settled(questions[k], draws[k])
        reporter().advance("checking", done + 1, len(open_))
    log_p = [checks[k].log_p for k in open_]
    decisive = dict(zip(open_, adjust(log_p, "holm"), strict=True))
    ranking = dict(zip(open_, adjust(log_p, "bh"), strict=True))
    result = []
    for k, found in enumerate(checks):
        if found.id in accepted:
            result.append(replace(found, status=BASELINED))
        elif k not in decisive:
            result.append(found)
        else:
            status = _status(found, decisive[k], settings)
            result.append(
                replace(found, log_p_adjusted=decisive[k], log_q=ranking[k], status=status)
            )
    rest = iter(result)
    return [list(itertools.islice(rest, len(delivery))) for delivery in deliveries]


def _settled(question: Question, monte_carlo: MonteCarlo) -> Check:
    check = question.check
    assert check.log_p is not None
    doubtful = question.always or check.log_p <= math.log(_DOUBT * monte_carlo.level)
    if question.settle is None or not doubtful:
        return check
    level = monte_carlo.level * math.exp(-question.log_choices)
    log_p, test = question.settle(replace(monte_carlo, level=level))
    return replace(check, log_p=min(0.0, log_p + question.log_choices), test=test)


def _status(check: Check, log_p_adjusted: float | None, settings: CheckSettings) -> str:
    fails = is_small_enough(log_p_adjusted, settings)
    matters = check.effect is None or check.effect >= settings.min_effect.get(check.family, 0.0)
    if not (fails and matters):
        return INSUFFICIENT if check.status == INSUFFICIENT else PASS
    return WARN if check.family in settings.warn else FAIL


def is_small_enough(log_p_adjusted: float | None, settings: CheckSettings) -> bool:
    """Whether a p-value is one at which a check fails, if its effect is large enough."""
    return log_p_adjusted is not None and log_p_adjusted <= math.log(settings.alpha) + _TIE
