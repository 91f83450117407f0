"""The density of largest entropy with given moments: closed forms, and where there is none."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import gml
from gml.errors import CannotAnswer, DataError, GraphError, UsageError
from gml.formats.density import DENSITY_WRITERS, draws_csv
from gml.model.entropy.constraints import NumericMoments
from gml.model.entropy.density_fit import fit_density
from gml.progress import Deadline
from gml.verbs.maxent import draw_density

SHARES = [0.001, 0.05, 0.5, 0.9, 0.9999]


def density(support=(None, None), **given):
    return gml.maxent({"numeric": {"name": "x", "support": list(support), **given}})


def require_same(found, law):
    """Hold a density against one of scipy: entropy, quantiles, density, cumulative."""
    assert found.entropy == pytest.approx(float(law.entropy()), abs=1e-9)
    wanted = law.ppf(SHARES)
    assert found.quantile(SHARES) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert found.cumulative(wanted) == pytest.approx(np.array(SHARES), abs=1e-9)
    assert found.density(wanted) == pytest.approx(law.pdf(wanted), rel=1e-9)
    assert found.mean == pytest.approx(float(law.mean()), rel=1e-9, abs=1e-9)
    assert found.variance == pytest.approx(float(law.var()), rel=1e-9)
    assert found.residual <= 1e-12


def test_uniform():
    require_same(density((2, 5)), stats.uniform(2, 3))


def test_exponential():
    found = density((0, None), mean=2)
    require_same(found, stats.expon(scale=2))
    assert found.multipliers[1] == pytest.approx(-0.5, abs=1e-12)
    require_same(density((7, None), mean=7.25), stats.expon(7, 0.25))


def test_exponential_downwards():
    found = density((None, 3), mean=1)
    assert found.multipliers[1] == pytest.approx(0.5, abs=1e-12)
    assert found.quantile([0.5])[0] == pytest.approx(3 - 2 * math.log(2), abs=1e-12)
    assert found.quantile([0, 1]).tolist() == [-math.inf, 3]


@pytest.mark.parametrize(("mean", "variance"), [(1, 4), (-3, 1e-4), (1e6, 1)])
def test_normal(mean, variance):
    found = density(mean=mean, variance=variance)
    require_same(found, stats.norm(mean, math.sqrt(variance)))
    assert found.multipliers[2] == pytest.approx(-0.5 / variance, rel=1e-9)


@pytest.mark.parametrize("rate", [3.0, 0.01, 50.0, -5.0])
def test_truncated_exponential(rate):
    mean = 1 / rate - 1 / math.expm1(rate)
    found = density((0, 1), mean=mean)
    assert found.multipliers[1] == pytest.approx(-rate, rel=1e-9)
    assert found.cumulative([0.3])[0] == pytest.approx(
        math.expm1(-rate * 0.3) / math.expm1(-rate), abs=1e-12
    )


@pytest.mark.parametrize(("centre", "sd"), [(0.3, 0.2), (0.5, 0.02), (2.0, 0.5), (-1.0, 0.7)])
def test_truncated_normal(centre, sd):
    law = stats.truncnorm((0 - centre) / sd, (1 - centre) / sd, centre, sd)
    found = density((0, 1), mean=float(law.mean()), variance=float(law.var()))
    require_same(found, law)
    assert found.multipliers[2] == pytest.approx(-0.5 / sd**2, rel=1e-9)
    assert found.multipliers[1] == pytest.approx(centre / sd**2, rel=1e-9)


@pytest.mark.parametrize("short", [5e-5, 1e-5, 1e-7])
def test_mass_in_thin_layers_at_both_ends(short):
    """The density is exp(−rate · x(1 − x)): from series in 1 / rate, with E x(1 − x) = short."""
    found = density((0, 1), mean=0.5, variance=0.25 - short)
    rate = 1 / short + 2 + 16 * short
    assert found.multipliers == pytest.approx({1: -rate, 2: rate}, rel=3e-9)
    entropy = math.log(2 * short) + 1 + 2 * short + 8 * short**2
    assert found.entropy == pytest.approx(entropy, abs=2e-9)
    assert found.variance == pytest.approx(0.25 - short, rel=1e-12)
    assert found.cumulative([0.25, 0.75]) == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize(
    ("support", "mean", "variance"),
    [((0, 100), 30, 1e-6), ((0, None), 1, 1e-9), ((None, 0), -1, 1e-9), ((-1e6, 1e6), 0.5, 1e-4)],
)
def test_narrow_on_a_wide_support(support, mean, variance):
    """The ends are too far away to count: it is normal."""
    found = density(support, mean=mean, variance=variance)
    require_same(found, stats.norm(mean, math.sqrt(variance)))
    assert found.multipliers[2] == pytest.approx(-0.5 / variance, rel=1e-9)


def test_normal_on_the_half_line():
    law = stats.truncnorm(-1.0, 40.0, 1.0, 1.0)
    require_same(density((0, None), mean=float(law.mean()), variance=float(law.var())), law)


def test_gamma_like_moments_at_the_limit_are_exponential():
    """A variance of mean² is that of the exponential, whose second multiplier is 0."""
    found = density((0, None), mean=2, variance=4)
    require_same(found, stats.expon(scale=2))
    assert found.multipliers[2] == 0


def test_four_moments():
    """Those of exp(−x⁴/4), as Gamma functions have them."""
    second, fourth = (2 ** (k / 2) * math.gamma((k + 1) / 4) / math.gamma(1 / 4) for k in (2, 4))
    found = density(mean=0, moments={"2": second, "3": 0, "4": fourth})
    wanted = {1: 0, 2: 0, 3: 0, 4: -0.25}
    assert found.multipliers == pytest.approx(wanted, abs=1e-9)
    alone = density(moments={"4": fourth})
    assert alone.multipliers[4] == pytest.approx(-0.25, abs=1e-10)
    assert alone.entropy == pytest.approx(found.entropy, abs=1e-10)


@pytest.mark.parametrize(
    ("support", "multipliers"),
    [
        ((0, None), {1: -4, 2: 1.2, 3: -0.11}),
        ((None, 0), {1: 4, 2: 1.2, 3: 0.11}),
        ((None, None), {2: -4, 4: 1, 6: -0.065}),
        ((None, None), {1: 0.3, 2: 1.5, 3: -0.1, 4: -0.25}),
        ((1, 3), {2: 2, 5: -0.03}),
    ],
)
def test_multipliers_come_back(support, multipliers):
    """Of moments by sums over a fine grid; some of the lower ones alone have no maximum."""
    low = -30 if support[0] is None else support[0]
    high = 30 if support[1] is None else support[1]
    x, step = np.linspace(low, high, 400_001, retstep=True)
    heights = np.exp(sum(value * x**k for k, value in multipliers.items()))
    # Simpson's rule.
    weights = np.where(np.arange(len(x)) % 2, 4.0, 2.0) * heights
    weights[[0, -1]] /= 2
    total = weights.sum()
    moments = {str(k): float(weights @ x**k) / total for k in multipliers}
    found = density(support, moments=moments)
    assert found.multipliers == pytest.approx(multipliers, rel=1e-8)
    assert found.log_normaliser == pytest.approx(math.log(total * step / 3), abs=1e-9)


@pytest.mark.parametrize(
    "moments",
    [
        {1: 0, 2: 1, 3: -0.159635, 4: 3.067879},
        {1: 0.29346190711131115, 2: 1.0630702168788693, 3: 0.8587619319040677, 4: 3.4471076015003},
    ],
)
def test_skewed_moments_beyond_the_normal(moments):
    """The fourth moment is above that of the normal density; the third makes a maximum of it."""
    found = density(moments={str(k): value for k, value in moments.items()})
    for power, value in moments.items():
        assert found.expectation(power) == pytest.approx(value, abs=1e-10)
    assert found.multipliers[4] < 0


def test_time_is_bounded():
    given = NumericMoments("x", (0.0, 1.0), {1: 0.3})
    with pytest.raises(CannotAnswer, match="`max_seconds` passed with a residual of"):
        fit_density(given, deadline=Deadline(0))
    assert fit_density(given, deadline=Deadline(60)).mean == pytest.approx(0.3, abs=1e-12)


def test_moments_with_gaps():
    found = density((0, 2), moments={"3": 1, "5": 2})
    assert list(found.multipliers) == [3, 5]
    for power, value in ((3, 1), (5, 2)):
        assert found.expectation(power) == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"support": (0, None), "mean": 1, "variance": 1.5},
            "E x^2 = 2.5 is more than the 2 of the one without this moment",
        ),
        ({"support": (0, None)}, "it grows without bound; give a mean"),
        ({"mean": 3}, "on the whole line it grows without bound; give a variance"),
        (
            {"mean": 0, "variance": 1, "moments": {"3": 0.5}},
            "the highest moment on the whole line, E x^3, is odd",
        ),
        (
            {"mean": 0, "variance": 1, "moments": {"3": 0, "4": 3.5}},
            "E x^4 = 3.5 is more than the 3 of the one",
        ),
        ({"support": (0, 1), "mean": 1}, "only a distribution on a few points on [0, 1]"),
        ({"support": (0, None), "mean": 1, "variance": 0}, "only a distribution on a few points"),
        ({"support": (0, 1), "mean": 0.5, "variance": 0.25}, "only a distribution on a few points"),
        ({"support": (0, 1), "moments": {"2": 1}}, "next to those of a few points"),
        ({"support": (None, 0), "mean": 0}, "only a distribution on a few points on [-inf, 0]"),
        (
            {"support": (None, 0), "moments": {"1": -1, "2": 2, "3": -7}},
            "E x^3 = -7 is less than the -6 of the one without this moment, and mass far out "
            "lowers it",
        ),
        (
            {"support": (1e6, None), "mean": 1e6 + 1, "variance": 1.5},
            "E x^2 = 1.5 about 1e+06 is more than the 1 of the one",
        ),
    ],
)  # fmt: skip
def test_where_there_is_no_maximum(given, message):
    with pytest.raises(CannotAnswer) as raised:
        density(**given)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"support": (0, 1), "mean": 2}, "[0, 1] has the mean 2: a mean lies within the support"),
        ({"support": (0, 1), "mean": 0.5, "variance": 0.3},
         "[0, 1] has the mean 0.5 and the variance 0.3: with this mean the variance is below 0.25"),
        ({"support": (0, 1), "mean": 0.5, "moments": {"2": 0.6}},
         "the mean 0.5 and E x^2 = 0.6: with this mean E x^2 is below 0.5"),
        ({"support": (0, 1), "mean": 0.5, "variance": 0.3, "moments": {"3": 0.2}},
         "[0, 1] has the mean 0.5 and the variance 0.3: with"),
        ({"support": (0, 1), "mean": 0.5, "variance": 0.25, "moments": {"3": 0.7}},
         "[0, 1] has the mean 0.5, the variance 0.25 and E x^3 = 0.7"),
        ({"support": (0, None), "mean": -1}, "no distribution on [0, inf] has the mean -1"),
        ({"mean": 2, "moments": {"2": 3}}, "E x^2 is above the square of the mean, 4"),
        ({"mean": 0, "variance": 1, "moments": {"3": 2, "4": 3}}, "E x^3 = 2 and E x^4 = 3"),
        ({"moments": {"2": -1}}, "E x^2 of a density is positive, not -1"),
        ({"support": (None, -1), "mean": 2}, "no distribution on [-inf, -1] has the mean 2"),
        ({"support": (0, 1), "moments": {"2": 1.2}}, "no distribution on [0, 1] has E x^2 = 1.2"),
        ({"support": (0, 1), "moments": {"2": 0.5, "3": 0.6}}, "E x^2 = 0.5 and E x^3 = 0.6"),
        ({"support": (0, None), "moments": {"1": 1, "3": 0.9}}, "no distribution on [0, inf]"),
        ({"support": (None, 0), "moments": {"1": -1, "3": -0.9}}, "no distribution on [-inf, 0]"),
        ({"moments": {"1": 1.2, "4": 1}}, "no distribution on [-inf, inf]"),
    ],
)  # fmt: skip
def test_moments_that_no_distribution_has(given, message):
    with pytest.raises(DataError) as raised:
        density(**given)
    assert message in str(raised.value)


def test_draws_follow_the_density():
    found = density((0, None), mean=2, variance=1.5)
    drawn = found.sample(20_000, seed=5)
    assert stats.kstest(drawn, found.cumulative).pvalue > 0.01
    assert found.sample(100, seed=5).tolist() == drawn[:100].tolist()
    assert found.sample(0).size == 0
    with pytest.raises(UsageError, match="must be between 0 and 1, not 1.5"):
        found.quantile([0.5, 1.5])


def test_json_says_it_all(tmp_path):
    found = density((0, None), mean=2, variance=1.5)
    content = json.loads(DENSITY_WRITERS["json"](found, [0.5, 1]))
    assert (content["schema"], content["kind"], content["support"]) == (
        "gml/1",
        "density",
        [0, None],
    )
    assert content["moments"]["2"]["given"] == 5.5
    assert content["quantiles"][1] == {"share": 1, "value": None}
    assert content["learning"]["command"] == "maxent"
    x = np.array(content["table"]["x"])
    logs = sum(value * x ** int(k) for k, value in content["multipliers"].items())
    wanted = np.exp(logs - content["log_normaliser"])
    assert content["table"]["density"] == pytest.approx(wanted.tolist(), rel=1e-9)
    (tmp_path / "wait.json").write_text(DENSITY_WRITERS["json"](found))
    with pytest.raises(GraphError, match="the density of a numeric variable"):
        gml.read_model(tmp_path / "wait.json")


def test_csv_and_draws():
    found = density((0, 1))
    table = DENSITY_WRITERS["csv"](found).splitlines()
    assert table[:2] == ["x,density,cumulative", "0.0,1.0,0.0"]
    assert len(table) == 202
    assert DENSITY_WRITERS["csv"](found, [0.25]).splitlines() == ["share,x", "0.25,0.25"]
    lines = b"".join(draws_csv(found, 3, seed=1)).decode().splitlines()
    assert lines[0] == "x"
    assert [float(line) for line in lines[1:]] == found.sample(3, seed=1).tolist()


def test_picture():
    picture = draw_density(density((0, None), mean=2), [0.5])
    assert picture.title == "Density of x"
    assert "quantile 0.5 1.38629" in picture.svg


@pytest.mark.parametrize(
    "given",
    [
        {"mean": 1e200, "variance": 1},
        {"mean": 0, "variance": 1e-60},
        {"support": (0, 1e300), "mean": 1},
        {"support": (0, 1e-300), "mean": 5e-301},
        {"moments": {"12": 1e300}},
    ],
)
def test_numbers_whose_powers_are_beyond_doubles(given):
    with pytest.raises(CannotAnswer, match="beyond doubles; choose another unit"):
        density(**given)


# ---------------------------------------------------------------------- odd moments on the line


@pytest.mark.parametrize(
    ("given", "multipliers"),
    [
        ({"mean": 0, "variance": 1, "moments": {"3": 0}}, [0, -1 / 2, 0]),
        ({"mean": 2, "variance": 3, "moments": {"3": 26}}, [2 / 3, -1 / 6, 0]),
        ({"moments": {"1": 0, "2": 1, "4": 3, "5": 0}}, [0, -1 / 2, 0, 0]),
        ({"moments": {"2": 1, "3": 0, "5": 0}}, [-1 / 2, 0, 0]),
    ],
)
def test_an_odd_highest_moment_that_the_others_imply_costs_nothing(given, multipliers):
    found = gml.maxent({"numeric": {"name": "x", **given}})
    assert [*found.multipliers.values()] == pytest.approx(multipliers, abs=1e-9)
    assert list(found.multipliers.values())[-1] == 0
    assert found.residual <= 1e-9


# ---------------------------------------------------------------------- next to an end


@pytest.mark.parametrize("distance", [1e-4, 1e-8, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_mean_next_to_an_end_is_that_of_an_exponential_density(distance, low):
    mean = distance if low == 0 else -distance
    found = gml.maxent({"numeric": {"name": "x", "support": [low, low + 1], "mean": mean}})
    assert found.entropy == pytest.approx(1 + math.log(distance), abs=1e-12)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert abs(found.quantile(0.5)[0]) == pytest.approx(distance * math.log(2), rel=1e-9)


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_second_moment_alone_that_is_small_on_an_interval(low):
    found = gml.maxent({"numeric": {"name": "x", "support": [low, 1], "moments": {"2": 1e-18}}})
    normal = 0.5 * math.log(2 * math.pi * math.e * 1e-18)
    assert found.entropy == pytest.approx(normal - (math.log(2) if low == 0 else 0), abs=1e-12)


def test_a_density_shows_itself_in_one_line_and_as_a_frame():
    found = density((0, None), mean=2)
    assert repr(found) == "Density('x' on [0, inf]: mean 2, variance 4, entropy 1.69315)"
    frame = found.to_frame()
    assert list(frame.columns) == ["x", "density", "cumulative"]
    assert frame["density"][0] == pytest.approx(0.5)


def test_gml_draw_takes_a_density():
    found = density((0, None), mean=2)
    assert gml.draw(found).title == "Density of x"
    assert gml.draw(found, theme="dark").background != gml.draw(found).background
    for wrong, told in (
        ({"kind": "matrix"}, "no matrix"),
        ({"evidence": {"x": 1}}, "no `evidence`"),
    ):
        with pytest.raises(UsageError, match=told):
            gml.draw(found, **wrong)


@pytest.mark.parametrize(
    ("name", "told"), [("quantiles", r"\.quantile\("), ("draws", r"\.sample\("), ("seed", "sample")]
)
def test_what_a_density_answers_is_no_parameter(name, told):
    with pytest.raises(UsageError, match=told):
        gml.maxent({"numeric": {"name": "x", "mean": 2}}, **{name: 3})


def test_parameters_that_are_for_the_command_line_are_not_offered():
    with pytest.raises(UsageError, match="did you mean 'threads'") as raised:
        gml.maxent({"numeric": {"name": "x", "mean": 2}}, thread=3)
    assert "asked" not in str(raised.value)
