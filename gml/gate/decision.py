"""Decide which checks fail.

If nothing changed, the answer is no with probability at most α: p-values of all checks that are
not baselined are adjusted together by Holm's method (1979), which needs no independence of the
tests. A check fails iff its adjusted p-value is at most α and its effect at least as large as asked
for. The method of Benjamini & Hochberg only ranks the report.

A p-value before it is adjusted does not depend on what else is asked. It is settled unless it is
far above α over the number of checks that the model can have in its family, and drawn as far as α
over the number of all its checks requires: numbers that follow from the model, and are no smaller
than those of a run.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gml.gate.check import BASELINED, FAIL, INSUFFICIENT, PASS, WARN, Check
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.settings import CheckSettings
from gml.independence.multiplicity import adjust
from gml.progress import reporter
from gml.resources import available_threads

# p-values within this factor of the level, if its family alone were asked, are settled exactly.
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
    possible: Sequence[Mapping[str, int]] = (),
) -> list[list[Check]]:
    """Do the same for the questions of several deliveries, whose p-values are adjusted together.

    `possible` says of each how many checks it can have, by family; by default, as many as it has.
    """
    questions = [question for delivery in deliveries for question in delivery]
    open_ = [
        k
        for k, question in enumerate(questions)
        if question.check.id not in accepted and question.check.log_p is not None
    ]
    asked = Counter(questions[k].check.family for k in open_)
    draws = _draws(deliveries, _at_most(asked, possible), settings)
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


def _at_most(asked: Counter[str], possible: Sequence[Mapping[str, int]]) -> Counter[str]:
    """The number of checks in each family that there can be, of all deliveries."""
    found: Counter[str] = Counter()
    for of_delivery in possible:
        found.update(of_delivery)
    return found | asked


def _draws(
    deliveries: Sequence[Sequence[Question]], at_most: Counter[str], settings: CheckSettings
) -> list[MonteCarlo]:
    """For each question, how its p-value is drawn.

    The families of a delivery have a budget each, so that neither the order of deliveries shows nor
    what else is asked.
    """
    level = settings.alpha / max(1, at_most.total())
    threads = settings.threads or available_threads()
    found = []
    for delivery in deliveries:
        of_family = {
            family: MonteCarlo(level, settings.seed, threads, _DOUBT * settings.alpha / number)
            for family, number in at_most.items()
            if number
        }
        # What has no p-value is not drawn, and its family may not be counted.
        usual = MonteCarlo(level, settings.seed, threads)
        found += [of_family.get(question.check.family, usual) for question in delivery]
    return found


def _settled(question: Question, monte_carlo: MonteCarlo) -> Check:
    check = question.check
    assert check.log_p is not None
    doubtful = question.always or check.log_p <= math.log(monte_carlo.bound)
    if question.settle is None or not doubtful:
        return check
    among = math.exp(-question.log_choices)
    level, bound = monte_carlo.level * among, monte_carlo.bound * among
    log_p, test = question.settle(replace(monte_carlo, level=level, bound=bound))
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
