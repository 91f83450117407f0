"""How the report page looks and feels: what moves, what a hand reaches, what paper holds."""

from __future__ import annotations

import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By

from tests.page.test_browser import click, element, tell
from tests.scripts import script

PHONE = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
DESK = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}

VIEW = "return document.querySelector('.canvas > g').getAttribute('transform')"


@pytest.fixture
def screen(browser):
    """The browser with a screen of some size, for as long as a test runs, and without motion."""
    before = browser.execute_script("return [innerWidth, innerHeight]")

    def take(size):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        script("browser").prefer(browser, still=True)
        return browser

    yield take
    width, height = before
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**DESK, "width": width, "height": height}
    )


def waits(browser, expression, wanted, seconds=5):
    """Wait until an expression of the page has a value; fail with the one that it has."""
    end = time.monotonic() + seconds
    while (found := browser.execute_script(f"return {expression}")) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.02)


def box(browser, css):
    """Where an element is in the window: left, top, right, bottom."""
    return browser.execute_script(
        """
        const {left, top, right, bottom} =
          document.querySelector(arguments[0]).getBoundingClientRect();
        return [left, top, right, bottom];
        """,
        css,
    )


# ---------------------------------------------------------------------- what evidence moves


def strip(browser, node):
    """The widths of the levels of a node that is too small for numbers, in pixels."""
    group = element(browser, "#graph-view", node=node)
    pieces = group.find_elements(By.CSS_SELECTOR, ".strip .now")
    return [piece.rect["width"] for piece in pieces]


def test_evidence_moves_what_can_be_seen_of_a_large_graph(screen, alarm):
    browser = screen(DESK)
    browser.get(alarm.path.as_uri())
    assert "far" in browser.find_element(By.CSS_SELECTOR, ".canvas").get_attribute("class")
    before = strip(browser, "HR")
    assert sum(before) > 40
    tell(browser, {"HRBP": "LOW"}, {})
    after = strip(browser, "HR")
    assert sum(after) == pytest.approx(sum(before), abs=0.5)
    assert max(abs(x - y) for x, y in zip(before, after, strict=True)) > 10
    tint = "getComputedStyle(document.querySelector('[data-node={}] .box')).fill"
    colours = [browser.execute_script(f"return {tint.format(name)}") for name in ("HR", "FIO2")]
    assert colours[0] != colours[1]


def test_what_changed_most_stands_first(screen, alarm):
    browser = screen(DESK)
    browser.get(alarm.path.as_uri())

    def order():
        return browser.execute_script(
            "return [...document.querySelectorAll('#posterior-panel tr.first')]"
            ".map(row => row.dataset.node)"
        )

    def shares(node):
        rows = browser.find_elements(By.CSS_SELECTOR, f"#posterior-panel tr[data-node={node}]")
        return [float(row.get_attribute("data-probability")) for row in rows]

    names = order()
    assert names == sorted(alarm.net.names)
    prior = {name: shares(name) for name in names}
    tell(browser, {"HRBP": "LOW"}, {})
    sizes = {
        name: max(abs(x - y) for x, y in zip(prior[name], shares(name), strict=True))
        for name in names
    }
    moved = order()
    assert sorted(moved) == names
    assert [sizes[name] for name in moved] == pytest.approx(
        sorted(sizes.values(), reverse=True), abs=1e-9
    )
    told = browser.find_elements(By.CSS_SELECTOR, "#evidence-panel .changes button")
    assert [each.text for each in told] == [name for name in moved if name != "HRBP"][:6]
    click(browser, told[0])
    assert browser.find_element(By.CSS_SELECTOR, "#node-panel h3").text == moved[1]
    browser.execute_script("gmlReport.clear()")
    assert order() == names


def test_marks_of_the_prior_wait_for_evidence(screen, asia):
    browser = screen(DESK)
    browser.get(asia.path.as_uri())
    assert not browser.find_element(By.CSS_SELECTOR, "[data-node=dysp] .prior").is_displayed()
    tell(browser, {"xray": "yes"}, {})
    assert browser.find_element(By.CSS_SELECTOR, "[data-node=dysp] .prior").is_displayed()


def test_arrows_into_a_node_that_is_set_are_dotted(screen, asia):
    browser = screen(DESK)
    browser.get(asia.path.as_uri())
    look = """
        return [...document.querySelectorAll("#graph-view .edge")].map((edge) => {
          const line = getComputedStyle(edge.querySelector(".line"));
          return [getComputedStyle(edge).opacity, line.strokeDasharray, line.stroke];
        });
    """
    edges = asia.net.graph.edges
    into = [k for k, edge in enumerate(edges) if edge.target == "dysp"]
    assert len(into) == 2
    browser.find_element(By.CSS_SELECTOR, "#graph-view [data-node=dysp]").click()
    tell(browser, {"dysp": "yes"}, {})
    highlighted = browser.execute_script(look)
    tell(browser, {}, {"dysp": "yes"})
    seen = browser.execute_script(look)
    for k, (before, after) in enumerate(zip(highlighted, seen, strict=True)):
        if k in into:
            assert after[:2] == ["0.35", "2px, 6px"]
            assert after != before and after[2] != before[2]
        else:
            assert after == before
    tell(browser, {}, {})
    assert browser.execute_script("return document.querySelectorAll('.edge.cut').length") == 0


def test_the_name_of_a_node_has_all_that_is_seen_of_it(screen, asia):
    browser = screen(DESK)
    browser.get(asia.path.as_uri())
    for evidence in ({}, {"xray": "yes"}):
        tell(browser, evidence, {})
        for node in asia.net.names:
            group = element(browser, "#graph-view", node=node)
            label = group.get_attribute("aria-label").replace(":", "").replace(",", "")
            now, *was = label.split(";")
            texts = group.find_elements(By.CSS_SELECTOR, "text")
            seen = " ".join(each.text for each in texts if each.is_displayed())
            assert now.split() == seen.split()
            assert [each.split()[0] for each in was] == (["was"] if evidence else [])


# ---------------------------------------------------------------------- hands


def test_the_wheel_scrolls_the_page_until_the_graph_was_clicked(screen, alarm):
    browser = screen(DESK)
    browser.get(alarm.path.as_uri())
    canvas = browser.find_element(By.CSS_SELECTOR, ".canvas")
    before = browser.execute_script(VIEW)
    origin = ScrollOrigin.from_element(canvas)
    ActionChains(browser).scroll_from_origin(origin, 0, 120).perform()
    waits(browser, "Math.round(scrollY)", 120)
    assert browser.execute_script(VIEW) == before
    assert browser.find_element(By.CSS_SELECTOR, ".wheel-hint").is_displayed()
    left = 20 - int(canvas.rect["width"]) // 2
    ActionChains(browser).move_to_element_with_offset(canvas, left, 0).click().perform()
    ActionChains(browser).scroll_from_origin(origin, 0, -120).perform()
    end = time.monotonic() + 5
    while browser.execute_script(VIEW) == before:
        assert time.monotonic() < end
    assert browser.execute_script("return Math.round(scrollY)") == 120


def touch(browser, *fingers, steps=8):
    """Put fingers down, move each from its first place to its second, and lift them."""

    def send(kind, points):
        browser.execute_cdp_cmd(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y, "id": k} for k, (x, y) in points]},
        )

    def at(share):
        return [
            (k, (x + share * (p - x), y + share * (q - y)))
            for k, ((x, y), (p, q)) in enumerate(fingers)
        ]

    send("touchStart", at(0))
    for step in range(1, steps + 1):
        send("touchMove", at(step / steps))
    send("touchEnd", [])


def test_one_finger_scrolls_the_page_and_two_zoom_the_graph(screen, alarm):
    browser = screen(PHONE)
    browser.get(alarm.path.as_uri())
    before = browser.execute_script(VIEW)
    touch(browser, ((200, 600), (200, 450)))
    end = time.monotonic() + 5
    while browser.execute_script("return scrollY") < 50:
        assert time.monotonic() < end
    assert browser.execute_script(VIEW) == before
    scrolled = browser.execute_script("return scrollY")
    touch(browser, ((180, 400), (180, 300)), ((220, 400), (220, 500)))
    assert browser.execute_script(VIEW) != before
    scale = browser.execute_script(f"{VIEW}.match(/scale\\((.*)\\)/)[1]")
    assert float(scale) > 0.5
    assert browser.execute_script("return scrollY") == pytest.approx(scrolled, abs=60)


def test_on_a_phone_a_tap_brings_the_panel_up_and_back(screen, alarm):
    browser = screen(PHONE)
    browser.get(alarm.path.as_uri())
    click(browser, element(browser, "#graph-view", node="BP"))
    _, top, _, bottom = box(browser, "#node-panel")
    assert 300 < top < bottom <= 800
    assert box(browser, "[data-node=BP] .box")[3] <= top
    for button in browser.find_elements(By.CSS_SELECTOR, "#node-panel button"):
        assert button.rect["height"] >= 24 and button.rect["width"] >= 24
    click(browser, browser.find_element(By.CSS_SELECTOR, "#node-panel .close"))
    assert browser.execute_script("return document.activeElement.dataset.node") == "BP"
    position = "getComputedStyle(document.getElementById('node-panel')).position"
    assert browser.execute_script(f"return {position}") == "static"


def test_links_lead_to_headings_that_can_be_seen(screen, asia):
    for size in (PHONE, DESK):
        browser = screen(size)
        browser.get(asia.path.as_uri())
        for section in ("interventions", "data", "tests"):
            browser.execute_script(f"location.hash = '#{section}'")
            waits(
                browser,
                f"document.getElementById('{section}').getBoundingClientRect().top < 60",
                True,
            )
            assert box(browser, f"#{section}-heading")[1] >= box(browser, "nav")[3] - 1


def test_nothing_is_wider_than_a_phone(screen, asia, alarm):
    browser = screen(PHONE)
    for page in (asia, alarm):
        browser.get(page.path.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") == 400
    browser.get(asia.path.as_uri())
    table = "document.querySelector('#tests .scroll')"
    assert browser.execute_script(f"return {table}.scrollWidth <= {table}.clientWidth")
    assert browser.execute_script(f"return {table}.scrollHeight <= {table}.clientHeight")


def test_the_side_panel_ends_above_the_status_and_scrolls_alone(screen, alarm):
    browser = screen(DESK)
    browser.get(alarm.path.as_uri())
    click(browser, element(browser, "#graph-view", node="CATECHOL"))
    for scrolled in (0, 200):
        browser.execute_script(f"scrollTo(0, {scrolled})")
        assert box(browser, ".panels")[3] <= box(browser, "#status")[1]
    inner = browser.execute_script(
        "return [...document.querySelectorAll('.panels .scroll')]"
        ".map(each => each.scrollHeight - each.clientHeight)"
    )
    assert inner and max(inner) == 0


# ---------------------------------------------------------------------- themes and paper


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_heat_map_is_that_of_the_scheme(browser, asia, scheme):
    script("browser").prefer(browser, scheme=scheme)
    browser.get(asia.path.as_uri())
    figures = browser.find_elements(By.CSS_SELECTOR, "#information figure")
    shown = [each.get_attribute("class") for each in figures if each.is_displayed()]
    assert shown == [f"picture for-{scheme}"]


def test_paper_has_bars_and_leaves_the_view_as_it_was(screen, alarm):
    browser = screen(DESK)
    browser.get(alarm.path.as_uri())
    click(browser, browser.find_element(By.CSS_SELECTOR, "[aria-label='Zoom in']"))
    before = browser.execute_script(VIEW)
    browser.execute_script(
        "addEventListener('beforeprint', () => "
        "{ window.onPaper = document.querySelector('.canvas').classList.contains('far') })"
    )
    browser.execute_cdp_cmd("Page.printToPDF", {})
    waits(browser, "window.onPaper", False)
    waits(browser, "document.querySelector('.canvas').hasAttribute('viewBox')", False)
    assert browser.execute_script(VIEW) == before


def test_paper_has_what_is_folded_on_the_screen(screen, asia):
    browser = screen(DESK)
    browser.get(asia.path.as_uri())
    folded = "return [...document.querySelectorAll('details')].map((each) => each.open)"
    before = browser.execute_script(folded)
    assert len(before) > 2 and not any(before)
    browser.execute_script("document.querySelector('details').open = true")
    browser.execute_script(
        "addEventListener('beforeprint', () => "
        "{ document.title = document.querySelectorAll('details:not([open])').length; })"
    )
    browser.execute_cdp_cmd("Page.printToPDF", {})
    assert browser.title == "0"
    assert browser.execute_script(folded) == [True, *before[1:]]
