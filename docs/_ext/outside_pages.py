"""Links to files of the repository that are not under ``docs`` lead to the pages that show these files.

So the same link works where the repository is read and in the site: ``outside_pages`` in ``conf.py`` names the pages.
"""

import os.path

from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class OutsidePages(SphinxTransform):
    """Give such links their page as target."""

    default_priority = 400

    def apply(self) -> None:
        """MyST names what it does not find among the pages by its path, without ``.md``."""
        shown = self.config.outside_pages.items()
        pages = {os.path.normpath(self.env.srcdir / path).removesuffix(".md"): name for path, name in shown}
        for link in self.document.findall(pending_xref):
            if link.get("refdomain") == "doc" and link["reftarget"] in pages:
                link["reftarget"] = pages[link["reftarget"]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("outside_pages", {}, "env")
    app.add_transform(OutsidePages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
