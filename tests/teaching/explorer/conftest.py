"""The explorer's page in a browser."""

import pytest
from browser import Watch

from pre_convex.teaching.explorer import page as explorer_page


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path.as_uri()


DEFAULT_MEDIA = {"media": "screen", "color_scheme": "light", "forced_colors": "none", "reduced_motion": "reduce"}


class Visitor:
    """Opens the page in a new tab or in a shared one, and records every console error and request."""

    def __init__(self, browser, address):
        self.browser, self.address, self.tabs = browser, address, []
        self.page = self.open("#preset=kliep")

    def open(self, fragment="", width=1300, height=1000, **context):
        """Open a new tab at a fragment."""
        tab = self.browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **context)
        page = tab.new_page()
        self.tabs.append((tab, Watch(page)))
        page.goto(f"{self.address}{fragment}")
        page.wait_for_selector("html.ready")
        return page

    def load(self, address):
        """Reload the shared tab at a query and fragment."""
        self.page.emulate_media(**DEFAULT_MEDIA)
        self.page.goto(f"{self.address}{address}")
        self.page.wait_for_selector("html.ready")
        return self.page

    def preset(self, name, width=1300, height=1000, **media):
        """Show a preset in the shared tab."""
        page = self.page
        if page.viewport_size != (size := {"width": width, "height": height}):
            page.set_viewport_size(size)
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.emulate_media(**{**DEFAULT_MEDIA, **media})
        page.evaluate(
            """name => { document.activeElement.blur(); scrollTo(0, 0); player.follow();
                store.replace(presets.copy(presets.find(name).state)); explorer.flush(); }""",
            name,
        )
        return page

    def check(self):
        """Check that there were no console errors and no requests to other hosts; close the tabs of the test."""
        for tab, watch in self.tabs:
            complaints, asked = watch.complaints[:], [url.split("#")[0].split("?")[0] for url in watch.requests]
            watch.complaints.clear()
            watch.requests.clear()
            if tab is not self.tabs[0][0]:
                tab.close()
            assert complaints == []
            assert asked == [self.address] * len(asked)
        del self.tabs[1:]


@pytest.fixture(scope="module")
def visitor(browser, address):
    return Visitor(browser, address)


@pytest.fixture
def visit(visitor):
    yield visitor
    visitor.check()
