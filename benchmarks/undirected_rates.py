"""Draw how fast fits of an undirected model come near the truth: docs/undirected_rates.svg.

    python benchmarks/undirected_rates.py [--seeds 10]

Rows are drawn from a 3 x 3 lattice of two levels each, with couplings and fields of either sign, by
enumeration. The error is the root mean square over all coefficients and seeds of what exact
maximum likelihood (Newton's method on the enumeration), pseudo-likelihood and persistent
contrastive divergence find. It prints a line per number of rows, and the slopes of the logarithms.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable
from gml.model.undirected.chains.contrastive import fit_contrastive
from gml.model.undirected.chains.moments import ChainMoments
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.pseudo.likelihood import fit_pseudo
from gml.model.undirected.terms import Terms

SIDE = 3
ROWS = (1000, 3162, 10_000, 31_623, 100_000)
STYLES = {"exact": ("#000000", "o"), "pl": ("#0072B2", "s"), "pcd": ("#E69F00", "^")}
DOCS = Path(__file__).resolve().parent.parent / "docs"


class Lattice:
    """A model whose cells can be listed, and its data."""

    def __init__(self) -> None:
        names = [f"s{i}{j}" for i in range(SIDE) for j in range(SIDE)]
        self.variables = tuple(Variable(name, ("down", "up")) for name in names)
        links = [(f"s{i}{j}", f"s{i}{j + 1}") for i in range(SIDE) for j in range(SIDE - 1)]
        links += [(f"s{i}{j}", f"s{i + 1}{j}") for i in range(SIDE - 1) for j in range(SIDE)]
        self.terms = Terms.of(self.variables, links)
        self.coefficients = Coefficients(self.terms)
        rng = np.random.default_rng(0)
        joint = self.coefficients.is_joint
        size = rng.uniform(0.2, 0.5, len(joint)) * rng.choice([-1, 1], len(joint))
        self.truth = np.where(joint, size, size / 2)
        self.cells = np.array(list(product((0, 1), repeat=SIDE * SIDE)), dtype=np.uint8)
        self.features = ChainMoments(self.coefficients).each(self.cells.T)

    def shares(self, vector: np.ndarray) -> np.ndarray:
        """The probabilities of all cells."""
        weights = np.exp(self.features @ vector)
        return weights / weights.sum()

    def drawn(self, n: int, seed: int) -> Dataset:
        """Rows of the model, as cells with weights."""
        counts = np.random.default_rng(seed).multinomial(n, self.shares(self.truth))
        return Dataset(self.variables, tuple(self.cells.T.copy()), counts)

    def exact(self, data: Dataset) -> np.ndarray:
        """The maximum of the likelihood."""
        observed = data.weights / data.weights.sum() @ self.features
        vector = self.truth.copy()
        for _ in range(20):
            shares = self.shares(vector)
            means = shares @ self.features
            second = (self.features * shares[:, None]).T @ self.features - np.outer(means, means)
            vector += np.linalg.solve(second, observed - means)
        return vector


def main() -> None:
    """Fit, print and draw."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=10)
    seeds = options.parse_args().seeds
    lattice = Lattice()
    errors: dict[str, list[float]] = {name: [] for name in STYLES}
    for n in ROWS:
        squares: dict[str, list[float]] = {name: [] for name in STYLES}
        for seed in range(seeds):
            data = lattice.drawn(n, seed)
            counter = gml.MemoryCounter(data)
            fits = {
                "exact": lattice.exact(data),
                "pl": lattice.coefficients.vector(fit_pseudo(counter, lattice.terms).tables),
                "pcd": lattice.coefficients.vector(
                    fit_contrastive(counter, lattice.terms, chains=2000, seed=seed).tables
                ),
            }
            for name, vector in fits.items():
                squares[name].append(float(np.mean((vector - lattice.truth) ** 2)))
        for name in STYLES:
            errors[name].append(float(np.sqrt(np.mean(squares[name]))))
        print(n, *(f"{name} {errors[name][-1]:.5f}" for name in STYLES), flush=True)
    slopes = {name: np.polyfit(np.log(ROWS), np.log(errors[name]), 1)[0] for name in STYLES}
    print("slopes", *(f"{name} {slope:.3f}" for name, slope in slopes.items()))
    draw(errors, slopes)


def draw(errors: dict[str, list[float]], slopes: dict[str, float]) -> None:
    """Write the figure; the same numbers give the same bytes."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("plots need matplotlib: pip install 'gml[plots]'")
    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "gml", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"}
    )
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for name, (colour, marker) in STYLES.items():
        label = f"{name}: slope {slopes[name]:.2f}".replace("-", "−")
        axis.plot(ROWS, errors[name], marker=marker, color=colour, lw=1.2, ms=5, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("rows")
    axis.set_ylabel("error, root mean square")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    figure.savefig(DOCS / "undirected_rates.svg", metadata={"Date": None, "Creator": None})
    print(DOCS / "undirected_rates.svg", file=sys.stderr)


if __name__ == "__main__":
    main()
