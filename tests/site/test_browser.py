"""The site in Chromium, from disk and without a network: nothing fails, formulas are drawn, nothing overflows."""

import re

import pytest
from browser import Watch
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
#: the background, once the page knows of a change of the light
BACKGROUND = """async (theme) => {
  const set = document.documentElement.dataset;
  for (let i = 0; i < 40 && set.theme !== theme; i++) await new Promise(done => setTimeout(done, 25));
  return getComputedStyle(document.body).backgroundColor;
}"""


class Window:
    """A window without a network, and what went wrong in it since a page was opened."""

    def __init__(self, browser):
        self.context = browser.new_context(viewport=WIDE, offline=True)
        self.tab = self.context.new_page()
        self.watch = Watch(self.tab)

    def open(self, address):
        self.watch.complaints.clear()
        self.watch.requests.clear()
        self.tab.set_viewport_size(WIDE)
        self.tab.goto(address)
        self.tab.evaluate(FORMULAS_DRAWN)

    def faults(self):
        return [
            *self.watch.complaints,
            *(f"asks for {url}" for url in self.watch.requests if not url.startswith(LOCAL)),
        ]


@pytest.fixture(scope="module")
def window(browser):
    window = Window(browser)
    yield window
    window.context.close()


def brightness(colour):
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def faults_of(window, path):
    """What is wrong with a page, at a desk and on a phone."""
    window.open(path.as_uri())
    tab = window.tab
    formulas, drawn = page(path).math, tab.locator("main mjx-container").count()
    if formulas != drawn:
        yield f"{drawn} of {formulas} formulas are drawn"
    if wrong := tab.locator("[data-mml-node='merror'], [data-mjx-error], mjx-merror").count():
        yield f"{wrong} formulas are wrong"
    if over := tab.evaluate(OVERFLOW):
        yield f"is too wide at a desk by {over}"
    tab.set_viewport_size(NARROW)
    if over := tab.evaluate(OVERFLOW):
        yield f"is too wide on a phone by {over}"
    yield from window.faults()


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


@pytest.mark.parametrize("name", ["index.html", "lessons/01_two_samples.html"])
def test_a_page_is_light_in_the_light_and_dark_in_the_dark(site, window, name):
    window.open((site / name).as_uri())
    assert brightness(window.tab.evaluate(BACKGROUND, "light")) > 200
    window.tab.emulate_media(color_scheme="dark")
    assert brightness(window.tab.evaluate(BACKGROUND, "dark")) < 80
    window.tab.emulate_media(color_scheme="light")
    assert window.faults() == []


def test_search_finds_a_word(site, window):
    window.open((site / "search.html").as_uri() + "?q=Slater")
    found = window.tab.locator("#search-results li a")
    found.first.wait_for()
    assert any("glossary" in link.get_attribute("href") for link in found.all())
    assert window.faults() == []


def test_a_solution_opens_by_keyboard(site, window):
    window.open(next((site / "lessons").glob("01_*.html")).as_uri())
    details = window.tab.locator("details.solution").first
    assert details.get_attribute("open") is None
    details.locator("summary").focus()
    window.tab.keyboard.press("Enter")
    assert details.get_attribute("open") is not None


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("covariate shift", "examples/covariate-shift"),
        ("importance weighting", "examples/covariate-shift"),
        ("domain adaptation", "examples/covariate-shift"),
        ("lasso", "examples/many-columns"),
        ("drift", "examples/drift"),
        ("two-sample test", "examples/two-samples"),
        ("install", "install"),
        ("propensity", "howto/balance-groups"),
        ("survey", "howto/balance-groups"),
    ],
)
def test_search_finds_the_right_page_first(site, window, query, page):
    window.open((site / "search.html").as_uri() + "?q=" + query.replace(" ", "+"))
    first = window.tab.locator("#search-results li a").first
    first.wait_for()
    assert first.get_attribute("href").partition(".html")[0].endswith(page)
