"""Names of the features of a chain field, and the strongest of them, for reports.

Adding a number to all weights of an attribute changes no probability, so that a weight alone says
little. What is compared is the weight less the mean over all labels (those without a feature have
the weight 0), and for transitions less the means of its first and its second label: sums to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gml.model.sequences.attributes import Attributes
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.feature_table import FeatureTable, Numbers


class Feature(NamedTuple):
    """An attribute and a label, or two labels in a row, with the weight and that less the means."""

    first: str
    label: str
    weight: float
    strength: float
    is_transition: bool


def feature_names(
    attributes: Attributes, table: FeatureTable, labels: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the attribute and the label of each feature, then the labels of each transition."""
    names = list(attributes.names())
    for number in table.states.tolist():
        yield names[number // table.n_labels], labels[number % table.n_labels]
    for number in table.transitions.tolist():
        yield labels[number // table.n_labels], labels[number % table.n_labels]


def strongest(field: ChainField, most: int = 20) -> list[Feature]:
    """Return the features that say most, the strongest first; equal ones by their names."""
    strengths = centred(field.features, field.weights)
    n_states = len(field.features.states)
    if most < len(strengths):
        least = -np.partition(-np.abs(strengths), most - 1)[most - 1] if most else np.inf
        chosen = np.abs(strengths) >= least
    else:
        chosen = np.ones(len(strengths), dtype=np.bool_)
    names = feature_names(field.attributes, field.features.some(chosen), field.labels)
    found = [
        Feature(first, label, float(field.weights[k]), float(strengths[k]), k >= n_states)
        for k, (first, label) in zip(np.flatnonzero(chosen).tolist(), names, strict=True)
    ]
    return sorted(found, key=lambda feature: (-abs(feature.strength), *feature[:2]))[:most]


def centred(table: FeatureTable, weights: Numbers) -> Numbers:
    """Return weights of features less the means over all labels.

    Examples
    --------
    >>> table = FeatureTable(2, 1, np.array([0, 1]), np.array([0, 1, 2, 3]))
    >>> centred(table, np.array([3.0, 1.0, 2.0, 0.0, 0.0, 0.0])).tolist()
    [1.0, -1.0, 0.5, -0.5, -0.5, 0.5]
    """
    states, pairs = np.split(weights, [len(table.states)])
    attributes = table.state_attributes
    sums = np.bincount(attributes, weights=states, minlength=table.n_attributes)
    matrix = table.transition_matrix(pairs)
    matrix = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
    of_pairs = matrix.reshape(-1)[table.transitions]
    return np.concatenate([states - sums[attributes] / table.n_labels, of_pairs])
