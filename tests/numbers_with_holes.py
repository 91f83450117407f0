"""Rows with holes from networks with numbers, and E-steps that go through everything."""

from __future__ import annotations

import itertools
import math

import numpy as np

from gml.data.dataset import Dataset
from gml.model.em.number_families import Parameters, Regressions, Statistics


def with_holes(rng, data, share):
    """The dataset with cells missing completely at random."""
    columns = []
    for column in data.columns:
        holes = rng.random(len(column)) < share
        gone = np.nan if column.dtype.kind == "f" else np.iinfo(column.dtype).max
        columns.append(np.where(holes, gone, column).astype(column.dtype))
    return Dataset(data.variables, tuple(columns))


def drawn_parameters(rng, families):
    """Any parameters: errors of moderate size, and probabilities away from 0."""
    regressions = tuple(
        Regressions(
            rng.normal(size=(f.n_configs, f.n_terms)), rng.normal(size=f.n_configs, scale=0.3)
        )
        for f in families.numbers
    )
    tables = tuple(
        rng.dirichlet(np.full(f.n_levels, 3.0), size=f.n_configs) for f in families.labels
    )
    return Parameters(regressions, tables)


def _moments(families, at, codes):
    """Mean and covariance of all numbers, given all labels."""
    d = len(families.numbers)
    mean, covariance = np.zeros(d), np.zeros((d, d))
    done = []
    while len(done) < d:
        for f in families.numbers:
            if f.child in done or not set(f.numbers) <= set(done):
                continue
            config = 0
            for k, size in zip(f.labels, f.sizes, strict=True):
                config = config * size + codes[k]
            terms, log_sd = (part[config] for part in at.regressions[f.child])
            slopes = np.zeros(d)
            slopes[list(f.numbers)] = terms[1:]
            mean[f.child] = terms[0] + slopes @ mean
            across = covariance @ slopes
            covariance[f.child], covariance[:, f.child] = across, across
            covariance[f.child, f.child] = slopes @ across + math.exp(2 * log_sd)
            done.append(f.child)
    return mean, covariance


def enumerated(families, rows, at):
    """Expected sums of all rows, by going through the labels and inverting covariances."""
    total = Statistics.zeros(families)
    sizes = [f.n_levels for f in families.labels]
    for z, seen, codes, weight in zip(rows.z, rows.seen, rows.codes, rows.weights, strict=True):
        ways = [
            range(size) if code < 0 else [code] for code, size in zip(codes, sizes, strict=True)
        ]
        found = []
        for labels in itertools.product(*ways):
            log_p = 0.0
            for f, table in zip(families.labels, at.tables, strict=True):
                config = 0
                for k, size in zip(f.labels, f.sizes, strict=True):
                    config = config * size + labels[k]
                log_p += math.log(table[config, labels[f.child]])
            mean, covariance = _moments(families, at, labels)
            o, m = np.flatnonzero(seen), np.flatnonzero(~seen)
            x, left = mean.copy(), np.zeros_like(covariance)
            x[o] = z[o]
            inside = np.linalg.inv(covariance[np.ix_(o, o)]) if len(o) else np.zeros((0, 0))
            away = z[o] - mean[o]
            log_p -= 0.5 * (len(o) * math.log(2 * math.pi) + away @ inside @ away)
            log_p -= 0.5 * np.linalg.slogdet(covariance[np.ix_(o, o)])[1] if len(o) else 0.0
            gain = covariance[np.ix_(m, o)] @ inside
            x[m] = mean[m] + gain @ away
            left[np.ix_(m, m)] = covariance[np.ix_(m, m)] - gain @ covariance[np.ix_(o, m)]
            found.append((log_p, labels, x, left))
        largest = max(one[0] for one in found)
        sums = math.fsum(math.exp(one[0] - largest) for one in found)
        total.log_likelihood += weight * (largest + math.log(sums))
        for log_p, labels, x, left in found:
            share = weight * math.exp(log_p - largest) / sums
            for f, counts in zip(families.labels, total.counts, strict=True):
                config = 0
                for k, size in zip(f.labels, f.sizes, strict=True):
                    config = config * size + labels[k]
                counts[config, labels[f.child]] += share
            for f, products in zip(families.numbers, total.products, strict=True):
                config = 0
                for k, size in zip(f.labels, f.sizes, strict=True):
                    config = config * size + labels[k]
                u = np.concatenate([[1.0], x[f.members]])
                products[config] += share * np.outer(u, u)
                products[config][1:, 1:] += share * left[np.ix_(f.members, f.members)]
    return total
