"""The explorer's page in a browser, one for each module."""

import pytest
from browser import Watch, open_browser

from pre_convex.teaching.explorer import page as explorer_page


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def visit(browser, address):
    """Open the page at a fragment; at the end nothing has been complained about and nothing asked of another host."""
    opened = []

    def go(fragment="", width=1300, height=1000, **context):
        tab = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **context)
        page = tab.new_page()
        watch = Watch(page)
        page.goto(f"{address}{fragment}")
        page.wait_for_selector("html.ready")
        opened.append((tab, watch))
        return page

    yield go
    for tab, watch in opened:
        assert watch.complaints == []
        assert [url.split("#")[0].split("?")[0] for url in watch.requests] == [address] * len(watch.requests)
        tab.close()
