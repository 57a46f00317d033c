"""Solutions of exercises stay closed until the reader opens them, without a script."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class CloseSolutions(SphinxTransform):
    """Wrap what stands under a heading "Solution …" in ``<details>``."""

    default_priority = 900

    def apply(self) -> None:
        """Go through the sections of the page."""
        for section in list(self.document.findall(nodes.section)):
            title = section.next_node(nodes.title)
            if title is None or not title.astext().startswith("Solution"):
                continue
            at = section.index(title) + 1
            opening = nodes.raw("", '<details class="solution"><summary>Show the solution</summary>', format="html")
            section.insert(at, opening)
            section.append(nodes.raw("", "</details>", format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(CloseSolutions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
