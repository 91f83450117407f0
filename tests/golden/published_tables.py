"""Published tables of counts, typed in: (header, {cell: count}).

Chow & Liu 1968, IEEE Trans. Inf. Theory 14:462-467, Table I (20 rows reproduce its probabilities).
Bickel, Hammel & O'Connell 1975, Science 187:398-404. Snee 1974, Am. Statist. 28:9-12.
Dawson 1995, J. Statist. Educ. 3(3) (Titanic). Schoener 1968 as in Fienberg 1980 (lizards).
"""

from __future__ import annotations

from gml.data.dataset import Dataset, Variable

Table = tuple[tuple[str, ...], dict[tuple[str, ...], int]]

CHOW_LIU: Table = (
    ("x1", "x2", "x3", "x4"),
    {
        ("0", "0", "0", "0"): 2, ("0", "0", "0", "1"): 2, ("0", "0", "1", "0"): 1,
        ("0", "0", "1", "1"): 1, ("0", "1", "1", "0"): 2, ("0", "1", "1", "1"): 1,
        ("1", "0", "0", "0"): 1, ("1", "0", "0", "1"): 2, ("1", "1", "0", "0"): 1,
        ("1", "1", "0", "1"): 1, ("1", "1", "1", "0"): 3, ("1", "1", "1", "1"): 3,
    },
)  # fmt: skip

LIZARDS: Table = (
    ("Species", "Diameter", "Height"),
    {
        ("Distichus", "narrow", "high"): 73, ("Distichus", "narrow", "low"): 61,
        ("Distichus", "wide", "high"): 70, ("Distichus", "wide", "low"): 41,
        ("Sagrei", "narrow", "high"): 86, ("Sagrei", "narrow", "low"): 32,
        ("Sagrei", "wide", "high"): 35, ("Sagrei", "wide", "low"): 11,
    },
)  # fmt: skip

ADMISSIONS: Table = (
    ("Dept", "Gender", "Admit"),
    {
        (dept, gender, admit): count
        for dept, by_gender in {
            "A": ((512, 313), (89, 19)),
            "B": ((353, 207), (17, 8)),
            "C": ((120, 205), (202, 391)),
            "D": ((138, 279), (131, 244)),
            "E": ((53, 138), (94, 299)),
            "F": ((22, 351), (24, 317)),
        }.items()
        for gender, counts in zip(("Male", "Female"), by_gender, strict=True)
        for admit, count in zip(("Admitted", "Rejected"), counts, strict=True)
    },
)

# Hair by eye colour; both sexes together
HAIR_EYE: Table = (
    ("Hair", "Eye"),
    {
        (hair, eye): count
        for hair, counts in {
            "Black": (68, 20, 15, 5),
            "Brown": (119, 84, 54, 29),
            "Red": (26, 17, 14, 14),
            "Blond": (7, 94, 10, 16),
        }.items()
        for eye, count in zip(("Brown", "Blue", "Hazel", "Green"), counts, strict=True)
    },
)

# Class and sex by survival; children and adults together
TITANIC: Table = (
    ("Class", "Sex", "Survived"),
    {
        ("1st", "Male", "No"): 118, ("1st", "Male", "Yes"): 62,
        ("1st", "Female", "No"): 4, ("1st", "Female", "Yes"): 141,
        ("2nd", "Male", "No"): 154, ("2nd", "Male", "Yes"): 25,
        ("2nd", "Female", "No"): 13, ("2nd", "Female", "Yes"): 93,
        ("3rd", "Male", "No"): 422, ("3rd", "Male", "Yes"): 88,
        ("3rd", "Female", "No"): 106, ("3rd", "Female", "Yes"): 90,
        ("Crew", "Male", "No"): 670, ("Crew", "Male", "Yes"): 192,
        ("Crew", "Female", "No"): 3, ("Crew", "Female", "Yes"): 20,
    },
)  # fmt: skip


def as_dataset(table: Table) -> Dataset:
    """The table as weighted rows."""
    import numpy as np

    names, cells = table
    variables, columns = [], []
    for j, name in enumerate(names):
        levels = tuple(sorted({cell[j] for cell in cells}))
        variables.append(Variable(name, levels))
        columns.append(np.array([levels.index(cell[j]) for cell in cells], dtype=np.uint8))
    weights = np.array(list(cells.values()), dtype=np.int64)
    return Dataset(tuple(variables), tuple(columns), weights)
