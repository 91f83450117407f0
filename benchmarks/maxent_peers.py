"""All pairs of some variables by other packages, for maxent.py: run by the Python that has them.

Reads the probabilities of 1s and of pairs of them as JSON; prints the seconds of the fit alone, the
largest difference of a margin, and what went wrong, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations


def scipy_maxentropy(pairs):
    """Features over all states, and BFGS, the default of the package's examples being slower."""
    import numpy as np
    from scipy_maxentropy import Model

    n = len(pairs)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(float)
    columns = [bits[:, i] for i in range(n)]
    columns += [bits[:, i] * bits[:, j] for i, j in combinations(range(n), 2)]
    wanted = [pairs[i][i] for i in range(n)]
    wanted += [pairs[i][j] for i, j in combinations(range(n), 2)]
    # The matrix that its constructor would make of functions, one call per state and feature.
    model = Model()
    model.F = np.array(columns)
    model.samplespace = list(range(1 << n))
    model.params = np.zeros(len(columns))
    model.maxgtol = model.avegtol = 1e-9
    started = time.perf_counter()
    model.fit(np.array(wanted), algorithm="BFGS")
    seconds = time.perf_counter() - started
    return seconds, float(np.abs(model.expectations() - wanted).max())


def mbi(pairs):
    """Mirror descent in double precision, stopped where it no longer gains."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import numpy as np
    from mbi import Domain, LinearMeasurement, estimation

    n = len(pairs)
    names = [f"v{k:02}" for k in range(n)]
    domain = Domain(names, [2] * n)
    given, measured = {}, []
    for i, j in combinations(range(n), 2):
        p, q, both = pairs[i][i], pairs[j][j], pairs[i][j]
        table = np.array([1 - p - q + both, q - both, p - both, both])
        given[names[i], names[j]] = table
        measured.append(LinearMeasurement(table, (names[i], names[j])))
    started = time.perf_counter()
    model = estimation.LBFGS().estimate(domain, measured, known_total=1.0, iters=1000)
    seconds = time.perf_counter() - started
    gap = max(
        float(np.abs(np.asarray(model.project(pair).datavector()) - table).max())
        for pair, table in given.items()
    )
    return seconds, gap


if __name__ == "__main__":
    peer = {"scipy-maxentropy": scipy_maxentropy, "mbi": mbi}[sys.argv[1]]
    try:
        seconds, gap = peer(json.load(sys.stdin))
        print(json.dumps({"seconds": seconds, "gap": gap}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}))
