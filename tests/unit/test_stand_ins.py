"""Names and levels that a format cannot hold: stand-ins, and the way back."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gml
from gml.data.dataset import Variable
from gml.errors import GmlWarning, GraphError, UsageError
from gml.formats.models import MODEL_WRITERS, parse_model
from gml.model.bayesnet import CPT, BayesNet
from tests.model_files import assert_same, random_network

FORMATS = ["bif", "net", "xmlbif"]
NAMES = [
    *("a b", "a_b", "a-b", "A B", "A_B", "é", "e", "日本", "net", "node", "table", "table5", "", " "),
    *('"', "\\", "a,b", "two\nlines", "//", "/*", "*/", "-->", "--", "{", "}", ";", "(", "5", "5e"),
    *("gml:original", '// gml:original {"as": "x"}', "x", "x_2", "_", "variable", "\0", "x" * 300),
]  # fmt: skip
LEVELS = [
    *("[-inf,0)", "[0,10)", "[10,inf)", "[-1.5,1e-07)", "from_0_to_10", "_from_0_to_10", "<5", ">5"),
    *(">=5", "65+", "0.5", "-0.5", "1,5", "a b", "a_b", "é", "e", "'", '"', "%", "default", "NA", ""),
]  # fmt: skip


COMMENT = "(//|%|<!--) gml:original "


def sanitized(net, format):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        return MODEL_WRITERS[format](net, sanitize=True)


def declared(text, where):
    """What a reader sees that knows nothing of the comments."""
    return parse_model(re.sub(f"^{COMMENT}.*\n", "", text, flags=re.MULTILINE), where)


TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.one_of(st.sampled_from(NAMES), TEXT), min_size=1, max_size=6, unique=True),
    st.lists(st.one_of(st.sampled_from(LEVELS), TEXT), min_size=2, max_size=5, unique=True),
)
def test_original_names_and_levels_come_back(format, seed, names, labels):
    net = random_network(np.random.default_rng(seed), names, labels)
    text = sanitized(net, format)
    assert_same(parse_model(text, "t"), net)
    # What others read are names that the format holds as they are, in the same tables.
    seen = declared(text, "t")
    assert_same(declared(MODEL_WRITERS[format](seen), "t"), seen)
    assert len(set(map(str.lower, seen.names))) == len(names) or format != "bif"
    for one, other in zip(seen.cpds, net.cpds, strict=True):
        assert (one.table == other.table).all()


@pytest.mark.parametrize("format", FORMATS)
def test_everything_at_once_is_the_same_again(format):
    net = random_network(np.random.default_rng(3), NAMES, LEVELS)
    text = sanitized(net, format)
    assert sanitized(net, format) == text
    assert_same(parse_model(text, "t"), net)
    assert sanitized(parse_model(text, "t"), format) == text
    comments = [line for line in text.splitlines() if re.match(COMMENT, line)]
    assert comments and all(map(str.isascii, comments))


def test_what_can_be_held_stays():
    half = np.array([[0.5, 0.5]])
    intervals = Variable("age band", ("[0,10)", "from_0_to_10"))
    net = BayesNet((CPT(intervals, (), half), CPT(Variable("age_band", ("no", "yes")), (), half)))
    with pytest.warns(GmlWarning, match="1 name and 1 level replaced by others that BIF can hold"):
        text = MODEL_WRITERS["bif"](net, sanitize=True)
    assert text.startswith(
        '// gml:original {"as": "_age_band", "name": "age band", '
        '"levels": {"_from_0_to_10": "[0,10)"}}\nnetwork unknown {\n}\n'
        "variable _age_band {\n  type discrete [ 2 ] { _from_0_to_10, from_0_to_10 };\n}\n"
        "variable age_band {\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = declared(text, "t")
        assert MODEL_WRITERS["bif"](seen, sanitize=True) == MODEL_WRITERS["bif"](seen)


@pytest.mark.parametrize("format", ["bif", "net"])
@pytest.mark.parametrize(
    ("name", "level", "instead"),
    [
        ("a b", "no", "XMLBIF and JSON can, and gml convert with `sanitize`"),
        ("a", "[0,10)", "XMLBIF and JSON can, and gml convert with `sanitize`"),
        ("a", "two\nlines", "; JSON can, and gml convert with `sanitize`"),
    ],
)
def test_the_refusal_names_the_ways_out(format, name, level, instead):
    net = BayesNet((CPT(Variable(name, (level, "yes")), (), np.array([[0.5, 0.5]])),))
    with pytest.raises(GraphError) as caught:
        MODEL_WRITERS[format](net)
    assert instead in str(caught.value)


def test_names_that_differ_in_case():
    half = np.array([[0.5, 0.5]])
    net = BayesNet(tuple(CPT(Variable(name, ("no", "yes")), (), half) for name in ("Age", "age")))
    with pytest.raises(GraphError, match="for one name; XMLBIF and JSON do not, and gml convert"):
        MODEL_WRITERS["bif"](net)
    text = sanitized(net, "bif")
    assert declared(text, "t").names == ("Age", "_age")
    assert parse_model(text, "t").names == ("Age", "age")


HEAD = '// gml:original {"as": "a", "name": "a b", "levels": {"no": "0"}}\n'
BODY = (
    "network unknown {\n}\nvariable a {\n  type discrete [ 2 ] { no, yes };\n}\n"
    "probability ( a ) {\n  table 0.5, 0.5;\n}\n"
)


def test_a_file_that_was_edited():
    assert parse_model(HEAD + BODY, "t").graph.levels == {"a b": ("0", "yes")}
    # What is no longer there needs no name.
    assert parse_model(HEAD.replace('"a"', '"z"') + BODY, "t").names == ("a",)
    for bad in ("{", "[]", '{"as": "a"}', '{"as": "a", "name": 1, "levels": {}}'):
        with pytest.raises(GraphError, match="t: line 2: not what gml convert wrote here"):
            parse_model(f"// x\n// gml:original {bad}\n{BODY}", "t")
    with pytest.raises(GraphError, match="its comments lead twice to the level of 'a b' '0'"):
        parse_model(HEAD.replace('"no": "0"', '"no": "0", "yes": "0"') + BODY, "t")


def test_other_formats_hold_all_names():
    with pytest.raises(UsageError, match="`sanitize` is for BIF, XMLBIF and NET, not for json"):
        gml.convert("sample_data/cancer.dot", "json", sanitize=True)
