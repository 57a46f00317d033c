"""The site: ``make docs`` builds it with warnings as errors, and opened pages ask no other host for anything."""

import sys
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from pre_convex import __version__  # noqa: E402

project = "pre_convex"
author = "the pre_convex developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "mathjax_files",
    "solutions",
]
exclude_patterns = ["_build", "_ext", "lessons/*.ipynb", "lessons/*.py"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "../pre_convex/teaching/lessons",
    "gallery_dirs": "lessons",
    "filename_pattern": r"/\d\d_|/errata",
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "capture_repr": (),
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "reset_modules": ("matplotlib", "lesson_style.reset"),
    "reference_url": {"pre_convex": None},
}

html_theme = "pydata_sphinx_theme"
html_title = "pre_convex"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_show_sourcelink = False
