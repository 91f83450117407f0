"""The kinds of conditional models: p(y | x) of columns of a row, or of the rows of sequences."""

from __future__ import annotations

from gml.model.conditional.field import ConditionalField
from gml.model.sequences.chain_field import ChainField

Conditional = ConditionalField | ChainField
"""A model of targets given inputs, which is no joint distribution."""
