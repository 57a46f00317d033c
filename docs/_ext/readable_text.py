"""Small things that make text easier to read."""

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

BEFORE, AFTER = re.compile(r"[(\[“]$"), re.compile(r"^[.,;:!?)\]”]+")


class TypesOfArguments(SphinxTransform):
    """In "array of shape (k,)" Sphinx would look for something called k: only names of classes are links."""

    default_priority = 410

    def apply(self) -> None:
        """Look at links inside lists of fields."""
        for fields in self.document.findall(nodes.field_list):
            for link in list(fields.findall(pending_xref)):
                if link.get("refdomain") == "py" and link["reftype"] == "class" and not link["reftarget"][:1].isupper():
                    link.parent.replace(link, link.children)


class FormulasAndPunctuation(SphinxPostTransform):
    """No line ends between a formula and the comma behind it, or the bracket before it."""

    default_priority = 600

    def run(self, **_: object) -> None:
        """Put them together in a span that is not broken."""
        for formula in list(self.document.findall(nodes.math)):
            around = formula.parent
            at = around.index(formula)
            parts = [formula]
            before = around[at - 1] if at else None
            after = around[at + 1] if at + 1 < len(around) else None
            if isinstance(before, nodes.Text) and (found := BEFORE.search(before)):
                around.replace(before, nodes.Text(before[: found.start()]))
                parts.insert(0, nodes.Text(found[0]))
            if isinstance(after, nodes.Text) and (found := AFTER.match(after)):
                around.replace(after, nodes.Text(after[found.end() :]))
                parts.append(nodes.Text(found[0]))
            if len(parts) > 1:
                span = nodes.inline(classes=["unbroken"])
                around.replace(formula, span)
                span += parts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(TypesOfArguments)
    app.add_post_transform(FormulasAndPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
