"""gml average on the command line."""

from __future__ import annotations

import csv
import itertools
import json
import random

import numpy as np
import pytest

import gml as gml_library
from tests.command_line import error_line


@pytest.fixture(scope="session")
def web(tmp_path_factory):
    """Seven columns in a noisy web."""
    rng = np.random.default_rng(11)
    columns = [rng.integers(0, 2, 400)]
    for _ in range(6):
        source = columns[int(rng.integers(len(columns)))]
        noise = rng.random(400) < rng.uniform(0.3, 0.7)
        columns.append(np.where(noise, rng.integers(0, 3, 400), source))
    rows = np.column_stack(columns).tolist()
    path = tmp_path_factory.mktemp("average") / "web.csv"
    lines = [",".join(f"x{j}" for j in range(7)), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def described(content):
    """Edges whatever the order of the nodes: names and attributes by the pair."""
    found = {}
    for edge in content["edges"]:
        # Undirected graphs have edges without a direction.
        ends, direction = (edge["source"], edge["target"]), edge.get("direction", 0.5)
        if edge["type"] == "---" and ends[0] > ends[1]:
            ends, direction = ends[::-1], 1 - direction
        found[ends] = (edge["type"], edge["strength"], round(direction, 9), edge.get("undirected"))
    return found


@pytest.mark.parametrize("by", ["hc", "ges", "pc", "mrf"])
def test_same_bytes_for_hash_seeds_and_threads(gml, web, tmp_path, by):
    found = set()
    for seed, threads in itertools.product("01", "13"):
        table = tmp_path / f"{seed}{threads}.csv"
        done = gml(
            "average", web, "--by", by, "--bootstrap", "9", "--seed", "2", "--threads", threads,
            "-f", "json", "--probabilities", table, env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0
        found.add((done.stdout, table.read_bytes()))
    assert len(found) == 1
    other = gml("average", web, "--by", by, "--bootstrap", "9", "--seed", "3", "-f", "json")
    assert other.stdout != done.stdout


@pytest.mark.parametrize("by", ["hc", "ges", "pc", "mrf"])
def test_the_order_of_rows_and_columns_changes_nothing(gml, web, tmp_path, by):
    rows = list(csv.DictReader(web.read_text().splitlines()))
    random.Random(0).shuffle(rows)
    names = random.Random(1).sample(list(rows[0]), 7)
    with (tmp_path / "shuffled.csv").open("w") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    one, other = (
        json.loads(gml("average", path, "--by", by, "--bootstrap", "8", "-f", "json", "-q").stdout)
        for path in (web, "shuffled.csv")
    )
    assert described(one) == described(other)


def test_pc_is_averaged_as_pc_does(gml, web):
    options = ("--bootstrap", "7", "--seed", "4", "--alpha", "0.05", "-f", "dot", "-q")
    one, other = gml("average", web, "--by", "pc", *options), gml("pc", web, *options)
    assert one.returncode == 0
    assert one.stdout == other.stdout


def test_hc_is_averaged_by_equivalence_classes(gml, tmp_path):
    """A pair alone has no direction, whatever the search ends in."""
    rows = ["a,b", *["0,0", "1,1"] * 30, *["0,1", "1,0"] * 5]
    (tmp_path / "pair.csv").write_text("\n".join(rows) + "\n")
    done = gml("average", "pair.csv", "--by", "hc", "--bootstrap", "5", "-f", "text")
    assert done.stdout == (
        b"cpdag, 2 nodes, 1 edge\na --- b  strength 1  direction 0.5  undirected 1\n"
    )


def test_json_records_the_run(gml, web):
    done = gml(
        "average", web, "--by", "hc", "--bootstrap", "6", "--score", "bdeu", "--ess", "2",
        "--max-parents", "2", "--tabu", "3", "--tiers", "x0 < x1", "-f", "json",
    )  # fmt: skip
    content = json.loads(done.stdout)
    learning = content["graph"]["learning"]
    assert content["graph"]["kind"] == "pdag"
    assert learning["command"] == "average"
    assert learning["settings"] == {
        "by": "hc", "bootstrap": 6, "seed": 0, "score": "bdeu", "max_parents": 2, "restarts": 0,
        "tabu": 3,
    }  # fmt: skip
    assert learning["options"]["ess"] == 2
    assert learning["replicates"] == 6
    assert learning["knowledge"]["tiers"] == [["x0"], ["x1"]]
    for edge in content["edges"]:
        assert learning["threshold"] <= edge["strength"] <= 1
        assert edge["undirected"] / 2 <= edge["direction"] <= 1


@pytest.mark.parametrize("by", ["hc", "ges"])
def test_knowledge_holds_in_every_replicate(gml, web, tmp_path, by):
    done = gml(
        "average", web, "--by", by, "--bootstrap", "6", "--require", "x6->x0", "--forbid", "x1->x2",
        "--threshold", "0.3", "-f", "json", "--probabilities", "p.json", "-q",
    )  # fmt: skip
    pairs = {(r["x"], r["y"]): r for r in json.loads((tmp_path / "p.json").read_text())["results"]}
    assert len(pairs) == 21
    assert pairs["x0", "x6"]["strength"] == 1 and pairs["x0", "x6"]["direction"] == 0
    assert not pairs["x1", "x2"]["direction"] and not pairs["x1", "x2"]["undirected"]
    types = {(e["source"], e["target"]): e["type"] for e in json.loads(done.stdout)["edges"]}
    assert types["x6", "x0"] == "-->"
    for pair in pairs.values():
        if pair["strength"]:
            half = pair["undirected"] / 2 - 1e-12
            assert half <= pair["direction"] <= 1 - half
        else:
            assert pair["direction"] is pair["undirected"] is None


def test_numbers(gml, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=60), rng.normal(size=60)
    c = a + b + 0.3 * rng.normal(size=60)
    rows = ["a,b,c", *(",".join(map(str, row)) for row in zip(a, b, c, strict=True))]
    (tmp_path / "numbers.csv").write_text("\n".join(rows) + "\n")
    for by, score in (("hc", ["--score", "bic-g"]), ("pc", ["--test", "fisher-z"])):
        done = gml("average", "numbers.csv", "--by", by, *score, "--bootstrap", "5", "-f", "text")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"cpdag, 3 nodes, 2 edges\na --> c  strength 1")


def test_posterior_of_all_dags(gml, web, tmp_path):
    found = set()
    for seed, threads in itertools.product("01", "13"):
        done = gml(
            "average", web, "--by", "exact", "--max-parents", "2", "--threads", threads,
            "-f", "json", "--probabilities", "p.json", "-q", env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0
        found.add((done.stdout, (tmp_path / "p.json").read_bytes()))
    assert len(found) == 1
    content = json.loads(done.stdout)
    learning = content["graph"]["learning"]
    assert learning["settings"] == {"by": "exact", "score": "bdeu", "max_parents": 2}
    assert learning["threshold"] == 0.5
    assert "linear extensions" in learning["prior"]
    pairs = {(r["x"], r["y"]): r for r in json.loads((tmp_path / "p.json").read_text())["results"]}
    counter = gml_library.MemoryCounter(gml_library.read(web))
    posterior = gml_library.edge_posteriors(gml_library.SCORES["bdeu"](counter), max_parents=2)
    for (i, x), (j, y) in itertools.combinations(enumerate(posterior.names), 2):
        pair = pairs[x, y]
        forward = pair["strength"] * pair["direction"]
        assert forward == pytest.approx(posterior.edges[i, j], abs=1e-12)
        assert pair["strength"] - forward == pytest.approx(posterior.edges[j, i], abs=1e-12)
        assert pair["undirected"] is None
    edges = {tuple(sorted((e["source"], e["target"]))): e for e in content["edges"]}
    assert edges.keys() == {pair for pair, row in pairs.items() if row["strength"] >= 0.5}
    for pair, edge in edges.items():
        assert edge["strength"] == pairs[pair]["strength"]
        direction = pairs[pair]["direction"]
        wanted = direction if edge["source"] == pair[0] else 1 - direction
        assert edge["direction"] == pytest.approx(wanted)


def test_posterior_of_sampled_orders(gml, web, tmp_path):
    found = set()
    for seed, threads in itertools.product("01", "13"):
        done = gml(
            "average", web, "--by", "order-mcmc", "--iterations", "4000", "--chains", "5",
            "--seed", "3", "--threads", threads, "-f", "json", "--probabilities", "p.csv", "-q",
            env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0
        found.add((done.stdout, (tmp_path / "p.csv").read_bytes()))
    assert len(found) == 1
    learning = json.loads(done.stdout)["graph"]["learning"]
    assert learning["settings"] == {
        "by": "order-mcmc", "iterations": 4000, "chains": 5, "seed": 3, "score": "bdeu",
        "max_parents": 3,
    }  # fmt: skip
    assert learning["r_hat"] >= 0.99
    assert learning["effective_size"] > 1
    assert len(learning["accepted"]) == 5
    exact = gml(
        "average", web, "--by", "exact", "--max-parents", "3", "--probabilities", "e.csv", "-q"
    )
    assert exact.returncode == 0
    tables = [
        list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        for name in ("p.csv", "e.csv")
    ]
    for one, other in zip(*tables, strict=True):
        assert (one["x"], one["y"]) == (other["x"], other["y"])
        assert float(one["strength"]) == pytest.approx(float(other["strength"]), abs=0.1)


def test_chains_that_disagree_are_named(gml, web):
    done = gml("average", web, "--by", "order-mcmc", "--iterations", "20", "--burn-in", "0")
    assert done.returncode == 0
    assert b"R\xcc\x82" in done.stderr


def test_knowledge_is_certain_in_the_posterior(gml, web, tmp_path):
    done = gml(
        "average", web, "--by", "exact", "--require", "x6->x0", "--forbid", "x1->x2",
        "--score", "bic", "--probabilities", "p.csv", "-f", "json", "-q",
    )  # fmt: skip
    content = json.loads(done.stdout)
    assert content["graph"]["kind"] == "pdag"
    assert content["graph"]["learning"]["settings"]["score"] == "bic"
    rows = csv.DictReader((tmp_path / "p.csv").read_text().splitlines())
    pairs = {(r["x"], r["y"]): r for r in rows}
    assert float(pairs["x0", "x6"]["strength"]) == pytest.approx(1)
    assert float(pairs["x0", "x6"]["direction"]) == pytest.approx(0, abs=1e-12)
    assert float(pairs["x1", "x2"]["direction"] or 0) == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--by", "exact", "--bootstrap", "9"], 2, "--bootstrap does not go with --by exact"),
        (["--by", "exact", "--chains", "9"], 2, "--chains does not go with --by exact"),
        pytest.param(
            ["--by", "hc", "--thin", "9"],
            2,
            "--thin does not go with --by hc (only with order-mcmc)",
            id="args2-2---thin does not go with --by hc (but order-mcmc)",
        ),
        (["--by", "order-mcmc", "--chains", "3"], 2, "--chains"),
        (["--by", "order-mcmc", "--bootstrap", "5"], 2, "--bootstrap does not go with"),
        pytest.param(
            ["--by", "order-mcmc", "--max-seconds", "0"],
            4,
            "--max-seconds ran out",
            id="args5-4---max-seconds was over",
        ),
        (["--by", "exact", "--seed", "9"], 2, "--seed does not go with --by exact"),
        (["--by", "exact", "--score", "aic"], 2, "needs a marginal likelihood"),
        pytest.param(
            ["--by", "exact", "--max-seconds", "0"],
            4,
            "--max-seconds ran out",
            id="args8-4---max-seconds was over",
        ),
        (["--by", "exact", "--max-memory", "1k"], 4, "order-mcmc"),
        ([], 2, "--by"),
        (["--by", "k2"], 2, "'k2' is not one of"),
        pytest.param(
            ["--by", "hc", "--alpha", "0.1"],
            2,
            "--alpha does not go with --by hc (only with pc)",
            id="args12-2---alpha does not go with --by hc (but pc)",
        ),
        (["--by", "hc", "--max-cond", "1"], 2, "--max-cond does not go with --by hc"),
        (["--by", "pc", "--score", "bic"], 2, "--score does not go with --by pc"),
        (["--by", "pc", "--max-parents", "2"], 2, "--max-parents does not go with --by pc"),
        pytest.param(
            ["--by", "ges", "--tabu", "2"],
            2,
            "--tabu does not go with --by ges (only with hc)",
            id="args16-2---tabu does not go with --by ges (but hc)",
        ),
        (["--by", "pc", "--ess", "2"], 2, "--ess does not go with --test auto"),
        (["--by", "hc", "--ess", "2"], 2, "--ess does not go with --score bic"),
        (["--by", "hc", "--score", "bic,aic"], 2, "one score"),
        (["--by", "ges", "--score", "k2"], 2, "scores differently"),
        (["--by", "hc", "--bootstrap", "1"], 2, "--bootstrap"),
        (["--by", "hc", "--threshold", "0"], 2, "--threshold"),
        (["--by", "hc", "--require", "x0->y"], 2, "column 'y' not found"),
        (["--by", "hc", "--probabilities", "-"], 2, "needs a file"),
        (["--by", "hc", "--probabilities", "p.xyz"], 2, "p.xyz"),
        (["--by", "hc", "--probabilities", "g.json", "-o", "g.json"], 2, "same file"),
        (["--by", "hc", "--max-seconds", "0"], 4, "before the first replicate"),
        (["--by", "mrf", "--max-seconds", "0"], 4, "before the first replicate"),
        (["--by", "mrf", "--structure", "complete"], 2, "'complete' is not one of"),
        (["--by", "mrf", "--score", "k2"], 2, "the same for equivalent DAGs"),
        (["--by", "mrf", "--score", "bic-g"], 2, "--score bic-g is for numbers"),
        (["--by", "mrf", "--max-parents", "2"], 2, "--max-parents does not go with --by mrf"),
        (["--by", "mrf", "--alpha", "0.1"], 2, "--alpha does not go with --by mrf"),
        (["--by", "hc", "--structure", "tree"], 2, "--structure does not go with --by hc"),
        (["--by", "mrf", "--prune", "bic"], 2, "--prune does not go with --structure forward"),
        (
            ["--by", "mrf", "--structure", "tree", "--score", "aic"],
            2,
            "--score does not go with --structure tree (only with forward)",
        ),
        (
            ["--by", "mrf", "--structure", "l1", "--max-clique", "3"],
            2,
            "--max-clique does not go with --structure l1 (only with forward)",
        ),
        (["--by", "mrf", "--gamma", "1"], 2, "--gamma does not go with --structure forward"),
        (["--by", "mrf", "--tiers", "x0 < x1"], 2, "--tiers does not go with --by mrf"),
        (["--by", "mrf", "--require", "x0->x1"], 2, "--require does not go with --by mrf"),
        (["--by", "mrf", "--dag"], 2, "--dag does not go with --by mrf"),
    ],
)
def test_errors(gml, web, tmp_path, args, code, message):
    assert message in error_line(gml("average", web, *args), code)
    assert not list(tmp_path.iterdir())


def test_undirected_graphs_are_averaged_without_directions(gml, web, tmp_path):
    done = gml(
        "average", web, "--by", "mrf", "--bootstrap", "40", "--seed", "1", "-f", "json",
        "--probabilities", "p.csv", "--score", "bdeu", "--ess", "2", "--max-clique", "3",
    )  # fmt: skip
    content = json.loads(done.stdout)
    learning = content["graph"]["learning"]
    assert content["graph"]["kind"] == "undirected"
    assert learning["settings"] == {
        "by": "mrf", "bootstrap": 40, "seed": 1, "structure": "forward", "score": "bdeu",
        "max_clique": 3,
    }  # fmt: skip
    assert learning["replicates"] == 40
    shares = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert len(shares) == 21
    strengths = {}
    for row in shares:
        assert (row["direction"], row["undirected"]) == ("", "")
        strengths[row["x"], row["y"]] = float(row["strength"])
    kept = {pair for pair, strength in strengths.items() if strength >= learning["threshold"]}
    assert {tuple(sorted((e["source"], e["target"]))) for e in content["edges"]} == kept
    for edge in content["edges"]:
        assert edge["type"] == "---"
        assert edge["strength"] == strengths[tuple(sorted((edge["source"], edge["target"])))]
        assert set(edge) == {"source", "target", "type", "strength"}


def test_strengths_are_shares_of_the_graphs_of_samples(web):
    """Bootstrap samples for a score, complementary halves for tests."""
    from gml.data.resampling import bootstrap_samples
    from gml.learners.bootstrap import half_samples
    from gml.learners.chowliu import chow_liu
    from gml.learners.decomposable import forward_decomposable
    from gml.learners.neighbourhoods import neighbourhood_graph

    def forward(counter):
        return forward_decomposable(gml_library.SCORES["bic"](counter)).graph

    def forest(counter):
        return chow_liu(counter, directed=False, prune="g").graph

    data = gml_library.read(web)

    def neighbours(counter):
        return neighbourhood_graph(counter, gamma=0.0, rule="or", seed=5).graph

    for learn, samples, asked in (
        (forward, bootstrap_samples, {}),
        (forest, half_samples, {"structure": "tree", "prune": "g"}),
        (neighbours, half_samples, {"structure": "l1", "gamma": 0.0, "rule": "or"}),
    ):
        averaged = gml_library.average(web, "mrf", bootstrap=6, seed=5, **asked)
        graphs = [learn(gml_library.MemoryCounter(one)) for one in samples(data, 6, seed=5)]
        wanted = sum((graph.marks != 0).astype(float) for graph in graphs) / 6
        # The columns are in the order of their names.
        assert np.array_equal(averaged.shares.strength, wanted)
        assert averaged.dag is None


def test_missing_values_are_for_tests_alone(gml, web, tmp_path):
    (tmp_path / "gaps.csv").write_text(web.read_text() + "0,0,0,,0,0,0\n")
    base = ("average", "gaps.csv", "--missing", "available", "--bootstrap", "4", "-q")
    assert gml(*base, "--by", "pc").returncode == 0
    for by in ("hc", "mrf"):
        assert "--missing available is for tests" in error_line(gml(*base, "--by", by), 2)


def test_a_learner_that_gives_up_in_the_end_leaves_what_was_ready(web):
    from gml.errors import CannotAnswer
    from gml.progress import Deadline
    from gml.verbs.shared.over_samples import Limits, over_samples
    from gml.verbs.shared.undirected_structures import Learned

    data = gml_library.read(web)
    chain = gml_library.Graph.from_edges(data.names, [("x0", "---", "x1")], kind="undirected")

    class GivesUp:
        calls = 0

        def samples(self, rows, replicates, seed):
            return [rows] * replicates

        def learn(self, counter, limits):
            self.calls += 1
            while self.calls > 2 and not limits.deadline.passed:
                pass
            if self.calls > 2:
                raise CannotAnswer("no graph without all regressions")
            return Learned(chain)

    limits = Limits(None, gml_library.Knowledge(), Deadline(0.2), 1)
    counter = gml_library.MemoryCounter(data)
    with pytest.warns(gml_library.GmlWarning, match="2 of 9 replicates are averaged"):
        averaged, found = over_samples(counter, GivesUp(), 9, 0, limits, "it")
    assert (averaged.replicates, averaged.complete, found["complete"]) == (2, False, False)
    assert averaged.graph.n_edges == 1


def test_out_of_time(web, tmp_path, monkeypatch, capsys):
    """What was ready is averaged; the clock is left out of it."""
    from gml.cli.main import run
    from gml.verbs.shared import over_samples

    whole = over_samples.learn_replicates

    def three(learn, samples, **options):
        return whole(learn, samples[:3], **options)

    monkeypatch.setattr(over_samples, "learn_replicates", three)
    path = tmp_path / "graph.json"
    assert run(["average", str(web), "--by", "hc", "--max-seconds", "900", "-o", str(path)]) == 5
    learning = json.loads(path.read_text())["graph"]["learning"]
    assert (learning["complete"], learning["replicates"]) == (False, 3)
    assert "3 of 200 replicates are averaged" in capsys.readouterr().err


def test_an_arrow_against_its_majority_is_named_with_its_share(gml, tmp_path):
    rng = np.random.default_rng(10)
    effects = np.triu(rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.6), 1)
    values, errors = np.zeros((60, 6)), rng.normal(size=(60, 6))
    for j in range(6):
        values[:, j] = values @ effects[:, j] + errors[:, j]
    rows = [",".join("abcdef"), *(",".join(f"{v:.3f}" for v in row) for row in values)]
    path = tmp_path / "six.csv"
    path.write_text("\n".join(rows) + "\n")
    run = gml("average", path, "--by", "hc", "--score", "bic-g", "--bootstrap", 20, "-f", "json")
    against = {
        f"{edge['source']} -> {edge['target']} ({edge['direction']:.3g})"
        for edge in json.loads(run.stdout)["edges"]
        if edge["type"] == "-->" and edge["direction"] < 0.5
    }
    assert against
    lines = [line for line in run.stderr.decode().splitlines() if "against the majority" in line]
    assert len(lines) == 1
    assert set(lines[0].partition("(share of the direction): ")[2].split(", ")) == against
