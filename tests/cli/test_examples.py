"""The examples to copy: valid by the schemas of those who read them, and run with the real commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from tests import schemas

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
WORKFLOW = EXAMPLES / "github-actions/check-data.yml"
GITLAB = EXAMPLES / "gitlab-ci/gitlab-ci.yml"
HOOKS = EXAMPLES / "pre-commit/.pre-commit-config.yaml"
_BLOCKS = re.findall(r"```sh\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL)
MAKE_MODEL, MAKE_DATA, BREAK_DATA = _BLOCKS


class _Loader(yaml.SafeLoader):
    """Takes `on` for a string, as YAML 1.2 does and those who run workflows do."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:bool"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def load(path):
    return yaml.load(path.read_text(), _Loader)


def environment(**extra):
    """What a job has: gml on the path, and nothing of whoever runs the tests."""
    theirs = ("GML_", "GITHUB_", "GIT_", "MAKE", "MFLAGS", "PRE_COMMIT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {
        **kept,
        "PATH": path,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **extra,
    }


def run(script, folder, **extra):
    """Run a script as GitHub and GitLab do, to the first command that fails."""
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=300,
    )


def done(finished, code=0):
    assert finished.returncode == code, finished.stdout + finished.stderr
    return finished


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A repository as the README has it made."""
    place = tmp_path_factory.mktemp("examples")
    (place / "gml").symlink_to(ROOT)
    repository = place / "repository"
    repository.mkdir()
    done(run(MAKE_DATA + MAKE_MODEL + BREAK_DATA, repository))
    return repository


@pytest.fixture
def repository(tmp_path, prepared):
    """The same for one test alone."""
    return Path(shutil.copytree(prepared, tmp_path / "repository"))


def break_data(repository):
    shutil.copy(repository / "data/changed.csv", repository / "data/new.csv")


def failed_cases(path):
    return [
        case.get("name")
        for case in ElementTree.parse(path).getroot().iter("testcase")
        if case.find("failure") is not None
    ]


def test_the_readme_names_every_example():
    prose = (EXAMPLES / "README.md").read_text()
    files = {
        str(path.relative_to(EXAMPLES))
        for path in EXAMPLES.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert files == set(re.findall(r"\]\(([^)]+)\)", prose))


def test_workflow_and_job_are_valid():
    for path, schema in ((WORKFLOW, schemas.GITHUB_WORKFLOW), (GITLAB, schemas.GITLAB_CI)):
        judge = jsonschema.Draft7Validator(json.loads(schemas.text_of(schema)))
        content = load(path)
        assert [error.message for error in judge.iter_errors(content)] == []
        # The schema would notice.
        first = next(iter(content))
        assert list(judge.iter_errors({**content, first: 7}))


# --- GitHub Actions and GitLab -----------------------------------------------------------------


def steps():
    (job,) = load(WORKFLOW)["jobs"].values()
    return job["steps"]


def uploaded():
    """The files that the steps after the check look for, which all run when it failed."""
    named = []
    for step in steps():
        given = step.get("with", {})
        files = [*given.get("path", "").split(), *given.get("sarif_file", "").split()]
        if files:
            assert step["if"] == "always()"
            named += files
    return named


def the_check():
    (script,) = (step["run"] for step in steps() if step.get("run", "").startswith("gml "))
    return script


def test_workflow_on_good_data(repository, tmp_path):
    summary = tmp_path / "summary.md"
    good = done(run(the_check(), repository, GITHUB_STEP_SUMMARY=str(summary)))
    assert good.stdout.startswith("::notice file=data/new.csv,")
    assert "::error" not in good.stdout
    assert "PASS" in summary.read_text()
    assert set(uploaded()) == {"check.xml", "check.sarif", "check.md"}
    for name in uploaded():
        assert (repository / name).stat().st_size
    assert failed_cases(repository / "check.xml") == []


def test_workflow_on_changed_data(repository, tmp_path):
    break_data(repository)
    summary = tmp_path / "summary.md"
    bad = done(run(the_check(), repository, GITHUB_STEP_SUMMARY=str(summary)), 1)
    assert re.search(r"^::error file=data/new\.csv,.*bronc -> dysp", bad.stdout, re.MULTILINE)
    assert "FAIL" in summary.read_text()
    for name in uploaded():
        assert (repository / name).stat().st_size
    assert failed_cases(repository / "check.xml")
    (found,) = json.loads((repository / "check.sarif").read_text())["runs"]
    assert found["results"]


def gitlab_job():
    (job,) = load(GITLAB).values()
    return job


def test_gitlab_on_good_and_on_changed_data(repository):
    job = gitlab_job()
    script = "\n".join(job["script"])
    assert job["artifacts"]["when"] == "always"
    report = repository / job["artifacts"]["reports"]["junit"]
    good = done(run(script, repository))
    assert good.stdout.startswith("PASS")
    assert failed_cases(report) == []
    for name in job["artifacts"]["paths"]:
        (repository / name).unlink()
    break_data(repository)
    bad = done(run(script, repository), 1)
    assert bad.stdout.startswith("FAIL")
    assert failed_cases(report)
    for name in job["artifacts"]["paths"]:
        assert (repository / name).stat().st_size


def test_jobs_say_which_variable_to_set(tmp_path):
    (install,) = (step["run"] for step in steps() if "pip install" in step.get("run", ""))
    # A variable of a repository that is not set is the empty string.
    for script in (install, *gitlab_job()["before_script"]):
        finished = run(script, tmp_path, INSTALL_GML_FROM="")
        assert finished.returncode != 0
        assert "INSTALL_GML_FROM: set this" in finished.stderr


def test_jobs_look_when_a_file_that_they_read_changes():
    paths = load(WORKFLOW)["on"]["pull_request"]["paths"]
    (changes,) = (rule["changes"] for rule in gitlab_job()["rules"] if "changes" in rule)
    hook = load(HOOKS)["repos"][0]["hooks"][0]
    for command in (the_check(), "\n".join(gitlab_job()["script"]), hook["entry"]):
        read = [word for word in command.split() if re.fullmatch(r"[\w/]+\.(csv|json)", word)]
        assert read == ["data/new.csv", "model.json", "accepted.json"]
        for name in [*read, "gml.toml"]:
            assert name in paths
            assert name in changes
            assert re.search(hook["files"], name)


# --- settings ----------------------------------------------------------------------------------


def test_settings(repository):
    (repository / ".git").mkdir()
    shutil.copy(EXAMPLES / "gml.toml", repository)
    good = done(run("cd data && gml check -v", repository))
    assert good.stdout.startswith("PASS")
    assert "at alpha 0.001" in good.stdout
    assert "settings from ../gml.toml" in good.stderr
    assert failed_cases(repository / "check.xml") == []
    # Who is short of breath is not, and the other way round: the rows fit far worse.
    header, *rows = (repository / "data/new.csv").read_text().splitlines()
    turned = [f"{row.rpartition(',')[0]},{'no' if row.endswith('yes') else 'yes'}" for row in rows]
    (repository / "data/new.csv").write_text("\n".join([header, *turned]) + "\n")
    bad = done(run("gml check -f json", repository), 1)
    found = json.loads(bad.stdout)["checks"]
    assert {check["status"] for check in found if check["family"] == "fit"} == {"warn"}
    assert failed_cases(repository / "check.xml")
    # A new value in one row of thousands, which only a schema rules out.
    rows = (repository / "data/train.csv").read_text().replace("\nno,", "\nperhaps,", 1)
    (repository / "data/new.csv").write_text(rows)
    odd = done(run("gml check", repository), 1)
    assert "values that the schema does not know: 'perhaps' (1)" in odd.stdout
    # Accepting a model again, as the file says.
    (command,) = re.findall("gml check .* --write-baseline .*", (EXAMPLES / "gml.toml").read_text())
    before = (repository / "accepted.json").read_bytes()
    (repository / "accepted.json").unlink()
    done(run(command, repository))
    assert (repository / "accepted.json").read_bytes() == before


# --- pre-commit --------------------------------------------------------------------------------


def test_hooks(repository, tmp_path):
    shutil.copy(HOOKS, repository)

    def git(script, code=0):
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "A"), ("EMAIL", "a@b.example"))
        }
        finished = run(script, repository, PRE_COMMIT_HOME=str(tmp_path / "home"), **identity)
        return done(finished, code).stdout + finished.stderr

    def outcomes(text):
        return re.findall(r"[.)](Passed|Failed|Skipped)$", text, re.MULTILINE)

    git("pre-commit validate-config && git init -q && pre-commit install")
    first = git("git add . && git commit -qm 'Data and a model'")
    assert outcomes(first) == ["Passed", "Passed"]
    # Nothing that the hooks are about.
    (repository / "notes.txt").write_text("notes\n")
    assert outcomes(git("git add . && git commit -qm Notes")) == ["Skipped", "Skipped"]
    break_data(repository)
    refused = git("git add . && git commit -qm 'Other data'", 1)
    assert outcomes(refused) == ["Failed", "Skipped"]
    assert "bronc -> dysp" in refused
    git("git reset -q --hard")
    model = repository / "model.json"
    model.write_text(model.read_text().replace('"rows": 3000', '"rows": 9000', 1))
    refused = git("git add . && git commit -qm 'Another model'", 1)
    assert re.search(r"^model\.json +changed", refused, re.MULTILINE)


# --- Make --------------------------------------------------------------------------------------


def test_makefile(repository):
    for path in repository.glob("*.*"):
        path.unlink()
    shutil.copy(EXAMPLES / "make/Makefile", repository)
    january, february = (repository / f"data/new/{name}.csv" for name in ("january", "february"))

    def make(code=0):
        """What was done, by the names of the commands."""
        finished = done(run("make", repository), code)
        return re.findall(r"^gml ([a-z-]+) ", finished.stdout, re.MULTILINE), finished.stdout

    def settle():
        """Let everything be older than whatever is written next."""
        for path in sorted(repository.rglob("*"), key=lambda path: path.stat().st_mtime_ns):
            stamp = path.stat().st_mtime_ns - 10**10
            os.utime(path, ns=(stamp, stamp))

    commands, _ = make()
    assert sorted(commands) == sorted(
        ["profile", "hc", "fit-params", "check", "count", "count", "merge", "check"]
    )
    assert failed_cases(repository / "build/check.xml") == []
    assert "Nothing to be done for 'all'" in make()[1]

    settle()
    os.utime(january)
    assert make()[0] == ["count"]

    settle()
    model = (repository / "build/model.json").stat().st_mtime_ns
    january.write_text("\n".join(january.read_text().splitlines()[:801]) + "\n")
    assert make()[0] == ["count", "merge", "check"]
    assert "Nothing to be done for 'all'" in make()[1]
    assert "1800 rows" in (repository / "build/check.md").read_text()
    assert (repository / "build/model.json").stat().st_mtime_ns == model

    settle()
    january.unlink()
    assert make()[0] == ["merge", "check"]
    assert "1000 rows" in (repository / "build/check.md").read_text()

    settle()
    shutil.copy(repository / "data/changed.csv", february)
    commands, text = make(2)
    assert commands == ["count", "merge", "check"]
    assert "FAIL" in text
    assert "FAIL" in (repository / "build/check.md").read_text()
    assert failed_cases(repository / "build/check.xml")
    # A failure stays one.
    assert make(2)[0] == ["check"]
    february.unlink()
    assert "there are no shards" in done(run("make", repository), 2).stderr
    done(run("make clean", repository))
    assert not (repository / "build").exists()


def write_table(path, seed, n_rows, shift=0.0):
    """Two columns of labels and three of numbers, of which the last may depend on another more."""
    rng = np.random.default_rng(seed)
    lines = ["site,open,depth,flow,load"]
    for _ in range(n_rows):
        site = rng.choice(["delta", "gorge", "weir"], p=[0.5, 0.3, 0.2])
        is_open = "yes" if rng.random() < (0.7 if site == "delta" else 0.3) else "no"
        depth = rng.normal(4 + (site == "gorge"), 1)
        flow = 2 * depth + (is_open == "yes") + rng.laplace()
        load = (0.5 + shift) * flow + rng.normal()
        lines.append(f"{site},{is_open},{depth:.2f},{flow:.3f},{load:.1f}")
    path.write_text("\n".join(lines) + "\n")


def test_makefile_with_numbers(tmp_path):
    shutil.copy(EXAMPLES / "make/Makefile", tmp_path)
    (tmp_path / "data/new").mkdir(parents=True)
    write_table(tmp_path / "data/train.csv", 1, 900)
    header, *rows = (tmp_path / "data/train.csv").read_text().splitlines()
    for k in range(3):
        shard = tmp_path / f"data/new/{k}.csv"
        shard.write_text("\n".join([header, *rows[k::3]]) + "\n")
    settings = 'TRAIN="data/train.csv --numeric depth,flow,load"'
    done(run(f"make {settings}", tmp_path), 0)
    report = (tmp_path / "build/check.md").read_text()
    assert "PASS" in report
    assert "900 rows" in report
    assert failed_cases(tmp_path / "build/check.xml") == []
    cases = ElementTree.parse(tmp_path / "build/check.xml").getroot().iter("testcase")
    assert {"tables:load", "structure:flow->load"} <= {case.get("name") for case in cases}

    write_table(tmp_path / "data/new/3.csv", 2, 600, shift=0.3)
    text = done(run(f"make {settings}", tmp_path), 2).stdout
    assert "FAIL" in text
    assert "coefficient of flow" in text


@pytest.mark.parametrize("policy", ["level", "drop"])
def test_makefile_where_values_are_missing(repository, policy):
    """The rows of the model hold, and no others are compared with them."""
    for path in repository.glob("*.*"):
        path.unlink()
    shutil.copy(EXAMPLES / "make/Makefile", repository)
    header, *rows = (repository / "data/train.csv").read_text().splitlines()
    cells = [row.split(",") for row in rows]
    # Every column but the first; some columns of a shard have no gaps.
    for k, row in enumerate(cells):
        row[1 + k % 7] = "NA" if k % 11 == 0 and (k < 2000 or k % 7 < 4) else row[1 + k % 7]
    lines = [",".join(row) for row in cells]
    parts = {"train": lines, "new/january": lines[:2000], "new/february": lines[2000:]}
    for name, part in parts.items():
        (repository / f"data/{name}.csv").write_text("\n".join([header, *part]) + "\n")
    finished = done(run(f"make MISSING={policy}", repository))
    assert "PASS" in finished.stdout
    assert "0 violations accepted" in (repository / "build/accepted.txt").read_text()
    assert failed_cases(repository / "build/check.xml") == []
    done(run("gml verify build/*.json build/*.parquet build/counts/*.parquet", repository))
    assert "Nothing to be done for 'all'" in done(run(f"make MISSING={policy}", repository)).stdout
