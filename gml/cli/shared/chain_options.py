"""The options of the Markov chains over orders."""

from __future__ import annotations

import click

from gml.cli.shared.keyword_options import keyword_options
from gml.cli.shared.numbers import WholeRange

chain_options = keyword_options(
    click.option(
        "--candidates",
        type=WholeRange(min=1, max=63),
        metavar="K",
        help="Variables that may be parents of each; all of up to 17, else the 16 that tell most.",
    ),
    click.option(
        "--iterations",
        type=WholeRange(min=20),
        default=100_000,
        show_default=True,
        metavar="N",
        help="Steps of each chain of order-mcmc that count.",
    ),
    click.option(
        "--burn-in", type=WholeRange(min=0), metavar="N", help="Steps before; a fifth as many."
    ),
    click.option(
        "--thin",
        type=WholeRange(min=1),
        metavar="N",
        help="Steps from one sample to the next; a thousandth.",
    ),
    click.option(
        "--chains",
        type=WholeRange(min=4),
        default=4,
        show_default=True,
        metavar="N",
        help="Chains from orders of their own; R̂ says whether they agree.",
    ),
)
"""What order-mcmc does, injected in `keywords`."""
