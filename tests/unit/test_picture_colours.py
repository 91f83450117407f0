"""Contrast, and colours that stay apart for eyes that lack a sort of cones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gml.pictures.differences import STATES, stroke_of
from gml.pictures.themes import DARK, LIGHT, THEMES

# Machado, Oliveira & Fernandes (2009), IEEE TVCG 15:1291, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])

each_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))


def linear(colour):
    values = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast ratio of WCAG 2.1."""
    dark, light = sorted(float(linear(colour) @ TO_XYZ[1]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def seen(colour, matrix):
    """A colour in CIELAB, as it is seen."""
    xyz = TO_XYZ @ np.clip(matrix @ linear(colour), 0, 1) / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def grounds(theme):
    return theme.background, theme.node, theme.band


@each_theme
def test_text_is_read(theme):
    for colour, ground in itertools.product((theme.ink, theme.muted), grounds(theme)):
        assert contrast(colour, ground) >= 4.5, (colour, ground)


@each_theme
def test_lines_and_bars_are_seen(theme):
    drawn = [theme.line, theme.bar, theme.evidence]
    drawn += [stroke_of(state, theme).colour for state in STATES]
    drawn += [theme.line_shade(k / 20) for k in range(21)]
    drawn += [theme.signed_line_shade(k / 20 - 1) for k in range(41)]
    for colour, ground in itertools.product(drawn, grounds(theme)):
        assert contrast(colour, ground) >= 3, (colour, ground)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_colours_that_mean_something_differ_for_all_eyes(theme, vision):
    """Colours 10 apart are told apart side by side; 20 also from memory of a legend."""
    means = {
        "added": theme.added,
        "missing": theme.missing,
        "reversed": theme.reversed,
        "remarked": theme.remarked,
        "evidence": theme.evidence,
    }
    places = {name: seen(colour, VISION[vision]) for name, colour in means.items()}
    for one, other in itertools.combinations(means, 2):
        assert np.linalg.norm(places[one] - places[other]) >= 20, (one, other)
    assert np.linalg.norm(places["evidence"] - seen(theme.bar, VISION[vision])) >= 40


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_signs_of_numbers_differ_for_all_eyes(theme, vision):
    for share in (0.5, 1.0):
        ends = [seen(theme.signed_line_shade(side * share), VISION[vision]) for side in (-1, 1)]
        assert np.linalg.norm(ends[0] - ends[1]) >= 40


@each_theme
def test_differences_need_no_colour(theme):
    strokes = [stroke_of(state, theme) for state in STATES]
    dashes = {stroke.dash for stroke in strokes}
    assert len(dashes) == len(STATES) - 1
    plain = [stroke.width for stroke in strokes if stroke.dash is None]
    assert max(plain) > 2 * min(plain)


@each_theme
def test_more_is_never_less_contrast(theme):
    """Strong edges stand out, whatever the background."""
    shades = [contrast(theme.line_shade(k / 10), theme.background) for k in range(11)]
    assert shades == sorted(shades)
