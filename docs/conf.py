"""The site: ``make docs`` builds it with warnings as errors, and opened pages ask no other host for anything."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from pre_convex import __version__  # noqa: E402

project = "pre_convex"
author = "the pre_convex developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "equation_tags",
    "explorer_page",
    "failure_contract",
    "lesson_pages",
    "mathjax_files",
    "outside_pages",
    "readable_text",
    "search_topics",
    "stale_tables",
]
exclude_patterns = ["_build", "_ext", "lessons/*.ipynb", "lessons/*.py"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would load files that are not here
smartquotes_action = "D"  # dashes only: F' is F transposed

#: files of the repository that links of the pages name, and the pages that show them
outside_pages = {
    "../README.md": "index",
    "../CHANGELOG.md": "changes",
    "../CONTRIBUTING.md": "contributing",
    "../benchmarks/README.md": "benchmarks",
}

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # docstrings say what an argument may be
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # its own style loses the first of two names
napoleon_use_rtype = False
maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "../pre_convex/teaching/lessons",
    "gallery_dirs": "lessons",
    "filename_pattern": r"\.py$",  # all of them run
    "within_subsection_order": "FileNameSortKey",
    "parallel": True,  # as many processes as sphinx was given by -j
    "abort_on_example_error": True,
    "capture_repr": (),
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "reset_modules": ("matplotlib", "lesson_style.reset"),
    "reference_url": {"pre_convex": None},
}

highlight_language = "text"  # what a block printed is not code

html_theme = "pydata_sphinx_theme"
html_title = "pre_convex"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "pre_convex"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
}
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # summaries are fetched, which a page opened from disk may not do
html_copy_source = False
copyright = f"{author}, Apache-2.0"


def setup(app):
    """Leave out what scikit-learn adds to estimators for the routing of metadata."""

    def skip(app, what, name, obj, skipped, options):
        return True if name.startswith("set_") and name.endswith("_request") else None

    app.connect("autodoc-skip-member", skip)
