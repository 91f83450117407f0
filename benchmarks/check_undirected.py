"""How often a check of an undirected model raises an alarm, and what it finds.

    python benchmarks/check_undirected.py null [--models cycle,lattice] [--scale 0.1]
    python benchmarks/check_undirected.py power [--models cycle,lattice] [--scale 0.1]
    python benchmarks/check_undirected.py report

Models of known terms are fitted by maximum likelihood on n₀ of their rows and checked on others.

    cycle          four binary columns in a cycle, the smallest graph without a closed form
    lattice        3 × 3, three levels each, random couplings and fields
    pairs          four columns, all pairs, no larger term: a chordal graph, but no closed form
    decomposable   six columns of two to four levels, cliques ABC, BCD, DE, EF

Arms where nothing changed: `counts`, the model with its rows; `exact`, the true model without any;
`accepted`, a random half of the checks accepted beforehand; `forward`, the graph learned from the
n₀ rows, with a baseline from them. Breaks: a coupling is halved; a field is added to a column,
whose own distribution changes; two columns without an edge are tied; a share of rows have all their
values drawn evenly; a column is shuffled.
"""

from __future__ import annotations

import argparse
from collections import Counter as Multiset
from dataclasses import replace
from itertools import combinations

import numpy as np
from check_setup import Results, checked, first_alarm, seeds, share, with_seen_levels

import gml
from gml.data.dataset import Variable
from gml.model.markovnet import MarkovNet
from gml.model.training import training_of
from gml.model.undirected.directed import directed
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.observed import tables_over
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Terms

ROWS, RATIOS = (500, 5_000), (0.2, 1.0, 5.0)
REPETITIONS, FORWARD_REPETITIONS, BREAKS_REPETITIONS = 90, 40, 50
POWER_ROWS = ((2_000, 1_000), (10_000, 5_000))
MODELS = ("cycle", "lattice", "pairs", "decomposable")


def term(scope, table):
    """A term over variables in the order of names."""
    return Potential(tuple(scope), np.asarray(table))


def random_model(variables, scopes, strength, seed):
    """Terms drawn from normal distributions; fields are weaker than couplings."""
    rng = np.random.default_rng(seed)
    found = [term([v], 0.3 * rng.standard_normal(len(v.levels))) for v in variables]
    by_name = {v.name: v for v in variables}
    for scope in scopes:
        members = [by_name[name] for name in scope]
        shape = [len(v.levels) for v in members]
        found.append(term(members, strength * rng.standard_normal(shape)))
    return MarkovNet(tuple(variables), tuple(found))


def truth(name):
    """The model that rows are drawn from."""
    if name == "cycle":
        variables = [Variable(name, ("n", "y")) for name in "ABCD"]
        return random_model(variables, ["AB", "BC", "CD", "AD"], 0.8, 1)
    if name == "lattice":
        variables = [Variable(f"x{i}{j}", ("a", "b", "c")) for i in range(3) for j in range(3)]
        scopes = [(f"x{i}{j}", f"x{i}{j + 1}") for i in range(3) for j in range(2)]
        scopes += [(f"x{i}{j}", f"x{i + 1}{j}") for i in range(2) for j in range(3)]
        return random_model(variables, scopes, 0.7, 2)
    if name == "pairs":
        variables = [
            Variable(name, ("a", "b", "c")[:k])
            for name, k in zip("ABCD", (2, 3, 2, 3), strict=True)
        ]
        return random_model(variables, ["".join(p) for p in combinations("ABCD", 2)], 0.6, 3)
    sizes = dict(zip("ABCDEF", (2, 3, 2, 4, 2, 3), strict=True))
    variables = [Variable(name, tuple("abcd"[:k])) for name, k in sizes.items()]
    return random_model(variables, ["ABC", "BCD", "DE", "EF"], 0.8, 4)


def fitted(data, scopes):
    """The model of these generators, by maximum likelihood, with the rows behind it."""
    counter = gml.MemoryCounter(data, threads=1)
    terms = Terms.of(data.variables, scopes)
    found = fit_exact(counter, terms)
    variables = terms.variables
    counts = dict(zip(terms.generators, tables_over(counter, terms, terms.generators), strict=True))
    potentials = [
        Potential(tuple(variables[k] for k in scope), table, counts=counts.get(scope))
        for scope, table in zip(terms.all, found.tables, strict=True)
    ]
    for support in found.supports:
        scope = tuple(variables[k] for k in support.scope)
        excluded = np.where(support.possible, 0.0, -np.inf)
        potentials.append(Potential(scope, excluded, is_boundary=True))
    return MarkovNet(data.variables, tuple(potentials), training=training_of(data))


def scopes_of(net):
    """The generators by name."""
    return [[net.terms.names[k] for k in scope] for scope in net.terms.generators]


def drawn(net, n, seed):
    """Rows of a model, with the levels that they have."""
    return with_seen_levels(directed(net).net.sample(n, seed=seed))


def learned(data):
    """The generators that forward selection by BIC finds."""
    from gml.learners.decomposable import forward_decomposable

    score = gml.SCORES["bic"](gml.MemoryCounter(data, threads=1))
    graph = forward_decomposable(score).graph
    return scopes_of_terms(Terms.of_graph(data.variables, graph))


def scopes_of_terms(terms):
    """The generators by name."""
    return [[terms.names[k] for k in scope] for scope in terms.generators]


# ---------------------------------------------------------------------- where nothing changed


def null(models, scale):
    """Run what is not there yet."""
    results = Results("check_undirected_null")
    for name in models:
        for n_old in ROWS:
            for ratio in RATIOS:
                _null(results, "true", name, n_old, ratio, REPETITIONS * scale)
                _null(results, "forward", name, n_old, ratio, FORWARD_REPETITIONS * scale)


def _null(results, graph, name, n_old, ratio, repetitions):
    setting, n_new = f"{graph} {name} {n_old} {ratio:g}", round(n_old * ratio)
    if setting in results:
        return
    net, arms = truth(name), {}
    for repetition in range(max(2, round(repetitions))):
        old, new, later, check_seed = seeds(setting, repetition, 4)
        before, after = drawn(net, n_old, old), drawn(net, n_new, new)
        if graph == "forward":
            model = fitted(before, learned(before))
            accepted = gml.baseline_of(checked(model, before, check_seed).checks, before.n)
            found = {"forward": checked(model, after, check_seed, baseline=accepted)}
        else:
            model = fitted(before, scopes_of(net))
            report = checked(model, after, check_seed)
            half = np.random.default_rng(check_seed).random(len(report.checks)) < 0.5
            known = frozenset(c.id for c, one in zip(report.checks, half, strict=True) if one)
            baseline = gml.Baseline(accepted=known)
            found = {
                "counts": report,
                "exact": checked(net, after, check_seed),
                "accepted": checked(model, drawn(net, n_new, later), check_seed, baseline=baseline),
            }
        for arm, report in found.items():
            arms.setdefault(arm, []).append(first_alarm(report))
    alarms = {
        arm: dict(sorted(Multiset(kind for p, kind in runs if p <= 0.01).items()))
        for arm, runs in arms.items()
    }
    results.add(
        setting, model=name, rows_old=n_old, rows_new=n_new, alarms=alarms,
        repetitions=len(next(iter(arms.values()))),
    )  # fmt: skip


# ---------------------------------------------------------------------- breaks


def broken(kind, net, n, seed):
    """Rows of a model in which something broke, and the columns that are to blame."""
    rng = np.random.default_rng(seed)
    pairs = [p for p in net.potentials if len(p.scope) > 1]
    chosen = pairs[int(rng.integers(len(pairs)))]
    if kind == "coupling":
        halved = tuple(
            replace(p, table=0.5 * p.table) if p is chosen else p for p in net.potentials
        )
        return drawn(replace(net, potentials=halved), n, seed), set(chosen.names)
    if kind == "field":
        variable = net.variables[int(rng.integers(len(net.variables)))]
        field = term([variable], np.linspace(-0.3, 0.3, len(variable.levels)))
        moved = replace(net, potentials=(*net.potentials, field))
        return drawn(moved, n, seed), {variable.name}
    if kind == "new edge":
        apart = [
            (u, v)
            for u, v in combinations(range(len(net.names)), 2)
            if not net.graph.adjacent(u, v)
        ]
        u, v = (net.variables[j] for j in apart[int(rng.integers(len(apart)))])
        shape = (len(u.levels), len(v.levels))
        tied = term([u, v], 0.5 * np.where(np.indices(shape).sum(axis=0) % 2, -1.0, 1.0))
        return drawn(replace(net, potentials=(*net.potentials, tied)), n, seed), {u.name, v.name}
    data = directed(net).net.sample(n, seed=seed)
    columns = list(data.columns)
    if kind == "shuffled":
        j = int(rng.integers(len(columns)))
        columns[j] = rng.permutation(columns[j])
        return replace(data, columns=tuple(columns)), {data.names[j]}
    noisy = rng.random(n) < 0.15
    for j, variable in enumerate(data.variables):
        even = rng.integers(0, len(variable.levels), n).astype(columns[j].dtype)
        columns[j] = np.where(noisy, even, columns[j])
    return replace(data, columns=tuple(columns)), set()


BREAKS = ("coupling", "field", "new edge", "shuffled", "even rows")


def power(models, scale):
    """Run what is not there yet."""
    results = Results("check_undirected_power")
    for name in models:
        for n_old, n_new in POWER_ROWS:
            for kind in BREAKS:
                if kind == "new edge" and name == "pairs":
                    continue
                _power(results, name, kind, n_old, n_new, BREAKS_REPETITIONS * scale)


def _power(results, name, kind, n_old, n_new, repetitions):
    setting = f"{kind} {name} {n_old} {n_new}"
    if setting in results:
        return
    net, repetitions = truth(name), max(2, round(repetitions))
    found, named, by_family = 0, 0, Multiset()
    for repetition in range(repetitions):
        old, new, check_seed = seeds(setting, repetition, 3)
        model = fitted(drawn(net, n_old, old), scopes_of(net))
        data, blamed = broken(kind, net, n_new, new)
        report = checked(model, data, check_seed)
        found += report.failed
        by_family.update({check.family for check in report.ranked("fail")})
        culprits = {column for culprit in report.culprits for column in culprit.columns}
        named += bool(culprits & blamed)
    results.add(
        setting, model=name, kind=kind, rows_old=n_old, rows_new=n_new, repetitions=repetitions,
        found=found, named=named, families=dict(sorted(by_family.items())),
    )  # fmt: skip


# ---------------------------------------------------------------------- report


def report():
    """Markdown tables of what was found."""
    lines = Results("check_undirected_null").lines
    print("| arm | model | alarms at 0.01, with the 95 % interval | checks |\n|---|---|---|---|")
    for arm in ("counts", "exact", "accepted", "forward"):
        for name in (*MODELS, None):
            chosen = [x for x in lines if arm in x["alarms"] and name in (None, x["model"])]
            if not chosen:
                continue
            kinds = sum((Multiset(x["alarms"][arm]) for x in chosen), Multiset())
            runs = sum(x["repetitions"] for x in chosen)
            by_kind = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))
            print(f"| {arm} | {name or 'all'} | {share(sum(kinds.values()), runs)} | {by_kind} |")
    print("\n| break | model | rows | found | a column at fault is named |\n|---|---|---|---|---|")
    for x in sorted(
        Results("check_undirected_power").lines,
        key=lambda x: (BREAKS.index(x["kind"]), MODELS.index(x["model"]), x["rows_old"]),
    ):
        n = x["repetitions"]
        named = "–" if x["kind"] == "even rows" else f"{x['named']} of {n}"
        rows = f"{x['rows_old']} → {x['rows_new']}"
        print(f"| {x['kind']} | {x['model']} | {rows} | {x['found']} of {n} | {named} |")


def main() -> None:
    """Run one experiment, or show what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("null", "power", "report"))
    parser.add_argument("--models", type=lambda text: text.split(","), default=MODELS)
    parser.add_argument("--scale", type=float, default=1.0, help="of the repetitions")
    options = parser.parse_args()
    if options.command == "report":
        report()
    else:
        {"null": null, "power": power}[options.command](options.models, options.scale)


if __name__ == "__main__":
    main()
