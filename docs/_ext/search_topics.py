"""Topics of pages, as main entries of the index: the site's search lists the page of a topic first."""

from docutils import nodes
from sphinx import addnodes

TOPICS = {
    "coverage": ("confidence interval", "coverage"),
    "install": ("install", "pip", "extras"),
    "examples/compare-solvers": ("compare solvers",),
    "examples/covariate-shift": (
        *("covariate shift", "importance weighting", "importance weights", "sample weights", "domain adaptation"),
        "reweighting",
    ),
    "examples/divergence": ("divergence", "Kullback-Leibler divergence"),
    "examples/drift": ("drift", "data drift", "monitoring"),
    "examples/kernel": ("kernel",),
    "examples/many-columns": ("lasso", "regularisation", "correlated columns"),
    "examples/teach": ("teaching",),
    "examples/two-samples": ("two-sample test", "homogeneity test"),
    "howto/balance-groups": (
        *("propensity score", "treatment effect", "entropy balancing", "matching", "survey", "raking"),
        "calibration of surveys",
    ),
    "howto/beyond-memory": ("large data", "out of memory", "Parquet"),
    "howto/bound-the-weights": ("bounds on weights", "trimming", "maximum weight"),
    "howto/constraints-and-penalties": ("constraint", "penalty"),
    "howto/dask": ("Dask", "cluster"),
    "howto/read-a-summary": ("summary", "effective sample size"),
    "howto/save-and-load": ("save", "load", "pickle"),
    "howto/sklearn-and-pandas": ("scikit-learn", "pandas", "pipeline"),
    "howto/when-a-fit-warns": ("warning", "infeasible"),
}


def add_topics(app, doctree):
    """Add the topics of a page to its index entries."""
    name = app.env.docname
    entries = [("single", topic, f"topic-{name}", "main", None) for topic in TOPICS.get(name, ())]
    if entries:
        doctree.insert(0, [addnodes.index(entries=entries), nodes.target(ids=[f"topic-{name}"])])


def always_outdated(app, env, added, changed, removed):
    """Write these pages in every build: Sphinx forgets the index entries of pages that it does not write."""
    return [name for name in TOPICS if name in env.found_docs]


def setup(app):
    """Register with Sphinx."""
    app.connect("env-get-outdated", always_outdated)
    app.connect("doctree-read", add_topics, priority=100)  # before the index is collected
    return {"parallel_read_safe": True}
