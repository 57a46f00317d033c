"""Tags of equations are links: ``[P]`` on any page leads to where ``equations.md`` defines it.

A tag stands in plain text, in docstrings as on pages; code and formulas are left alone. A tag that nobody defined is
a warning.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

PAGE = "equations"
DEFINITION = re.compile(r"^\*\*\[([A-Z]+)\]\*\*", re.M)
TAG = re.compile(r"\[([A-Z]{1,6})\]")
#: where a tag is not a citation
LEFT_ALONE = (
    nodes.doctest_block,
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.reference,
    nodes.title,
    addnodes.desc_signature,
    addnodes.pending_xref,
)


def anchor(tag: str) -> str:
    """The place of a definition on its page."""
    return f"eq-{tag.lower()}"


def defined(app: Sphinx) -> set[str]:
    """All tags of the page of equations."""
    return set(DEFINITION.findall((Path(app.srcdir) / f"{PAGE}.md").read_text(encoding="utf-8")))


class Anchors(SphinxTransform):
    """Give every definition an anchor: the strong tag that begins a paragraph."""

    default_priority = 500

    def apply(self) -> None:
        """Only on the page of equations."""
        if self.env.docname != PAGE:
            return
        for paragraph in self.document.findall(nodes.paragraph):
            first = next((part for part in paragraph.children if part.astext()), None)
            if isinstance(first, nodes.strong) and (found := TAG.fullmatch(first.astext())):
                first["ids"].append(anchor(found[1]))


class Links(SphinxPostTransform):
    """Turn tags in text into links."""

    default_priority = 500

    def run(self, **_: object) -> None:
        """Go through the text of the page."""
        tags = defined(self.app)
        here = self.env.docname
        page = self.app.builder.get_relative_uri(here, PAGE)
        for text in list(self.document.findall(nodes.Text)):
            if not TAG.search(text.astext()) or within(text, LEFT_ALONE) or is_definition(text):
                continue
            parts: list[nodes.Node] = []
            end = 0
            for found in TAG.finditer(text.astext()):
                if found[1] not in tags:
                    logging.getLogger(__name__).warning("%s: [%s] is not defined in %s.md", here, found[1], PAGE)
                    continue
                parts.append(nodes.Text(text.astext()[end : found.start()]))
                uri = f"{'' if here == PAGE else page}#{anchor(found[1])}"
                parts.append(nodes.reference("", found[0], refuri=uri, internal=True, classes=["equation-tag"]))
                end = found.end()
            parts.append(nodes.Text(text.astext()[end:]))
            text.parent.replace(text, parts)


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Whether a node stands inside one of these kinds."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def is_definition(text: nodes.Text) -> bool:
    """Whether this is the tag that has the anchor."""
    return any(name.startswith("eq-") for name in text.parent.get("ids", []))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(Anchors)
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
