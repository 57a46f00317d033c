"""How the lessons' figures look; nothing here changes what they show."""


def reset(gallery_conf: dict, file_name: str) -> None:
    """Called by sphinx-gallery before every lesson."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": (7.0, 3.6),
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
