"""The options that scores take, for the entries of the registry and the command line."""

from __future__ import annotations

from gml.parameters import Option, prior_rows

PRIOR_COUNT = prior_rows("prior_count", "Prior rows per cell")
OF_KERNEL = (
    Option(
        "landmarks",
        "whole",
        100,
        "Most landmarks of a kernel, the rank to which it is approximated",
        least=1,
        metavar="M",
    ),
    Option(
        "regulariser",
        "real",
        0.001,
        "Ridge of the kernel regressions and variance of their noise",
        least=1e-12,
    ),
    Option("kernel_folds", "whole", 10, "Folds of the cross-validation", least=2, metavar="K"),
)
RIDGE = Option(
    "ridge",
    "real",
    0.0,
    "Share of its variance that is added to each column as noise; 0: refuse collinear numbers",
    least=0.0,
    metavar="SHARE",
)
PENALTY = Option(
    "penalty",
    "real",
    1.0,
    "Factor of the price of a parameter (Tetrad's penalty discount)",
    least=0.0,
    metavar="C",
)

EDGE_PENALTY = Option(
    "edge_penalty",
    "real",
    0.0,
    "Structure prior: nats that each edge costs; 0: all graphs alike",
)
