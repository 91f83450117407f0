"""The report page in a real browser: what it computes, what it lets a reader do, what it refuses."""

from __future__ import annotations

import math
import re
import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import gml
from tests.page.conftest import EVIL
from tests.page.make_mixed import CASES
from tests.places import ROOT
from tests.scripts import script

TOLERANCE = 1e-6
# What sums of rounded numbers leave where nothing should be.
LEAST = 1e-12
SECTIONS = [
    *("graph", "interventions", "data", "information"),
    *("tests", "scores", "strengths", "check", "provenance"),
]

READ = """
const found = {};
for (const each of document.querySelectorAll('#posterior-panel [data-node]')) {
  const {node, level, probability, mean, sd} = each.dataset;
  if (probability !== undefined) found[JSON.stringify([node, level])] = Number(probability);
  if (mean !== undefined) found[JSON.stringify([node])] = [Number(mean), Number(sd)];
}
return Object.entries(found).map(([key, value]) => [JSON.parse(key), value]);
"""


def posteriors(browser):
    """What the page says of every level, or number: {(node, level): p} or {(node,): (mean, sd)}."""
    return {tuple(key): value for key, value in browser.execute_script(READ)}


def expected(net, evidence, do):
    """What `gml query` says of them, with the certainty of those that are known."""
    known = {**evidence, **do}
    wanted = [name for name in net.names if name not in known]
    answer = gml.query(net, wanted, evidence, do, each=len(wanted) > 1)
    found = {}
    for name, levels in ((variable.name, variable.levels) for variable in net.variables):
        if levels is None:
            answered = None if name in known else answer[name]
            moments = answered if net.is_gaussian else answered and (answered.mean, answered.sd)
            found[name,] = moments or (known[name], 0.0)
            continue
        for level in levels:
            found[name, level] = (
                float(level == known[name]) if name in known else answer[name][level]
            )
    return found


def far(found, wanted):
    """The places where two sets of posteriors differ; all must be there, and no others."""
    assert found.keys() == wanted.keys()
    return {
        key: (found[key], value) for key, value in wanted.items() if not _agree(found[key], value)
    }


def _agree(found, wanted):
    """Whether numbers are the same, small ones too."""
    if isinstance(wanted, tuple | list):
        return all(map(_agree, found, wanted))
    return math.isclose(found, wanted, rel_tol=TOLERANCE, abs_tol=LEAST)


def tell(browser, evidence, do):
    """Give a page evidence and interventions in place of what it has."""
    browser.execute_script(
        """
        gmlReport.clear();
        for (const [node, value] of arguments[0]) gmlReport.observe(node, value);
        for (const [node, value] of arguments[1]) gmlReport.intervene(node, value);
        """,
        list(evidence.items()),
        list(do.items()),
    )


def settles(browser, wanted, seconds=5):
    """Wait until the page says what is wanted; fail with what it says instead."""
    end = time.monotonic() + seconds
    while (wrong := far(posteriors(browser), wanted)) and time.monotonic() < end:
        time.sleep(0.02)
    assert wrong == {}


# ---------------------------------------------------------------------- posteriors


ASIA = [
    ({}, {}),
    ({"xray": "yes"}, {}),
    ({"dysp": "no", "smoke": "yes"}, {}),
    ({"xray": "yes", "dysp": "yes", "asia": "yes", "bronc": "no"}, {}),
    ({"either": "yes"}, {}),
    ({}, {"smoke": "yes"}),
    ({}, {"lung": "yes"}),
    ({"xray": "yes"}, {"smoke": "no"}),
    ({"dysp": "yes", "smoke": "no"}, {"either": "no", "bronc": "yes"}),
]


@pytest.mark.parametrize("evidence,do", ASIA)
def test_posteriors_are_those_of_query(browser, asia, evidence, do):
    browser.get(asia.path.as_uri())
    tell(browser, evidence, do)
    settles(browser, expected(asia.net, evidence, do))


def test_every_single_observation_and_intervention_of_alarm(browser, alarm):
    browser.get(alarm.path.as_uri())
    settles(browser, expected(alarm.net, {}, {}))
    for variable in alarm.net.variables:
        for level in variable.levels:
            for evidence, do in (({variable.name: level}, {}), ({}, {variable.name: level})):
                tell(browser, evidence, do)
                settles(browser, expected(alarm.net, evidence, do))


@pytest.mark.parametrize("evidence", [evidence for evidence, do in ASIA if not do])
def test_undirected_models(browser, undirected, evidence):
    browser.get(undirected.path.as_uri())
    tell(browser, evidence, {})
    settles(browser, expected(undirected.net, evidence, {}))


def test_nothing_of_an_undirected_model_can_be_set(browser, undirected):
    browser.get(undirected.path.as_uri())
    assert browser.find_elements(By.ID, "interventions") == []
    click(browser, element(browser, "#graph-view", node="tub"))
    panel = browser.find_element(By.ID, "node-panel")
    acts = panel.find_elements(By.CSS_SELECTOR, "td button")
    assert [button.text for button in acts] == ["Observe", "Observe"]
    assert "coupling" in panel.get_attribute("textContent")
    click(browser, element(browser, "#node-panel", node="tub", observe="yes"))
    settles(browser, expected(undirected.net, {"tub": "yes"}, {}))
    assert "Known: tub = yes." in browser.find_element(By.ID, "status").text
    assert browser.find_elements(By.CSS_SELECTOR, "#graph-view .arrow") == []


ALARM = [
    ({"HRBP": "HIGH", "CO": "LOW", "BP": "LOW"}, {}),
    ({"HISTORY": "TRUE", "CVP": "HIGH", "PCWP": "HIGH", "EXPCO2": "LOW"}, {}),
    ({"SAO2": "LOW", "PRESS": "HIGH"}, {"VENTTUBE": "NORMAL"}),
    ({"CATECHOL": "HIGH"}, {"INTUBATION": "ESOPHAGEAL", "KINKEDTUBE": "TRUE"}),
]


@pytest.mark.parametrize("evidence,do", ALARM)
def test_several_at_once_in_alarm(browser, alarm, evidence, do):
    browser.get(alarm.path.as_uri())
    tell(browser, evidence, do)
    settles(browser, expected(alarm.net, evidence, do))


@pytest.mark.parametrize(
    "evidence,do",
    [({}, {}), ({"x": 1.5}, {}), ({"z": 4.0}, {}), ({}, {"y": 3.0}), ({"z": 2.0}, {"y": 3.0})],
)
def test_models_of_numbers(browser, numbers, evidence, do):
    browser.get(numbers.path.as_uri())
    tell(browser, evidence, do)
    settles(browser, expected(numbers.net, evidence, do))


@pytest.mark.parametrize("evidence,do", CASES)
def test_models_of_labels_and_numbers(browser, mixed, evidence, do):
    browser.get(mixed.path.as_uri())
    tell(browser, evidence, do)
    settles(browser, expected(mixed.net, evidence, do))


def test_the_regressions_of_a_number_and_its_mixture(browser, mixed):
    browser.get(mixed.path.as_uri())
    element(browser, "#graph-view", node="rent").click()
    panel = browser.find_element(By.ID, "node-panel").text
    assert "Regressions of rent, by its labels" in panel
    assert "A mixture of 9 normal distributions, by the labels." in panel
    line = mixed.net.cpd("rent").regressions[0]
    district, condition = (variable.levels[0] for variable in mixed.net.cpd("rent").label_parents)
    (row,) = [line for line in panel.splitlines() if line.startswith(f"{district} {condition} ")]
    intercept, slope, sd, rows = (
        float(cell.replace("−", "-")) for cell in row.split(f"{condition} ")[1].split()
    )
    assert rows == line.n
    assert intercept == pytest.approx(line.intercept, rel=1e-3)
    assert slope == pytest.approx(line.coefficients[0], rel=1e-3)
    assert sd == pytest.approx(line.sd, rel=1e-2)
    tell(browser, {"district": "centre"}, {})
    assert "P(evidence) = " in browser.find_element(By.ID, "evidence-panel").text
    tell(browser, {"size": 60.0}, {})
    assert "ln density of the evidence" in browser.find_element(By.ID, "evidence-panel").text


def test_clearing_gives_the_prior_back(browser, asia):
    browser.get(asia.path.as_uri())
    before = posteriors(browser)
    tell(browser, {"xray": "yes"}, {"smoke": "yes"})
    assert posteriors(browser) != before
    browser.execute_script("gmlReport.clear()")
    settles(browser, before)


def test_what_cannot_be_is_said_to_be_so(browser, asia):
    browser.get(asia.path.as_uri())
    tell(browser, {"lung": "yes", "either": "no"}, {})
    said = browser.find_element(By.ID, "status").text
    assert said == (
        "lung = yes, either = no: The evidence has probability 0. Take something back to go on."
    )
    assert not any(map(math.isnan, posteriors(browser).values()))


# ---------------------------------------------------------------------- hands


def element(browser, within, **data):
    """The element with these data attributes, whatever is in them."""
    found = browser.execute_script(
        """
        const [within, data] = arguments;
        const wanted = Object.entries(data);
        return [...document.querySelector(within).querySelectorAll('*')].find(
          each => wanted.every(([key, value]) => each.dataset[key] === value)) || null;
        """,
        within,
        data,
    )
    assert found is not None, (within, data)
    return found


def click(browser, found):
    ActionChains(browser).move_to_element(found).click().perform()


def test_clicks_set_evidence_and_interventions(browser, asia):
    browser.get(asia.path.as_uri())
    click(browser, element(browser, "#graph-view", node="xray"))
    click(browser, element(browser, "#node-panel", node="xray", observe="yes"))
    settles(browser, expected(asia.net, {"xray": "yes"}, {}))
    click(browser, element(browser, "#graph-view", node="smoke"))
    click(browser, element(browser, "#node-panel", node="smoke", do="no"))
    settles(browser, expected(asia.net, {"xray": "yes"}, {"smoke": "no"}))
    panel = browser.find_element(By.ID, "evidence-panel").text
    assert "xray" in panel and "smoke" in panel


def test_what_is_set_names_the_open_arrows_that_it_rests_on(browser, chosen):
    browser.get(chosen.path.as_uri())
    panel = browser.find_element(By.ID, "evidence-panel")
    tell(browser, {"smoke": "yes"}, {})
    assert "rests on" not in panel.text
    tell(browser, {}, {"either": "yes"})
    assert "rests on" not in panel.text
    tell(browser, {}, {"smoke": "yes"})
    open_ = [arc for arc, is_compelled in chosen.net.compelled.items() if not is_compelled]
    named = [f"{source} → {target}" for source, target in open_ if "smoke" in (source, target)]
    assert len(named) == 2
    for name in named:
        assert name in panel.text
    click(browser, element(browser, "#graph-view", node="smoke"))
    view = browser.find_element(By.ID, "interventions-view").text
    assert all(name in view for name in named) and "leave open" in view


def test_hovering_shows_the_table_of_a_node(browser, asia):
    browser.get(asia.path.as_uri())
    node = element(browser, "#graph-view", node="dysp")
    ActionChains(browser).move_to_element(node).perform()
    text = browser.find_element(By.ID, "node-panel").text
    assert all(name in text for name in ("dysp", "bronc", "either"))


def test_what_is_known_can_be_taken_back(browser, asia):
    browser.get(asia.path.as_uri())
    tell(browser, {"xray": "yes", "dysp": "no"}, {})
    buttons = {
        button.get_attribute("aria-label") or button.text: button
        for button in browser.find_elements(By.CSS_SELECTOR, "#evidence-panel button")
    }
    click(browser, next(buttons[name] for name in buttons if "xray" in name))
    settles(browser, expected(asia.net, {"dysp": "no"}, {}))
    click(
        browser, browser.find_element(By.XPATH, "//*[@id='evidence-panel']//button[.='Clear all']")
    )
    settles(browser, expected(asia.net, {}, {}))


def place_of(browser, node):
    """Where a node of the graph is on the screen, and how wide."""
    box = element(browser, "#graph-view", node=node).rect
    return box["x"], box["y"], box["width"]


def test_search_zoom_and_pan(browser, alarm):
    browser.get(alarm.path.as_uri())
    search = browser.find_element(By.CSS_SELECTOR, "#graph-view input[type=search]")
    search.send_keys("vent")
    assert browser.find_element(By.ID, "status").text == "4 of 37 names match."
    search.send_keys(Keys.ENTER)
    assert "VENT" in browser.find_element(By.ID, "node-panel").text
    _, _, before = place_of(browser, "HR")
    click(browser, browser.find_element(By.CSS_SELECTOR, "#graph-view [aria-label='Zoom in']"))
    assert place_of(browser, "HR")[2] > before * 1.2
    click(browser, browser.find_element(By.CSS_SELECTOR, "#graph-view [aria-label^='Fit']"))
    x, y, fitted = place_of(browser, "HR")
    assert fitted < before * 1.2
    empty = browser.find_element(By.CSS_SELECTOR, "#graph-view svg")
    ActionChains(browser).move_to_element_with_offset(
        empty, 20 - empty.rect["width"] // 2, 20 - empty.rect["height"] // 2
    ).click_and_hold().move_by_offset(60, 40).release().perform()
    moved = place_of(browser, "HR")
    assert (moved[0] - x, moved[1] - y) == (pytest.approx(60, abs=2), pytest.approx(40, abs=2))


def test_the_slider_hides_weak_edges(browser, asia):
    browser.get(asia.path.as_uri())
    slider = browser.find_element(By.CSS_SELECTOR, "#strengths-view input[type=range]")

    def shown():
        rows = browser.find_elements(By.CSS_SELECTOR, "#strengths-view tbody tr")
        return [
            float(row.find_elements(By.TAG_NAME, "td")[0].text)
            for row in rows
            if row.is_displayed()
        ]

    slider.send_keys(Keys.HOME)
    everything = shown()
    slider.send_keys(Keys.END)
    assert everything == sorted(everything, reverse=True)
    assert 0 < len(shown()) < len(everything)
    assert set(shown()) == {1.0}


def test_the_slider_begins_with_the_threshold_of_the_averaged_graph(browser, asia):
    browser.get(asia.path.as_uri())
    facts = browser.execute_script(
        "return JSON.parse(document.getElementById('gml-data').textContent)"
    )
    weak = "return [...document.querySelectorAll('.edge.weak')].map(each => +each.dataset.edge)"
    n_edges = len(facts["strengths"]["edges"])
    view = browser.find_element(By.ID, "strengths-view")
    assert view.find_element(By.TAG_NAME, "output").text == f"{facts['strengths']['threshold']:.4g}"
    assert f"{n_edges} of the {n_edges} edges" in view.text
    edges = facts["graph"]["edges"]
    below = [k for k, edge in enumerate(edges) if edge["strength"] is None]
    assert below and browser.execute_script(weak) == below
    slider = view.find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.END)
    assert view.find_element(By.TAG_NAME, "output").text == "1"
    assert slider.get_attribute("aria-valuetext") == "1"
    assert browser.execute_script(weak) == [
        k for k, edge in enumerate(edges) if edge["strength"] != 1
    ]


def test_numbers_are_told_as_they_were_given(browser, numbers):
    browser.get(numbers.path.as_uri())
    tell(browser, {"x": 12345.678}, {})
    assert "x = 12345.678" in browser.find_element(By.ID, "evidence-panel").text
    assert "x = 12345.678." in browser.find_element(By.ID, "status").text
    row = element(browser, "#posterior-panel", node="x")
    before, _, now, sd, change = (
        float(cell.text.replace("−", "-")) for cell in row.find_elements(By.TAG_NAME, "td")
    )
    assert (now, sd) == (12345.678, 0)
    assert before + change == pytest.approx(now, abs=1e-9)
    outside = browser.execute_script(
        """
        return [...document.querySelectorAll('.node')].flatMap(node => {
          const box = node.querySelector('.box').getBBox();
          return [...node.querySelectorAll('.bell, .prior-bell')].map(each => each.getBBox())
            .filter(bell => bell.x <= box.x || bell.x + bell.width >= box.x + box.width);
        }).length;
        """
    )
    assert outside == 0


def test_most_names_have_one_size_from_afar(browser, alarm):
    browser.get(alarm.path.as_uri())
    sizes = browser.execute_script(
        """
        return [...document.querySelectorAll('.far-name')].map(each => {
          const box = each.closest('.node').querySelector('.box').getBBox();
          return [Number(each.getAttribute('font-size')), each.getBBox().width <= box.width];
        });
        """
    )
    assert all(fits for _, fits in sizes)
    found = [size for size, _ in sizes]
    assert found.count(max(found)) >= 0.7 * len(found)


def active(browser):
    """Where the focus is: the node of the graph, if it is on one, and whether it is in the graph."""
    return browser.execute_script(
        """
        const focus = document.activeElement;
        const view = document.getElementById('graph-view');
        const id = focus.getAttribute('aria-activedescendant');
        const at = id ? document.getElementById(id) : focus;
        const node = at && at.closest('[data-node]');
        return [view.contains(focus), node && view.contains(node) ? node.dataset.node : null];
        """
    )


def test_the_keyboard_reaches_everything(browser, asia):
    browser.get(asia.path.as_uri())
    keys = ActionChains(browser)
    for _ in range(40):
        keys.send_keys(Keys.TAB).perform()
        if active(browser)[1] is not None:
            break
    first = active(browser)[1]
    assert first in asia.net.names
    seen = {first}
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ARROW_UP):
        keys.send_keys(key).perform()
        seen.add(active(browser)[1])
    assert len(seen) >= 3
    assert seen <= set(asia.net.names)
    keys.send_keys(Keys.ENTER).perform()
    chosen = active(browser)[1] or first
    button = element(browser, "#node-panel", node=chosen, observe="yes")
    button.send_keys(Keys.ENTER)
    settles(browser, expected(asia.net, {chosen: "yes"}, {}))


def test_everything_has_a_name_for_a_screen_reader(browser, asia):
    browser.get(asia.path.as_uri())
    nameless = browser.execute_script(
        """
        const named = each => each.getAttribute('aria-label') || each.textContent.trim()
          || each.title || (each.labels && each.labels.length);
        return [...document.querySelectorAll('button, input, select, a, [role]')]
          .filter(each => !named(each)).map(each => each.outerHTML.slice(0, 200));
        """
    )
    assert nameless == []
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.find_element(By.ID, "status").get_attribute("aria-live") == "polite"


def test_a_node_is_heard_as_it_is_seen(browser, asia, numbers):
    browser.get(asia.path.as_uri())
    tell(browser, {"xray": "yes"}, {"smoke": "no"})
    for name in asia.net.names:
        node = element(browser, "#graph-view", node=name)
        # Without the titles, and the names that are seen from afar alone.
        seen = browser.execute_script(
            """
            const copy = arguments[0].cloneNode(true);
            copy.querySelectorAll('title, .far-name').forEach(each => each.remove());
            return copy.textContent.trim();
            """,
            node,
        )
        heard, _, was = node.get_attribute("aria-label").partition("; was ")
        assert was and re.sub("[:,]", "", heard) == seen
    assert element(browser, "#graph-view", node="xray").get_attribute("aria-label") == (
        "xray: no 0\u00a0%, yes 100\u00a0%, seen; was no 89.7\u00a0%, yes 10.3\u00a0%"
    )
    browser.get(numbers.path.as_uri())
    tell(browser, {}, {"x": 1.5})
    assert (
        element(browser, "#graph-view", node="x")
        .get_attribute("aria-label")
        .startswith("x: 1.5, do; was ")
    )


# ---------------------------------------------------------------------- the page


def test_every_section_is_there_and_says_what_would_fill_it(browser, asia, alarm):
    for written, absent in ((asia, []), (alarm, ["tests", "strengths"])):
        browser.get(written.path.as_uri())
        found = browser.find_elements(By.CSS_SELECTOR, "main section[id]")
        assert [each.get_attribute("id") for each in found] == SECTIONS
        lacking = browser.find_elements(By.CSS_SELECTOR, "main section .absent")
        places = [
            each.find_element(By.XPATH, "ancestor::section").get_attribute("id") for each in lacking
        ]
        assert places == absent
        assert all("--" in each.text for each in lacking)


def test_what_is_too_large_is_said_and_the_rest_works(browser, asia, tmp_path, monkeypatch):
    """Edges too many to draw, and a table too large to send."""
    monkeypatch.setattr("gml.pictures.layout.layers._MOST_PIECES", 7)
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_PARAMETERS", 35)
    monkeypatch.setattr("gml.pictures.page.payload._MOST_SHOWN", 4)
    page = tmp_path / "page.html"
    gml.report(ROOT / "sample_data/asia.csv", asia.net, check=False).to_file(page)
    browser.get(page.as_uri())
    click(browser, element(browser, "#graph-view", node="dysp"))
    text = browser.find_element(By.ID, "node-panel").text
    assert "P(dysp | parents): the table is too large to show." in text
    assert "2 edges" in text
    tell(browser, {"dysp": "yes"}, {})
    settles(browser, expected(asia.net, {"dysp": "yes"}, {}))


def test_a_page_of_alarm_is_small(alarm):
    assert alarm.path.stat().st_size < 1_000_000


def test_the_policy_of_the_page_forbids_the_network(session, asia):
    tools = script("browser")
    session.get(asia.path.as_uri())
    tools.requests(session)
    answer = session.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
        fetch('http://127.0.0.1:9/').then(() => done('sent'), () => setTimeout(done, 500, 'failed'));
        """
    )
    assert answer == "connect-src"
    image = session.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));
        document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/a.png'}));
        """
    )
    assert image == "img-src"


def test_the_guard_sees_what_a_page_should_not_do(session, tmp_path):
    """A page without a policy: what every other test here rests on."""
    tools = script("browser")
    page = tmp_path / "careless.html"
    page.write_text(
        "<!DOCTYPE html><title>careless</title><img src='http://127.0.0.1:9/a.png'>"
        "<script>fetch('http://127.0.0.1:9/b').catch(() => {}); undefined_function()</script>"
    )
    tools.requests(session)
    tools.console(session)
    session.get(page.as_uri())
    asked = tools.requests(session)
    assert {"http://127.0.0.1:9/a.png", "http://127.0.0.1:9/b"} <= set(asked)
    assert any("undefined_function" in line for line in tools.console(session))


def test_labels_stay_labels(browser, evil):
    browser.get(evil.path.as_uri())
    settles(browser, expected(evil.net, {}, {}))
    for name in EVIL:
        click(browser, element(browser, "#graph-view", node=name))
        level = evil.net.variables[evil.net.index(name)].levels[0]
        tell(browser, {name: level}, {})
        settles(browser, expected(evil.net, {name: level}, {}))
    assert browser.execute_script("return typeof hacked") == "undefined"
    assert browser.title == "<b>title</b>"
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main b script, section section") == []


def luminance(browser, css):
    red, green, blue = browser.execute_script(
        """
        let at = document.querySelector(arguments[0]);
        let colour = getComputedStyle(at).backgroundColor;
        while (/, 0\\)$/.test(colour) && at.parentElement) {
          at = at.parentElement;
          colour = getComputedStyle(at).backgroundColor;
        }
        return colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
        """,
        css,
    )
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


@pytest.mark.parametrize("scheme,is_dark", [("light", False), ("dark", True)])
def test_the_page_follows_the_scheme_of_its_reader(browser, asia, scheme, is_dark):
    script("browser").prefer(browser, scheme=scheme)
    browser.get(asia.path.as_uri())
    for css in ("body", "#graph-view", "#node-panel", "#posterior-panel"):
        assert (luminance(browser, css) < 0.5) == is_dark, css


def test_print_is_on_white_whatever_the_scheme(browser, asia):
    script("browser").prefer(browser, scheme="dark", media="print")
    browser.get(asia.path.as_uri())
    assert luminance(browser, "body") > 0.9
    assert browser.find_element(By.CSS_SELECTOR, "#provenance h2").is_displayed()
