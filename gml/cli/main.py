"""The `gml` command: finds the subcommand, and alone turns errors into exit codes."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from typing import Any, NoReturn

import click

from gml.cli.shared.run_options import ANYWHERE, handed_on
from gml.cli.shared.standard_output import abandon_standard_output, write_standard_output
from gml.errors import GmlError
from gml.printable_text import printable
from gml.progress import say, silence_libraries, write_stderr
from gml.resources import lack_behind, prepare_libraries

GROUPS = {
    "Learn a structure": {
        "chowliu": "Learn a Chow–Liu tree, a forest or a TAN model.",
        "pc": "Learn a CPDAG by independence tests (the PC algorithm).",
        "hc": "Learn a DAG by hill climbing, with a tabu list and restarts.",
        "ges": "Learn a CPDAG by greedy search over equivalence classes.",
        "exact": "Learn the DAG with the highest score, for certain.",
        "imap": "Learn a minimal I-map for an order of the variables.",
        "glasso": "Learn an undirected graph of numbers: the graphical lasso.",
        "notears": "Learn a DAG of numbers by continuous optimisation (DAGMA).",
        "average": "Learn how certain each edge is: average many graphs.",
        "explain": "Say why PC has an edge, or none, from its log.",
    },
    "Fit and use a model": {
        "fit-params": "Fit the probability tables of a graph.",
        "mrf": "Fit an undirected model: a Markov random field.",
        "maxent": "Find the distribution of largest entropy under constraints.",
        "crf": "Fit a conditional random field: p(y | x) to predict columns.",
        "mixture": "Find classes of rows that nobody recorded: latent classes.",
        "query": "Ask a model for posteriors, explanations and predictions.",
        "sample": "Draw rows from a model.",
        "impute": "Fill the missing values of a table by a model.",
    },
    "Test and score": {
        "indtest": "Test the independence of variables.",
        "score": "Score graphs on data.",
        "compare": "Compare graphs or models with a reference.",
    },
    "Data quality": {
        "profile": "Write the schema of a table: levels, cut points, missing rates.",
        "check": "Check whether a model still holds on new data.",
        "rake": "Weight the rows of a table so that it has known margins.",
    },
    "Pictures": {
        "draw": "Draw a graph or a model, or plot what is known about it.",
        "report": "Write one page with all that is known of a model on data.",
    },
    "Files": {
        "convert": "Convert a graph or model file to another format.",
        "count": "Count sets of columns into a file that stands for the data.",
        "merge": "Add up count files, as if all rows had been counted at once.",
        "verify": "Check that files are as they were written, and from which inputs.",
    },
    "Help": {
        "plan": "Say what a command would take: tests, tables, memory, time.",
        "help": "Explain a command, or tests, scores, formats, exit codes.",
        "completion": "Print a script that completes command lines in your shell.",
    },
}
"""The commands by what people want, each with what it does."""

COMMANDS = dict(sorted((name, line) for group in GROUPS.values() for name, line in group.items()))

_GIVEN_BEFORE = "gml.given_before"


class LazyGroup(click.Group):
    """A group that imports a command when it is called.

    Options about the run may stand before the command: they are handed on to it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._anywhere = [option.before_command() for option in ANYWHERE]
        self.params += self._anywhere

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        prepare_libraries()
        module = importlib.import_module(f"gml.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            given, *_ = self.make_parser(ctx).parse_args(list(args))
        except click.NoSuchOption as error:
            where = "options of a command stand after its name"
            raise click.UsageError(f"gml has no option {error.option_name}; {where}", ctx) from None
        ctx.meta[_GIVEN_BEFORE] = given
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from gml.cli.shared.guesses import unknown_command

            raise click.UsageError(unknown_command(args[0], COMMANDS), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        before = handed_on(self._anywhere, ctx.meta.get(_GIVEN_BEFORE, {}), command)
        return name, command, [*before, *rest]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        own = [option for option in self.get_params(ctx) if option not in self._anywhere]
        for title, options in (
            ("Options before or after the command", self._anywhere),
            ("Options", own),
        ):
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, line in commands.items()])


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from gml.verbs.shared.version import version

    write_standard_output(f"gml {version()}\n".encode())
    ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n"
    "  gml chowliu survey.csv -o tree.svg\n"
    "  gml pc survey.csv --alpha 0.001 -o graph.json\n"
    "  gml indtest survey.csv Age Vote --given Region\n"
    "  gml fit-params survey.csv graph.json -o model.json\n"
    "  gml query model.json --target Vote --evidence Region=north\n"
    "  zcat big.csv.gz | gml chowliu - -o tree.json\n"
    "\n\b\n"
    "Topics of gml help: tests, scores, undirected, formats, missing, knowledge,\n"
    "constraints, pictures, engines, exit-codes.\n"
    "\n\b\n"
    "Exit codes: 0 done or yes, 1 the answer is no, 2 usage, 3 input rejected,\n"
    "4 cannot answer, 5 out of time, 70 a bug, 130 interrupted.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and the kernel in use.",
)
def cli() -> None:
    """Learn graphical models from CSV data.

    Commands read DATA (CSV, TSV, compressed, Parquet, a count file, or - for standard input),
    graphs and models (DOT, JSON, GraphML, BIF, XMLBIF, NET, UAI), and write their result to
    standard output, or to a file with -o.
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    silence_libraries()
    code = run(sys.argv[1:] if args is None else args)
    # Output that others left in the stream must not fail at exit.
    write_stderr()
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run the command line and return its exit code."""
    debug = "--debug" in args
    _prepare_streams()
    # The kernels bring their own threads; those of NumPy's linear algebra would only cost start-up.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # click's own main would print a line of its own on an interrupt.
        with cli.make_context("gml", list(args)) as context:
            result: Any = cli.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        write_stderr((error.ctx.get_help() if error.ctx else "") + "\n")
        return 2
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        path = where.command_path if where else "gml"
        return _fail(f"{_one_line(error.format_message())} (see {path} --help)", 2)
    except GmlError as error:
        if debug:
            _print_traceback(error)
        return _fail(f"{error}", error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        abandon_standard_output()
        return 0
    except Exception as error:
        if lack := lack_behind(error):
            return _fail(lack, 4)
        if isinstance(error, OSError) and error.filename is None:
            if _is_nowhere():
                message = "the current folder is gone; change to another, or name whole paths"
                return _fail(message, 3)
            # Input and files have their own handlers; this is a help text that failed.
            abandon_standard_output()
            return _fail(f"cannot write to standard output: {error.strerror}", 4)
        if debug:
            _print_traceback(error)
        return _fail(
            f"this is a bug in gml: {type(error).__name__}: {error}; please report it with the "
            "command and the traceback that --debug shows",
            70,
        )


def _prepare_streams() -> None:
    """Replace the None that Python has in place of a stream that the caller closed.

    Reading finds nothing, warnings go nowhere, and writing a result fails as it should. Results are
    bytes; a help text goes in the encoding of the stream, whatever that can hold.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _is_nowhere() -> bool:
    """Whether the current folder was removed, so that no path relative to it means anything."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _print_traceback(error: BaseException) -> None:
    """Print it as Python does, except that quoted text must not look like our own lines."""
    import traceback

    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        _print_traceback(before)
    lines = ["Traceback (most recent call last):\n", *traceback.format_tb(error.__traceback__)]
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    write_stderr("".join(lines) + printable(f"{name}: {error}") + "\n")


def _one_line(message: str) -> str:
    return re.sub(r"\s*[\r\n]+\s*", " ", message)


def _fail(message: str, code: int) -> int:
    say("error: ", message)
    return code
