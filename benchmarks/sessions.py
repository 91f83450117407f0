"""Replay what a new user does with six real tables, and say where it stumbles.

    python benchmarks/sessions.py FOLDER

FOLDER holds the tables of `session_tables.py`; `make sessions` makes them and runs this. Each step
is a line for the shell, the exit code that it should have, and what it should say; a step that does
otherwise is shown in full, and the exit code is 1.
"""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple


class Step(NamedTuple):
    """A line for the shell, its exit code, what it says, and what it must not say."""

    line: str
    code: int = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ("Traceback",)


WINE = (
    Step("gml profile wine.csv", says=("proline",)),
    Step("gml pc wine.csv -o w.dot", says=("--bins", "fisher-z")),
    Step("gml average wine.csv --by hc --score bic-g -o wine.json", says=("majority",)),
    Step("gml fit-params wine_train.csv wine.json --accept -o wine_model.json"),
    Step("gml check wine_new.csv wine_model.json"),
    Step("gml check wine_unit.csv wine_model.json", 1, says=("proline", "times: another unit?")),
    Step("gml chowliu wine_semicolon.csv", 3, says=("-d",)),
    Step("gml chowliu wine_semicolon.csv -d ';' --bins 3 -f text", says=("dag", "13 nodes")),
)
WEATHER = (
    Step("gml profile weather.csv", says=("date", "weather")),
    Step("gml pc weather.csv --exclude date --bins 4 -o w.dot", says=("precipitation",)),
    Step("gml fit-params weather_train.csv w.dot --accept -o w.json"),
    Step("gml fit-params weather_train.csv w.dot --bins 5 -o no.json", 2, says=("--bins",)),
    Step("gml check weather_new.csv w.json"),
    Step("gml check weather_inches.csv w.json", 1, says=("precipitation",)),
    Step("gml check weather_renamed.csv w.json", 1, says=("temp_max", "tempmax")),
    Step("gml check weather_shuffled.csv w.json", 1, says=("temp_max",)),
    Step("gml query w.json --predict weather --batch weather_new.csv -o p.csv", says=("accuracy",)),
    Step("gml pc weather.csv --exclude date --bins 4 -o w.svg", says=("precipitation",)),
    Step("gml draw w.json --evidence weather=rain -o rain.png"),
    Step("gml draw w.json -o w.gif", 2, says=("svg, png, pdf or html",)),
)
PENGUINS = (
    Step("gml profile penguins.csv", says=("Individual ID", "Comments")),
    Step("gml chowliu penguins.csv -c Species,Island,Sex,Region", 3, says=("--missing",)),
    Step(
        "gml chowliu penguins.csv -c Species,Island,Sex --missing drop -o peng.dot",
        says=("dropped",),
    ),
    Step("gml fit-params penguins.csv peng.dot --missing drop -o peng.json", says=("dropped",)),
    Step("gml query peng.json -t Species --evidence Island=Dream", says=("Adelie",)),
    Step("gml convert peng.json peng.bif", 3, says=("--sanitize",)),
    Step("gml convert peng.json peng.bif --sanitize"),
    Step("gml convert peng.bif back.json"),
    Step("gml compare peng.json back.json --fail-on-difference"),
)
VISITS = (
    Step("gml profile visits.csv -o visits_schema.json"),
    Step("gml hc visits_train.csv --bins 4 -o v.json"),
    Step("gml fit-params visits_train.csv v.json --accept -o vm.json"),
    Step("gml check visits_new.csv vm.json"),
    Step("gml check visits_sentinel.csv vm.json", 1, says=("lpi", "9999")),
    Step("gml check visits_thrice.csv vm.json", 1, says=("3 times",)),
    Step("gml check visits_new.csv visits_train.csv vm.json --report junit=v.xml"),
    Step("gml check visits_new.csv vm.json | head -1"),
)
MARRIAGE = (
    Step("gml -q ges marriage.csv --bins 3 -o m.json"),
    Step("gml fit-params m.json marriage.csv", 2, says=("gml fit-params marriage.csv m.json",)),
    Step("gml score marriage.csv m.json --folds 5 --predict rate_marriage", says=("accuracy",)),
    Step("gml indtest marriage.csv age yrs_married --bins 4", says=("dependent",)),
    Step("gml indtest marriage.csv age children -z religious,educ --bins 4"),
    Step("gml fit marriage.csv m.json", 2, says=("fit-params",)),
    Step("gml predict m.json", 2, says=("query",)),
)
DIAMONDS = (
    Step("gml profile diamonds.csv", says=("price",)),
    Step("gml pc diamonds.csv --bins 5 -o d.dot"),
    Step("gml fit-params diamonds_train.csv d.dot --accept -o d.json"),
    Step("gml check diamonds_new.csv d.json"),
    Step("gml pc diamonds.csv --test fisher-z", 3, says=("cut", "color", "clarity", "--exclude")),
    Step("gml hc diamonds.csv --exclude cut,color,clarity --score bic-g -o g.json"),
    Step("gml fit-params diamonds_train.csv g.json --accept -o gm.json", says=("numbers",)),
    Step("gml check diamonds_new.csv gm.json"),
)
SESSIONS = {
    "wine": WINE,
    "weather": WEATHER,
    "penguins": PENGUINS,
    "visits": VISITS,
    "marriage": MARRIAGE,
    "diamonds": DIAMONDS,
}


def stumbles(step: Step, folder: str) -> str | None:
    """Run a step, and return what is wrong with it, if anything is."""
    done = subprocess.run(
        ["sh", "-c", step.line], cwd=folder, capture_output=True, text=True, timeout=600
    )
    said = done.stdout + done.stderr
    wrong = [f"exit {done.returncode}, not {step.code}"] if done.returncode != step.code else []
    wrong += [f"does not say {text!r}" for text in step.says if text not in said]
    wrong += [f"says {text!r}" for text in step.never if text in said]
    return f"{'; '.join(wrong)}\n{said}" if wrong else None


def main(folder: str) -> int:
    """Replay all sessions."""
    failed = 0
    for name, steps in SESSIONS.items():
        print(f"# {name}")
        for step in steps:
            problem = stumbles(step, folder)
            failed += problem is not None
            print(f"{'ok    ' if problem is None else 'FAILED'} $ {step.line}")
            if problem is not None:
                print(problem)
    print(f"{failed} of {sum(map(len, SESSIONS.values()))} steps stumbled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
