"""Make the sample data: small networks with published parameters, sampled with a fixed seed.

asia: Lauritzen & Spiegelhalter 1988, J. R. Statist. Soc. B 50:157-224.
cancer: Korb & Nicholson 2010, Bayesian Artificial Intelligence, section 2.2.
survey: Scutari & Denis 2014, Bayesian Networks: With Examples in R, chapter 1.
crops: the same, chapter 2 (environment, genetic potential, vegetative mass, number and weight of
seeds, and the crop of a plant).
admissions: Bickel, Hammel & O'Connell 1975, Science 187:398-404 (counts by department).
icecream: Eisner 2002, ACL Workshop on Effective Tools for Teaching NLP, pp. 10-18 (weather, and how
many ice creams were eaten on each day of a diary).
students: Agresti 2013, Categorical Data Analysis, table 9.3 (who ever used what, of 2276 students).
carcinoma: Agresti 2002, Categorical Data Analysis, table 13.1 (which of seven pathologists saw a
carcinoma of the uterine cervix in each of 118 slides).
flats: made up, numbers beside labels: size in square metres, rent and heating costs per month.
clinic: made up, a practice that asks heavy patients, above all, how much they move.
census: made up, margins of the population that the survey is about.

    python sample_data/make.py [FOLDER]

The standard library's generator makes the same files on every machine and version.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

YES_NO = ("yes", "no")
Node = tuple[tuple[str, ...], tuple[str, ...], dict[tuple[str, ...], tuple[float, ...]]]

ASIA: dict[str, Node] = {
    "asia": (YES_NO, (), {(): (0.01, 0.99)}),
    "tub": (YES_NO, ("asia",), {("yes",): (0.05, 0.95), ("no",): (0.01, 0.99)}),
    "smoke": (YES_NO, (), {(): (0.5, 0.5)}),
    "lung": (YES_NO, ("smoke",), {("yes",): (0.1, 0.9), ("no",): (0.01, 0.99)}),
    "bronc": (YES_NO, ("smoke",), {("yes",): (0.6, 0.4), ("no",): (0.3, 0.7)}),
    "either": (
        YES_NO,
        ("lung", "tub"),
        {
            ("yes", "yes"): (1.0, 0.0),
            ("yes", "no"): (1.0, 0.0),
            ("no", "yes"): (1.0, 0.0),
            ("no", "no"): (0.0, 1.0),
        },
    ),
    "xray": (YES_NO, ("either",), {("yes",): (0.98, 0.02), ("no",): (0.05, 0.95)}),
    "dysp": (
        YES_NO,
        ("bronc", "either"),
        {
            ("yes", "yes"): (0.9, 0.1),
            ("yes", "no"): (0.8, 0.2),
            ("no", "yes"): (0.7, 0.3),
            ("no", "no"): (0.1, 0.9),
        },
    ),
}

CANCER: dict[str, Node] = {
    "Pollution": (("low", "high"), (), {(): (0.9, 0.1)}),
    "Smoker": (("True", "False"), (), {(): (0.3, 0.7)}),
    "Cancer": (
        ("True", "False"),
        ("Pollution", "Smoker"),
        {
            ("low", "True"): (0.03, 0.97),
            ("high", "True"): (0.05, 0.95),
            ("low", "False"): (0.001, 0.999),
            ("high", "False"): (0.02, 0.98),
        },
    ),
    "Xray": (
        ("positive", "negative"),
        ("Cancer",),
        {("True",): (0.9, 0.1), ("False",): (0.2, 0.8)},
    ),
    "Dyspnoea": (
        ("True", "False"),
        ("Cancer",),
        {("True",): (0.65, 0.35), ("False",): (0.3, 0.7)},
    ),
}

SURVEY: dict[str, Node] = {
    "Age": (("young", "adult", "old"), (), {(): (0.3, 0.5, 0.2)}),
    "Sex": (("M", "F"), (), {(): (0.6, 0.4)}),
    "Education": (
        ("high", "uni"),
        ("Age", "Sex"),
        {
            ("young", "M"): (0.75, 0.25),
            ("adult", "M"): (0.72, 0.28),
            ("old", "M"): (0.88, 0.12),
            ("young", "F"): (0.64, 0.36),
            ("adult", "F"): (0.70, 0.30),
            ("old", "F"): (0.90, 0.10),
        },
    ),
    "Occupation": (
        ("emp", "self"),
        ("Education",),
        {("high",): (0.96, 0.04), ("uni",): (0.92, 0.08)},
    ),
    "Residence": (
        ("small", "big"),
        ("Education",),
        {("high",): (0.25, 0.75), ("uni",): (0.2, 0.8)},
    ),
    "Travel": (
        ("car", "train", "other"),
        ("Occupation", "Residence"),
        {
            ("emp", "small"): (0.48, 0.42, 0.10),
            ("self", "small"): (0.56, 0.36, 0.08),
            ("emp", "big"): (0.58, 0.24, 0.18),
            ("self", "big"): (0.70, 0.21, 0.09),
        },
    ),
}

# Intercept, coefficients of the parents and standard deviation.
CROPS: dict[str, tuple[float, dict[str, float], float]] = {
    "environment": (50.0, {}, 10.0),
    "genetics": (50.0, {}, 10.0),
    "vegetative": (-10.35534, {"genetics": 0.5, "environment": 0.70711}, 5.0),
    "number": (45.0, {"vegetative": 0.1}, 9.949874),
    "weight": (15.0, {"vegetative": 0.7}, 7.141428),
    "crop": (0.0, {"number": 0.3, "weight": 0.7}, 6.25),
}

ADMISSIONS = {
    "A": ((512, 313), (89, 19)),
    "B": ((353, 207), (17, 8)),
    "C": ((120, 205), (202, 391)),
    "D": ((138, 279), (131, 244)),
    "E": ((53, 138), (94, 299)),
    "F": ((22, 351), (24, 317)),
}

# Marijuana yes and no, within cigarettes yes and no, within alcohol yes and no.
STUDENTS = (((911, 538), (44, 456)), ((3, 43), (2, 279)))

# Cold and hot days: how probable a day like the one before is, and 1, 2 or 3 ice creams.
WEATHER = ("cold", "hot")
SAME_WEATHER = 0.8
EATEN = {"cold": (0.7, 0.2, 0.1), "hot": (0.1, 0.2, 0.7)}


CLINIC: dict[str, Node] = {
    "Diet": (("good", "poor"), (), {(): (0.5, 0.5)}),
    "Exercise": (("little", "much"), (), {(): (0.5, 0.5)}),
    "Weight": (
        ("high", "normal"),
        ("Diet", "Exercise"),
        {
            ("good", "little"): (0.15, 0.85),
            ("good", "much"): (0.1, 0.9),
            ("poor", "little"): (0.9, 0.1),
            ("poor", "much"): (0.15, 0.85),
        },
    ),
    "Sugar": (
        ("high", "normal"),
        ("Weight",),
        {("high",): (0.6, 0.4), ("normal",): (0.2, 0.8)},
    ),
}

CENSUS = [
    ["young", "M", "", "150"],
    ["young", "F", "", "145"],
    ["adult", "M", "", "230"],
    ["adult", "F", "", "235"],
    ["old", "M", "", "105"],
    ["old", "F", "", "135"],
    ["", "", "big", "600"],
    ["", "", "small", "400"],
]


# District: its share, then shares of conditions, the mean and sd of sizes, and rent per flat and
# square metre with its sd; condition: the rent that it adds, heating per square metre and its sd.
CONDITIONS = ("new", "old", "renovated")
DISTRICTS = {
    "centre": (0.3, (0.1, 0.55, 0.35), (58, 14), (190, 14.5, 70)),
    "suburb": (0.45, (0.25, 0.45, 0.3), (74, 16), (120, 10.5, 50)),
    "village": (0.25, (0.3, 0.4, 0.3), (95, 20), (80, 6.5, 45)),
}
HEATING = {"new": (160, 0.6, 8), "old": (0, 1.5, 18), "renovated": (70, 0.9, 11)}
PARKING = {"centre": 0.2, "suburb": 0.6, "village": 0.9}


CARCINOMA = {
    "1111111": 34, "1111211": 2, "1211111": 6, "1211112": 1, "1211211": 4, "1211212": 5,
    "2111111": 2, "2121212": 1, "2211111": 2, "2211112": 1, "2211211": 2, "2211212": 7,
    "2211222": 1, "2212112": 1, "2212212": 2, "2212222": 3, "2221212": 13, "2221222": 5,
    "2222212": 10, "2222222": 16,
}  # fmt: skip
"""How many slides the seven judged in this way: 2 is a carcinoma."""


def sample(network: dict[str, Node], n: int, seed: int) -> list[list[str]]:
    """Draw rows by forward sampling; nodes stand after their parents."""
    draw = random.Random(seed).random
    rows = []
    for _ in range(n):
        row: dict[str, str] = {}
        for name, (levels, parents, table) in network.items():
            u = draw()
            chosen = levels[-1]
            for level, p in zip(levels, table[tuple(row[q] for q in parents)], strict=True):
                u -= p
                if u < 0:
                    chosen = level
                    break
            row[name] = chosen
        rows.append(list(row.values()))
    return rows


def plants(n: int, seed: int) -> list[list[str]]:
    """Draw plants: each node is its mean given its parents and a normal error, to two digits."""
    draw = random.Random(seed).gauss
    rows = []
    for _ in range(n):
        row: dict[str, float] = {}
        for name, (mean, coefficients, sd) in CROPS.items():
            expected = mean + sum(times * row[parent] for parent, times in coefficients.items())
            row[name] = round(draw(expected, sd), 2)
        rows.append([f"{value:.2f}" for value in row.values()])
    return rows


def diaries(n: int, seed: int) -> list[list[str]]:
    """Draw diaries of one to fifteen days; each begins with either weather."""
    draw = random.Random(seed).random
    rows = []
    for diary in range(1, n + 1):
        weather = WEATHER[int(2 * draw())]
        for _ in range(1 + int(15 * draw())):
            u, eaten = draw(), 3
            if u < EATEN[weather][0] + EATEN[weather][1]:
                eaten = 1 if u < EATEN[weather][0] else 2
            rows.append([str(diary), str(eaten), weather])
            if draw() >= SAME_WEATHER:
                weather = WEATHER[1 - WEATHER.index(weather)]
    return rows


def flats(n: int, seed: int) -> list[list[str]]:
    """Draw flats: labels first, then numbers that are linear in others within their labels."""
    rng = random.Random(seed)
    shares = [share for share, *_ in DISTRICTS.values()]
    rows = []
    for _ in range(n):
        (district,) = rng.choices(list(DISTRICTS), shares)
        _, conditions, (mean, sd), (flat, per_metre, rent_sd) = DISTRICTS[district]
        (condition,) = rng.choices(CONDITIONS, conditions)
        parking = "yes" if rng.random() < PARKING[district] else "no"
        added, heat, heat_sd = HEATING[condition]
        size = round(max(20.0, rng.gauss(mean, sd)))
        rent = round(flat + added + per_metre * size + rng.gauss(0, rent_sd))
        heating = round(12 + heat * size + rng.gauss(0, heat_sd))
        rows.append([district, condition, parking, str(size), str(rent), str(heating)])
    return rows


def with_gaps(rows: list[list[str]], rate: float, seed: int) -> list[list[str]]:
    """Blank cells completely at random."""
    draw = random.Random(seed).random
    return [[("" if draw() < rate else cell) for cell in row] for row in rows]


def with_gaps_by(
    rows: list[list[str]], column: int, by: int, rates: dict[str, float], seed: int
) -> list[list[str]]:
    """Blank cells of a column, as often as the value of another column says."""
    draw = random.Random(seed).random
    return [
        [("" if j == column and draw() < rates[row[by]] else cell) for j, cell in enumerate(row)]
        for row in rows
    ]


def write_csv(path: Path, header: list[str], rows: list[list[str]]) -> None:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_dot(path: Path, network: dict[str, Node]) -> None:
    """Write the network's graph."""
    lines = ["digraph {", *(f"  {name};" for name in network)]
    for name, (_, parents, _) in network.items():
        lines += [f"  {parent} -> {name};" for parent in parents]
    path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "asia.csv", list(ASIA), sample(ASIA, 5000, seed=1988))
    write_csv(folder / "cancer.csv", list(CANCER), sample(CANCER, 2000, seed=2010))
    survey = with_gaps(sample(SURVEY, 1000, seed=2014), rate=0.05, seed=2)
    write_csv(folder / "survey_missing.csv", list(SURVEY), survey)
    asked = with_gaps_by(
        sample(CLINIC, 3000, seed=2019), 1, 2, {"high": 0.1, "normal": 0.7}, seed=3
    )
    write_csv(folder / "clinic.csv", list(CLINIC), asked)
    write_csv(folder / "crops.csv", list(CROPS), plants(500, seed=2014))
    write_csv(folder / "census.csv", ["Age", "Sex", "Residence", "count"], CENSUS)
    admissions = [
        [department, gender, answer, str(count)]
        for department, by_gender in ADMISSIONS.items()
        for gender, counts in zip(("Male", "Female"), by_gender, strict=True)
        for answer, count in zip(("Admitted", "Rejected"), counts, strict=True)
    ]
    write_csv(folder / "admissions.csv", ["Dept", "Gender", "Admit", "Freq"], admissions)
    students = [
        [alcohol, cigarettes, marijuana, str(STUDENTS[i][j][k])]
        for i, alcohol in enumerate(YES_NO)
        for j, cigarettes in enumerate(YES_NO)
        for k, marijuana in enumerate(YES_NO)
    ]
    write_csv(folder / "icecream.csv", ["diary", "eaten", "weather"], diaries(100, seed=2002))
    columns = ["district", "condition", "parking", "size", "rent", "heating"]
    write_csv(folder / "flats.csv", columns, flats(800, seed=2019))
    names = ["alcohol", "cigarettes", "marijuana", "Freq"]
    write_csv(folder / "students.csv", names, students)
    slides = [[*(YES_NO[mark == "1"] for mark in marks), str(n)] for marks, n in CARCINOMA.items()]
    write_csv(folder / "carcinoma.csv", [*"ABCDEFG", "slides"], slides)
    raters = "\n".join(f"  Truth -> {name};" for name in "ABCDEFG")
    (folder / "carcinoma.dot").write_text(f"digraph {{\n{raters}\n}}\n", encoding="utf-8")
    write_dot(folder / "asia.dot", ASIA)
    write_dot(folder / "cancer.dot", CANCER)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
