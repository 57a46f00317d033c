"""The site in Chromium, from disk and without a network: nothing fails, formulas are drawn, nothing overflows."""

import re

import pytest
from site_pages import all_pages, page

LOCAL = ("file:", "data:", "blob:", "about:")
#: widths of a desk and of a phone
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 380, "height": 800}
FORMULAS_DRAWN = "async () => { if (window.MathJax && MathJax.startup) await MathJax.startup.promise; }"
#: how far the page is wider than the window, and what sticks out
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  const over = document.documentElement.scrollWidth - width;
  if (over <= 0) return null;
  const out = [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > width + 1);
  return over + ' px: ' + out.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ');
}"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def window(browser):
    """A window without a network, and what went wrong in it since somebody last looked."""
    context = browser.new_context(viewport=WIDE, offline=True)
    tab = context.new_page()
    tab.faults = []
    tab.on("request", lambda r: r.url.startswith(LOCAL) or tab.faults.append(f"asks for {r.url}"))
    tab.on("requestfailed", lambda r: tab.faults.append(f"did not get {r.url}"))
    tab.on("console", lambda m: m.type in ("error", "warning") and tab.faults.append(f"console: {m.text}"))
    tab.on("pageerror", lambda e: tab.faults.append(f"script: {e}"))
    yield tab
    context.close()


def brightness(colour):
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def faults_of(tab, path):
    """What is wrong with a page, in light, in dark and on a phone."""
    tab.faults.clear()
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(WIDE)
    tab.goto(path.as_uri())
    tab.evaluate(FORMULAS_DRAWN)
    formulas, drawn = page(path).math, tab.locator("main mjx-container").count()
    if formulas != drawn:
        yield f"{drawn} of {formulas} formulas are drawn"
    if wrong := tab.locator("[data-mml-node='merror'], [data-mjx-error], mjx-merror").count():
        yield f"{wrong} formulas are wrong"
    if brightness(tab.evaluate(BACKGROUND)) < 200:
        yield "is dark when it should be light"
    if over := tab.evaluate(OVERFLOW):
        yield f"is too wide at a desk by {over}"
    tab.set_viewport_size(NARROW)
    if over := tab.evaluate(OVERFLOW):
        yield f"is too wide on a phone by {over}"
    tab.emulate_media(color_scheme="dark")
    if brightness(tab.evaluate(BACKGROUND)) > 80:
        yield "is light when it should be dark"
    yield from tab.faults


def test_every_page_opens_from_disk(site, window):
    faults = []
    for path in all_pages(site):
        faults += [f"{path.relative_to(site)} {fault}" for fault in faults_of(window, path)]
    assert not faults, "\n".join(faults)


def test_what_is_wrong_with_a_page_is_seen(window, tmp_path):
    (tmp_path / "bad.html").write_text(
        '<main style="width: 2000px"><span class="math">x</span><img src="none.png"><img src="https://example.org/x.png">'
        "</main><script>console.error('oh'); fail()</script>"
    )
    faults = " ".join(faults_of(window, tmp_path / "bad.html"))
    for sign in ("0 of 1 formulas", "desk", "phone", "none.png", "asks for https://example.org", "oh", "fail is not"):
        assert sign in faults


def test_search_finds_a_word(site, window):
    window.faults.clear()
    window.goto((site / "search.html").as_uri() + "?q=Slater")
    found = window.locator("#search-results li a")
    found.first.wait_for()
    assert any("glossary" in link.get_attribute("href") for link in found.all())
    assert window.faults == []


def test_a_solution_opens_by_keyboard(site, window):
    window.goto(next((site / "lessons").glob("01_*.html")).as_uri())
    details = window.locator("details.solution").first
    assert details.get_attribute("open") is None
    details.locator("summary").focus()
    window.keyboard.press("Enter")
    assert details.get_attribute("open") is not None
