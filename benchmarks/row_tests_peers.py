"""The peers' side of benchmarks/row_tests.py; it runs in an environment that has them.

    python row_tests_peers.py TOOL WHAT KIND ROWS GIVEN FIRST LAST     p-values, one per line
    python row_tests_peers.py time TOOL ROWS GIVEN                     CPU seconds of one test

Tools: causal-learn's KCI with its defaults (labels as numbers), hyppo's HSIC and distance
correlation by its fast χ² test, with its own bandwidths.
"""

from __future__ import annotations

import sys
import time

from row_tests_data import draw


def p_value(tool: str, x, y, z) -> float:
    x, y = x.reshape(-1, 1), y.reshape(-1, 1)
    if tool == "causal-learn":
        from causallearn.utils.KCI.KCI import KCI_CInd, KCI_UInd

        if z.shape[1]:
            return float(KCI_CInd().compute_pvalue(x, y, z)[0])
        return float(KCI_UInd().compute_pvalue(x, y)[0])
    from hyppo.independence import Dcorr, Hsic

    test = {"hyppo-hsic": Hsic, "hyppo-dcor": Dcorr}[tool]()
    return float(test.test(x, y, auto=True)[1])


def main(arguments: list[str]) -> None:
    if arguments[0] == "time":
        tool, n, size = arguments[1], int(arguments[2]), int(arguments[3])
        x, y, z, _ = draw("null", "linear", n, size, 0)
        p_value(tool, x, y, z)
        start = time.process_time()
        p_value(tool, x, y, z)
        print(time.process_time() - start)
        return
    tool, what, kind = arguments[:3]
    n, size, first, last = map(int, arguments[3:])
    for seed in range(first, last):
        x, y, z, _ = draw(what, kind, n, size, seed)
        print(p_value(tool, x, y, z), flush=True)


main(sys.argv[1:])
