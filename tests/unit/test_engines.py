"""An engine that gives tables only has the numbers of the engine over data in memory, bit for bit.

The engine is the one that docs/engines.md shows.
"""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.counts.count_file_engine import CountFileCounter
from gml.counts.counter import FamilyArray, MissingTreatment, TableSet, TripleArray
from gml.counts.countfile import count_sets
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable, code_type
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.gate.run import check_model
from gml.graph.graph import Graph
from gml.independence.registry import TESTS
from gml.kernel.layout import DIRICHLET, JOINT, LIKELIHOOD, OF_SEEN, OF_TABLE, REGRET, FamilyRule
from gml.learners.chowliu import chow_liu
from gml.learners.exact import exact
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.imap import greedy_imap, minimal_imap
from gml.learners.order_posterior import edge_posteriors
from gml.learners.pc import pc
from gml.model.fit import fit
from gml.model.heldout import held_out, log_likelihood
from gml.scores.base import total
from gml.scores.registry import SCORES
from tests.toy_engine import BLOCKS, PAGE, as_list

OF_ROWS = ("fisher-z", "hsic", "dcor", "kci", "rcit", "bge", "bic-glm", "kernel")
"""What needs rows or numbers, and so no engine of tables alone can serve."""
TABLE_TESTS = [name for name in TESTS if name not in OF_ROWS]
TABLE_SCORES = [name for name in SCORES if not name.endswith("-g") and name not in OF_ROWS]


def content(value):
    """Whatever a result holds, so that == means the same bits."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Graph):
        return (value.names, value.kind, content(np.asarray(value.marks)))
    if dataclasses.is_dataclass(value):
        return {f.name: content(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [content(item) for item in value]
    return value.hex() if isinstance(value, float) else value


def random_data(seed, n, n_levels):
    """Columns that depend on each other, some levels without rows, names out of order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation([f"v{j}" for j in range(len(n_levels))]).tolist()
    columns = []
    for j, levels in enumerate(n_levels):
        codes = rng.integers(0, levels, n)
        if j and levels > 1:
            copied = rng.random(n) < 0.5
            codes = np.where(copied, columns[j - 1].astype(np.int64) % levels, codes)
        if levels == 3:
            codes[codes == 1] = 2
        columns.append(codes.astype(code_type(levels)))
    variables = tuple(
        Variable(name, tuple("abcd"[:levels])) for name, levels in zip(names, n_levels, strict=True)
    )
    return Dataset(variables, tuple(columns))


DATA = random_data(1, 150, [2, 3, 2, 1, 3, 2])
ASIA = gml.read("sample_data/asia.csv")
SOME_OF_ASIA = ASIA.select(ASIA.names[:6]).rows(np.arange(ASIA.n_rows) < 150)


@pytest.fixture(params=["random", "asia"])
def engines(request):
    data = DATA if request.param == "random" else SOME_OF_ASIA
    return MemoryCounter(data), as_list(data)


def test_the_engine_of_the_page_is_short():
    (code,) = [block for block in BLOCKS if "class ListCounter" in block]
    assert len([line for line in code.splitlines() if line.strip()]) < 30


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": "miller-madow"},
        {"prune": "bic"},
        {"prune": "g", "df": "adjusted"},
        {"directed": False},
    ],
    ids=str,
)
def test_chow_liu(engines, options):
    mine, theirs = (content(chow_liu(engine, **options)) for engine in engines)
    assert mine == theirs


def test_chow_liu_around_a_class(engines):
    name = engines[0].variables[0].name
    mine, theirs = (content(chow_liu(engine, class_variable=name)) for engine in engines)
    assert mine == theirs


@pytest.mark.parametrize("name", TABLE_TESTS)
def test_pc(engines, name):
    options = {"permutations": 200} if name == "permutation" else {}
    mine, theirs = (content(pc(TESTS[name](engine, **options), alpha=0.05)) for engine in engines)
    assert mine == theirs


@pytest.mark.parametrize("name", TABLE_TESTS)
def test_results_of_tests(engines, name):
    options = {"permutations": 200} if name == "permutation" else {}
    triples = [
        (x, y, z)
        for x, y in itertools.permutations(range(5), 2)
        for z in [(), *((k,) for k in range(5) if k not in (x, y))]
    ]
    triples += [(0, 4, (1, 2, 3)), (1, 4, (5, 3, 0, 2))]
    mine, theirs = (
        content(list(TESTS[name](engine, **options).batch(triples))) for engine in engines
    )
    assert mine == theirs


@pytest.mark.parametrize("name", [name for name in TABLE_SCORES if SCORES[name].equivalent])
def test_ges(engines, name):
    mine, theirs = (content(ges(SCORES[name](engine))) for engine in engines)
    assert mine == theirs


@pytest.mark.parametrize("name", TABLE_SCORES)
@pytest.mark.parametrize("learner", [hill_climb, exact])
def test_search(engines, learner, name):
    mine, theirs = (content(learner(SCORES[name](engine), max_parents=3)) for engine in engines)
    assert mine == theirs


@pytest.mark.parametrize("name", ["bic", "bdeu", "fnml"])
def test_order_posterior(engines, name):
    mine, theirs = (
        content(edge_posteriors(SCORES[name](engine), max_parents=2)) for engine in engines
    )
    assert mine == theirs


@pytest.mark.parametrize("name", ["g", "auto", "bic", "k2", "bdeu"])
def test_imap(engines, name):
    order = sorted(variable.name for variable in engines[0].variables)
    learn, how = (minimal_imap, TESTS) if name in TESTS else (greedy_imap, SCORES)
    mine, theirs = (content(learn(how[name](engine), order)) for engine in engines)
    assert mine == theirs


def test_fit_and_likelihood(engines):
    graph = chow_liu(engines[0]).graph
    nets = [
        fit(graph, engine, method=method, intervals=0.9)
        for engine in engines
        for method in ("mle", "bayes")
    ]
    assert content(nets[:2]) == content(nets[2:])
    mine, theirs = (log_likelihood(nets[1], engine).hex() for engine in engines)
    assert mine == theirs
    mine, theirs = (held_out(graph, [(engine, engine)]).loss.hex() for engine in engines)
    assert mine == theirs


@pytest.mark.parametrize("name", TABLE_SCORES)
def test_totals(engines, name):
    graph = chow_liu(engines[0]).graph
    mine, theirs = (total(SCORES[name](engine), graph).hex() for engine in engines)
    assert mine == theirs


def test_count_files(engines):
    names = [variable.name for variable in engines[0].variables]
    sets = [names[:2], names[1:4], names]
    mine, theirs = (content(count_sets(engine, sets)) for engine in engines)
    assert mine == theirs


def test_check():
    memory = MemoryCounter(SOME_OF_ASIA)
    net = fit(chow_liu(memory).graph, MemoryCounter(ASIA))
    # With rows there are more checks.
    counted = CountFileCounter(count_sets(memory, [SOME_OF_ASIA.names]))
    report = check_model(net, as_list(SOME_OF_ASIA))
    assert len(report.checks) > 20
    assert content(report) == content(check_model(net, counted))


CASES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(0, 40),
    st.lists(st.integers(1, 4), min_size=3, max_size=4),
)


@settings(max_examples=40)
@given(CASES)
def test_everything_that_follows_from_tables(case):
    seed, n, n_levels = case
    data = random_data(seed, n, n_levels)
    mine, theirs = MemoryCounter(data, threads=1), as_list(data)
    size = len(n_levels)
    sets = [
        TableSet(axes, given)
        for axes in itertools.chain(itertools.permutations(range(size), 2), [(0,), (1,)])
        for given in [(), *((k,) for k in range(size) if k not in axes)]
    ]
    assert content(list(mine.tables(sets))) == content(list(theirs.tables(sets)))
    triples = [(*s.axes, s.given) for s in sets if len(s.axes) == 2]
    assert content(mine.statistics(triples)) == content(theirs.statistics(triples))
    rows = TripleArray(np.array([(0, 1, 2), (2, 0, 1), (1, 2, 0)], dtype=np.int32))
    assert content(mine.statistics(rows)) == content(theirs.statistics(rows))
    pairs = np.array(list(itertools.permutations(range(size), 2)), dtype=np.int32)
    assert content(mine.pair_statistics(pairs)) == content(theirs.pair_statistics(pairs))
    families = [
        (child, parents)
        for child in range(size)
        for k in range(3)
        for parents in itertools.permutations([j for j in range(size) if j != child], k)
    ]
    array = FamilyArray(np.array([(0, 1, 2), (2, 0, 1), (1, 2, 0)], dtype=np.int32))
    tables = [list(engine.family_tables(families)) for engine in (mine, theirs)]
    assert content(tables[0]) == content(tables[1])
    for asked in (families, array):
        for rule in (
            FamilyRule(LIKELIHOOD),
            FamilyRule(REGRET),
            FamilyRule(DIRICHLET, prior=0.5),
            FamilyRule(DIRICHLET, OF_TABLE, 10.0),
            FamilyRule(DIRICHLET, OF_SEEN, 1.0),
            FamilyRule(JOINT, OF_TABLE, 3.0),
        ):
            for ask in ("family_values", "family_ceilings"):
                more = () if ask == "family_values" else (0.25,)
                found = [getattr(engine, ask)(asked, rule, *more) for engine in (mine, theirs)]
                assert content(found[0]) == content(found[1]), (rule, ask)
    for name in TABLE_SCORES if n else []:
        found = [_bounds_or_problem(name, engine, array) for engine in (mine, theirs)]
        assert content(found[0]) == content(found[1])


def _bounds_or_problem(name, engine, families):
    """Indicators of few rows may be collinear, which scores by regressions refuse."""
    try:
        return SCORES[name](engine).bounded_batch(families)
    except DataError as problem:
        assert name.endswith("-dg")
        return str(problem)


@settings(max_examples=40)
@given(CASES)
def test_other_levels(case):
    seed, n, n_levels = case
    data = random_data(seed, n, n_levels)
    levels = {
        data.names[0]: ("z", *reversed(data.variables[0].levels)),
        data.names[2]: (*data.variables[2].levels, "y"),
    }
    mine, theirs = (engine.with_levels(levels) for engine in (MemoryCounter(data), as_list(data)))
    assert mine.variables == theirs.variables
    sets = [TableSet((1,), (0, 2)), TableSet((0, 2), (1,)), TableSet((2, 1), (0,)), TableSet((0,))]
    assert content(list(mine.tables(sets))) == content(list(theirs.tables(sets)))
    assert theirs.n == n


def test_what_tables_cannot_answer():
    engine = as_list(DATA)
    assert engine.rows() is None
    assert (engine.unit, engine.missing, engine.digest) == (1.0, False, None)
    assert engine.missing_treatment is None
    with pytest.raises(CannotAnswer, match=r"the counts: this engine has no numbers.*v"):
        engine.moments([0], given=[1])
    with pytest.raises(CannotAnswer, match="a bootstrap needs rows, which this engine does not"):
        engine.require_rows("a bootstrap")
    with pytest.raises(TypeError, match="abstract"):
        gml.Counter()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.booleans(), st.booleans())
def test_moments_within_configurations(seed, n, weighted, missing):
    rng = np.random.default_rng(seed)
    numbers = [rng.normal(size=n) * 1e3 for _ in range(2)]
    labels = [rng.integers(0, levels, n).astype(np.uint8) for levels in (3, 2)]
    if missing:
        numbers[0][rng.random(n) < 0.2] = np.nan
        labels[1][rng.random(n) < 0.2] = 255
    weights = rng.integers(0, 3, n) if weighted else None
    variables = (
        *(Variable(name, None) for name in "ab"),
        Variable("c", ("x", "y", "z")),
        Variable("d", ("x", "y")),
    )
    data = Dataset(variables, (*numbers, *labels), weights)
    counter = MemoryCounter(data)
    assert content(counter.moments([0, 1], given=())) == content(counter.moments([0, 1]))
    found = counter.moments([0, 1], given=[2, 3])
    assert found.n_configs == 6
    seen = iter(zip(found.configs.tolist(), found.moments, strict=True))
    for config in itertools.product(range(3), range(2)):
        rows = (data.columns[2] == config[0]) & (data.columns[3] == config[1])
        alone = MemoryCounter(data.rows(rows)).moments([0, 1])
        if alone.n:
            codes, moments = next(seen)
            assert tuple(codes) == config
            assert content(moments) == content(alone)
    assert next(seen, None) is None


def test_moments_are_within_labels():
    data = Dataset(
        (Variable("a", None), Variable("b", ("x",))), (np.zeros(2), np.zeros(2, dtype=np.uint8))
    )
    with pytest.raises(DataError, match="column 'a' is numeric"):
        MemoryCounter(data).moments([0], given=[0])


class Knowing(gml.Counter):
    """A user's engine that knows all that one may know, and answers from data in memory."""

    kind = "an engine that knows"
    where = "the cluster"
    decimal = ","
    digest = "sha256:0123"
    budget = 1 << 20
    pass_rows = 50
    can_fork = True
    missing_treatment = MissingTreatment("available", 50, {"d": 3})

    def __init__(self, data):
        self.inside = MemoryCounter(data)

    @property
    def variables(self):
        return self.inside.variables

    @property
    def n(self):
        return self.inside.n

    @property
    def unit(self):
        return self.inside.unit

    @property
    def missing(self):
        return self.inside.missing

    def rows(self):
        return self.inside.rows()

    def moments(self, columns, given=()):
        return self.inside.moments(columns, given)

    def tables(self, sets):
        return self.inside.tables(sets)


def mixed_data():
    """Two columns of numbers and three of labels, with gaps and fractional weights."""
    rng = np.random.default_rng(7)
    labels = [rng.integers(0, levels, 50).astype(np.uint8) for levels in (3, 2, 2)]
    labels[1][:3] = 255
    variables = (
        *(Variable(name, None) for name in "ab"),
        Variable("c", ("x", "y", "z")),
        Variable("d", ("x", "y")),
        Variable("e", ("x", "y")),
    )
    columns = (*(rng.normal(size=50) for _ in range(2)), *labels)
    return Dataset(variables, columns, weights=rng.integers(1, 9, 50), unit=0.25)


def selected(engine):
    return engine.select(["e", "c", "b", "d", "a"])


def relevelled(engine):
    return engine.with_levels({"c": ("z", "w", "x", "y"), "e": ("y", "x")})


WRAPPERS = {
    "selected": selected,
    "relevelled": relevelled,
    "both": lambda engine: selected(relevelled(engine)),
    "the other way round": lambda engine: relevelled(selected(engine)),
}


def at(engine, names):
    """Positions of columns."""
    position = {variable.name: j for j, variable in enumerate(engine.variables)}
    return tuple(position[name] for name in names)


def families(engine):
    return [
        (at(engine, child)[0], at(engine, parents))
        for child, parents in (("c", ""), ("c", "de"), ("d", "c"), ("e", "dc"))
    ]


def triples(engine):
    asked = [("c", "d", ""), ("e", "c", "d"), ("d", "e", "c")]
    return [(*at(engine, [x, y]), at(engine, given)) for x, y, given in asked]


DIRICHLET_RULE = FamilyRule(DIRICHLET, OF_TABLE, 1.0)
ANSWERS = {
    "unit": lambda engine: engine.unit,
    "missing": lambda engine: engine.missing,
    "rows": lambda engine: engine.rows(),
    "moments": lambda engine: [
        engine.moments(at(engine, "ba")),
        engine.moments(at(engine, "ab"), given=at(engine, "ec")),
        engine.moments(at(engine, "b"), given=at(engine, "d")),
    ],
    "expanded_moments": lambda engine: [
        [found.n, found.levels, found.correlation, found.log_variances]
        for found in (engine.expanded_moments(at(engine, names)) for names in ("ab", "dcab"))
    ],
    "residuals": lambda engine: [
        (found.n, found.log_sum.round(9), found.sufficient, found.groups, found.fewest)
        for found in [
            engine.residuals(
                [
                    (*at(engine, "a"), at(engine, "ec")),
                    (*at(engine, "b"), at(engine, "ad")),
                    (*at(engine, "b"), ()),
                ]
            )
        ]
    ],
    "recoded": lambda engine: list(
        engine.recoded({"d": (("v", "xy"), np.array([1, 1]))}).tables(
            [
                TableSet(at(engine, "dc"), at(engine, "e")),
                TableSet(at(engine, "c"), at(engine, "de")),
                TableSet(at(engine, "d")),
            ]
        )
    ),
    "with_levels": lambda engine: list(
        engine.with_levels({"d": ("v", "y", "x")}).tables(
            [TableSet(at(engine, "dc"), at(engine, "e")), TableSet(at(engine, "e"))]
        )
    ),
    "family_tables": lambda engine: list(engine.family_tables(families(engine))),
    "family_values": lambda engine: engine.family_values(families(engine), DIRICHLET_RULE),
    "family_ceilings": lambda engine: engine.family_ceilings(families(engine), DIRICHLET_RULE, 0.5),
    "statistics": lambda engine: engine.statistics(triples(engine)),
    "pair_statistics": lambda engine: engine.pair_statistics(
        np.array([at(engine, "cd"), at(engine, "ec")], dtype=np.int32)
    ),
}
"""What is the same for an engine over the rows as they are chosen or coded."""
FACTS = (
    "digest",
    "missing_treatment",
    "decimal",
    "where",
    "kind",
    "budget",
    "pass_rows",
    "can_fork",
)
"""What an engine says of itself."""


def test_every_member_of_the_page_is_asked_for():
    table = PAGE[PAGE.index("## What has a default") :]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    members = re.findall(r"`(\w+)", " ".join(first))
    # What is expected to be asked for has no answer.
    assert sorted(members) == sorted([*ANSWERS, *FACTS, "expect"])


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("member", FACTS)
def test_a_wrapped_engine_says_what_it_said(wrapper, member):
    engine = Knowing(mixed_data())
    assert getattr(WRAPPERS[wrapper](engine), member) == getattr(engine, member)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("member", ANSWERS)
def test_a_wrapped_engine_answers_as_over_other_rows(wrapper, member):
    mine, theirs = (WRAPPERS[wrapper](made(mixed_data())) for made in (Knowing, MemoryCounter))
    assert mine.variables == theirs.variables
    assert mine.n == theirs.n
    assert content(ANSWERS[member](mine)) == content(ANSWERS[member](theirs))


def test_some_columns_of_an_engine_with_numbers():
    data = mixed_data().select(["a", "b", "e"])
    graph = Graph.from_edges(["b", "a"], [("a", "-->", "b")], kind="dag")
    with pytest.warns(GmlWarning, match="not in the graph, ignored: 'e'"):
        mine, theirs = (
            gml.score(made(data), graph, score="bic-g") for made in (Knowing, MemoryCounter)
        )
    assert content(mine[0]) == content(theirs[0])


def test_moments_within_joined_levels_are_not_known():
    joined = Knowing(mixed_data()).recoded({"d": (("v", "xy"), np.array([1, 1]))})
    with pytest.raises(CannotAnswer, match="the cluster: no moments within joined levels of 'd'"):
        joined.moments([0], given=[3])
    assert content(joined.moments([0], given=[2])) == content(
        MemoryCounter(mixed_data()).moments([0], given=[2])
    )


def test_a_wrapped_engine_hears_what_is_expected():
    heard = []

    class Hearing(Knowing):
        def expect(self, likely):
            heard.extend(likely())

    likely = [gml.TableSet((0,), (1, 3))]
    selected(Hearing(mixed_data())).expect(lambda: likely)
    relevelled(Hearing(mixed_data())).expect(lambda: likely)
    assert heard == [gml.TableSet((4,), (2, 3)), *likely]


def test_a_column_that_is_not_there_is_not_selected():
    with pytest.raises(UsageError, match="column 'f' not found"):
        Knowing(mixed_data()).select(["a", "f"])


def test_wrapped_engines_without_rows_have_none():
    for wrapped in (
        as_list(DATA).select(DATA.names[:2]),
        as_list(DATA).with_levels({DATA.names[0]: ("b", "a")}),
    ):
        assert wrapped.rows() is None
