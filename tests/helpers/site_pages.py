"""Parser for pages of the site: links, anchors and equation tags."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data"}
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Page(HTMLParser):
    """Links that a reader may follow, files that the browser loads, and anchors."""

    text: str
    links: list = field(default_factory=list)
    loaded: list = field(default_factory=list)
    anchors: set = field(default_factory=set)
    tags: list = field(default_factory=list)
    open: list = field(default_factory=list)
    footers_in_solutions: int = 0
    solutions: int = 0
    math: int = 0

    def __post_init__(self):
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        classes = (values.get("class") or "").split()
        if tag not in EMPTY:
            self.open.append((tag, classes))
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if "equation-tag" in classes:
                self.tags.append(values["href"])
        elif tag == "link" and "href" in values:
            (self.loaded if values.get("rel") in ("stylesheet", "preload", "icon") else self.links).append(
                values["href"]
            )
        elif tag in LOADED and values.get(LOADED[tag]):
            self.loaded.append(values[LOADED[tag]])
        self.loaded.extend(part.split()[0] for part in (values.get("srcset") or "").split(",") if part.strip())
        inside = any(name == "details" and "solution" in names for name, names in self.open)
        self.footers_in_solutions += inside and "sphx-glr-footer" in classes
        self.solutions += tag == "details" and "solution" in classes
        self.math += "math" in classes and tag in ("span", "div")

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass


@cache
def page(path):
    """A page of the site, read once."""
    return Page(path.read_text(encoding="utf-8"))


def all_pages(site):
    """All pages of the site that readers can open."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
