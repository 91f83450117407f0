"""A case: a command line with the files, the environment and the standard input that it gets."""

from __future__ import annotations

import base64
import functools
import json
import random
import shlex
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz import names, seeds
from tests.fuzz.kinds import ENVIRONMENT, OPTIONS, Kind, damaged

BUDGET = "64M"


@dataclass(frozen=True)
class Case:
    """All that a run depends on."""

    kind: str
    args: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    stdin: bytes = b""

    @property
    def command(self) -> str:
        """The name of the command."""
        return self.args[0] if self.args else ""

    @property
    def line(self) -> str:
        """The command line, for people."""
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in self.env.items())
        return variables + shlex.join(["gml", *self.args])

    def with_(self, **changes: Any) -> Case:
        """The same with changes."""
        return replace(self, **changes)

    def to_json(self) -> str:
        """As text that keeps every byte."""
        return json.dumps(
            {
                "kind": self.kind,
                "args": self.args,
                "env": self.env,
                "stdin": base64.b64encode(self.stdin).decode(),
                "files": {
                    name: base64.b64encode(data).decode() for name, data in self.files.items()
                },
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Read what `to_json` wrote."""
        found = json.loads(text)
        return cls(
            found["kind"],
            tuple(found["args"]),
            {name: base64.b64decode(data) for name, data in found["files"].items()},
            found["env"],
            base64.b64decode(found["stdin"]),
        )


def case_of(kind: Kind, seed: int, index: int) -> Case:
    """Case number `index`; the same one for the same seed."""
    rng = random.Random(f"{seed}/{kind.name}/{index}")
    if kind.name == "options":
        return _option_case(kind, rng)
    if kind.name == "names":
        files, words = names.files_and_line(rng)
        words += _random_options(words[0], rng) if rng.random() < 0.3 else []
        return Case(kind.name, _limited(words), _beside(words) | files)
    data = damaged(kind, rng)
    if kind.name == "environment":
        return _environment_case(kind, rng, data)
    if kind.file.endswith(".toml"):
        # Settings name files to write: these stay in the scratch folder.
        data = data.replace(b"/", b"_")
    words = rng.choice(kind.commands).split()
    stdin = b""
    name = kind.file
    if kind.piped and words.count("@") == 1 and rng.random() < 0.1:
        name, stdin = "-", data
    args = [name if word == "@" else word for word in words]
    args += _random_options(args[0], rng)
    files = _beside(args)
    if kind.parts:
        for part in range(rng.randrange(kind.parts + 1)):
            content = (
                data
                if part == 0
                else damaged(kind, rng)
                if rng.random() < 0.3
                else rng.choice(kind.seeds())
            )
            files[f"{name}/part-{part}.parquet"] = content
        files.setdefault(f"{name}/{rng.choice(('notes.txt', '_SUCCESS', '.hidden.parquet'))}", b"x")
    elif name != "-":
        files[name] = data
    if kind.file.endswith(".toml"):
        files |= {
            extra: seeds.support(extra)
            for extra in ("data.csv", "model.json", "baseline.json", "schema.json")
        }
    return Case(kind.name, _limited(args), files, {}, stdin)


def _limited(args: list[str]) -> tuple[str, ...]:
    """The command line with a budget, unless it has one."""
    has_one = any(word.startswith("--max-memory") for word in args)
    return tuple(args) if has_one or not args else (args[0], "--max-memory", BUDGET, *args[1:])


def _beside(args: list[str]) -> dict[str, bytes]:
    """The valid files that a command line names."""
    return {word: seeds.support(word) for word in args if "." in word and seeds.is_support(word)}


def _as_argument(data: bytes) -> str:
    """Bytes as a program gets them: no NUL can be passed."""
    return data.replace(b"\x00", b"").decode("utf-8", "surrogateescape")


_NAMES_OUTPUT = (
    *(" -o {}", "profile data.csv {}", "--depfile={}", "--report={}", "--trace={}", "--sepsets={}"),
    *("--probabilities={}", "--write-baseline={}", "--test-log={}", "--cpt-dir={}"),
)


def _option_case(kind: Kind, rng: random.Random) -> Case:
    line, values = rng.choice(OPTIONS)
    pool_kind = (
        kind
        if rng.random() < 0.2
        else replace(kind, seeds=lambda: [value.encode() for value in values])
    )
    text = _as_argument(damaged(pool_kind, rng)[:8000])
    if any(flag in line for flag in _NAMES_OUTPUT):
        # Nothing is written outside of the scratch folder.
        text = text.replace("/", "_")
    args = [word.replace("{}", text) for word in line.split()]
    if rng.random() < 0.3:
        args += _random_options(line.split()[0], rng)
    files = _beside([*line.split(), *args])
    for value in values:
        if seeds.is_support(value):
            files[value] = seeds.support(value)
    return Case(kind.name, _limited(args), files)


def _environment_case(kind: Kind, rng: random.Random, data: bytes) -> Case:
    env = {}
    for name, values in rng.sample(ENVIRONMENT, rng.choice((1, 1, 2, 4))):
        one = replace(kind, seeds=lambda values=values: [value.encode() for value in values])
        env[name] = _as_argument(damaged(one, rng)[:8000]).replace("/", "_")
    if rng.random() < 0.2:
        env[rng.choice(ENVIRONMENT)[0]] = _as_argument(data[:8000]).replace("/", "_")
    args = rng.choice(kind.commands).split()
    names = ("data.csv", "model.json", "baseline.json", "schema.json", "graph.dot")
    files = {name: seeds.support(name) for name in names}
    files["gml.toml"] = seeds.TOML
    return Case(kind.name, _limited(args), files, env)


# --- options that fit -------------------------------------------------------------------------

# A file that is kept would be taken for one that was left behind.
_LEFT_OUT = {
    "--max-memory",
    "--debug",
    "--help",
    "--version",
    "--config",
    "--no-config",
    "--spool-keep",
}
# More would be work that was asked for, not a defect.
_MODEST = {
    "--permutations": ("1", "10", "99"), "--bootstrap": ("2", "3"), "--restarts": ("0", "1", "3"), "--perturb": ("1", "2"),
    "--iterations": ("20", "50"), "--burn-in": ("0", "5"), "--thin": ("1", "3"), "--chains": ("4", "5"), "--tabu": ("0", "3"),
    "--candidates": ("1", "3", "63"), "-n": ("0", "1", "20"), "--folds": ("2", "3"), "--unlikely-rows": ("0", "3"),
    "--threads": ("1", "2", "5"), "--max-seconds": ("0", "0.01", "5"),
    "--delimiter": (",", ";", "\t", "a", "é", ""), "--decimal": (".", ","), "--encoding": ("utf-8", "latin-1", "utf-16", "ascii"),
    "--cut": ("d=width:3", "a=quantile:2", "b=0,1", "d=0"), "--levels": ("schema.json", "profile.json"),
    "--knowledge": ("knowledge.json",), "--score": ("bic", "bdeu", "k2", "fnml", "qnml", "bds", "bge", "loglik-g"),
    "--require": ("a->b", "c->b"), "--forbid": ("a->b", "b->a"), "--tiers": ("a<b,c", "c<a"), "--phases": ("forward", "turning,backward"),
    "--start": ("graph.dot",), "--against": ("graph.dot",), "--implied": ("graph.dot",), "--graph": ("graph.dot",),
    "--compare-to": ("graph.dot",), "--strengths": ("graph.dot",), "--holdout": ("data.csv",), "--sets": ("sets.csv",), "--targets": ("targets.csv",), "--reference": ("model.json",), "--quantiles": ("0.1,0.9", "0.5"), "--draws": ("0", "3"), "--bounds": ("0.3,3", "0,1.5"), "--batch": ("data.csv",), "--input": ("data.csv",),
    "--baseline": ("baseline.json",), "--evidence": ("a=yes", "b=1,c=x", "p=0"), "--do": ("a=no", "b=0"),
    "--min-effect": ("0.1", "tables=0.5"), "--severity": ("fit=warn", "tables=fail"), "--families": ("tables", "schema,fit"),
    "--report": ("junit=out_r.xml", "sarif=out_r.sarif", "json=out_r.json"), "--order": ("a,b,c", "b,a"),
    "--na": ("NA", "x", "no", ""), "--weights": ("w", "d", "b"), "--discretize-class": ("a", "b"), "--weights-fractional": ("d", "w"),
    "--engine": ("auto", "memory", "stream", "stream"), "--spool": (".", "out_none"), "--master": ("local[1]", "x"),
}  # fmt: skip
_WRITTEN = {
    "--depfile": ("out.d",), "--sepsets": ("out_sep.csv", "out_sep.json"), "--test-log": ("out_log.jsonl",), "--trace": ("out_trace.csv",),
    "--probabilities": ("out_p.csv", "out_p.json"), "--cpt-dir": ("out_tables",), "--write-baseline": ("out_base.json",),
    "--output": ("out.json", "out.dot", "out.graphml", "out.txt", "out.csv", "out.md", "out.bif", "out.net", "out.xml", "out"),
}  # fmt: skip
_NAMES = ("a", "b", "c", "d", "a,b", "a,b,c")
_WHOLE = ("0", "1", "2", "3", "7", "255", "65535", "-1", "2147483648", "9223372036854775808")
_REAL = ("0", "0.01", "0.5", "1", "2.5", "-1", "1e-300", "1e308", "nan", "inf", "-0.0")


@functools.cache
def options_of(command: str) -> tuple[Any, ...]:
    """The options of a command, as click has them."""
    import click

    from gml.cli.main import cli

    found = cli.get_command(click.Context(cli), command)
    if found is None:
        return ()
    return tuple(
        p for p in found.params if isinstance(p, click.Option) and not _LEFT_OUT & set(p.opts)
    )


def _random_options(command: str, rng: random.Random) -> list[str]:
    options = options_of(command)
    if not options or rng.random() < 0.6:
        return []
    found: list[str] = []
    for option in rng.sample(options, min(len(options), rng.choice((1, 1, 2, 3)))):
        flag = max(option.opts, key=len)
        if option.is_flag:
            found.append(flag)
        else:
            found += [flag, rng.choice(_values(option, flag))]
    return found


def _values(option: Any, flag: str) -> tuple[str, ...]:
    import click

    for table in (_MODEST, _WRITTEN):
        if flag in table:
            return table[flag]
    if isinstance(option.type, click.Choice):
        return tuple(map(str, option.type.choices))
    if isinstance(option.type, click.types.IntParamType):
        return _WHOLE
    if isinstance(option.type, click.types.FloatParamType):
        return _REAL
    return _NAMES
