"""Pages of lessons: solutions stay closed until opened, without a script, and downloads stand at the end."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import only
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from pre_convex.teaching.catalogue import lessons
from pre_convex.teaching.notebook import to_notebook


class MoveDownloads(SphinxTransform):
    """Take sphinx-gallery's links to downloads out of the last section, and its note that they are there away."""

    default_priority = 899

    def apply(self) -> None:
        """Do so where the page has them."""
        for note in list(self.document.findall(nodes.note)):
            if "sphx-glr-download-link-note" in note["classes"]:
                remove(note)
        for footer in list(self.document.findall(nodes.container)):
            if "sphx-glr-footer-example" in footer["classes"]:
                section = self.document.next_node(nodes.section)
                if section is not None:
                    remove(footer)
                    section.append(footer)


def remove(node: nodes.Element) -> None:
    """Take a node out, and what stands around it only for its sake."""
    around = node.parent
    around.remove(node)
    if isinstance(around, only) and not around.children:
        around.parent.remove(around)


class CloseSolutions(SphinxTransform):
    """Wrap what stands under a heading "Solution …" in ``<details>``, up to the next exercise."""

    default_priority = 900

    def apply(self) -> None:
        """Go through the sections of the page."""
        for section in list(self.document.findall(nodes.section)):
            title = section.next_node(nodes.title)
            if title is None or not re.fullmatch(r"Solution \d+", title.astext()):
                continue
            give_back_exercises(section)
            at = section.index(title) + 1
            opening = nodes.raw("", '<details class="solution"><summary>Show the solution</summary>', format="html")
            section.insert(at, opening)
            section.append(nodes.raw("", "</details>", format="html"))


def give_back_exercises(section: nodes.section) -> None:
    """Move what begins with "Exercise …" behind the section: only a heading ends a section, and it has none."""
    begins = (i for i, node in enumerate(section) if isinstance(node, nodes.paragraph) and asks(node))
    first = next(begins, None)
    if first is not None:
        behind = section.parent.index(section) + 1
        for node in reversed(section[first:]):
            section.remove(node)
            section.parent.insert(behind, node)


def asks(paragraph: nodes.paragraph) -> bool:
    """Whether it begins with the bold word Exercise."""
    return isinstance(paragraph[0], nodes.strong) and paragraph[0].astext().startswith("Exercise")


def write_notebooks(app: Sphinx) -> None:
    """Offer the notebooks that ``pre-convex teach`` writes; in those of sphinx-gallery links are left as markup."""
    for lesson in lessons():
        place, text = Path(app.srcdir) / "lessons" / f"{lesson.stem}.ipynb", to_notebook(lesson)
        if place.read_text(encoding="utf-8") != text:  # a page is written again when a file that it offers is newer
            place.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_notebooks)  # sphinx-gallery has a higher priority
    app.add_transform(MoveDownloads)
    app.add_transform(CloseSolutions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
