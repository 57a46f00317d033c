"""Figure of a scan."""

import numpy as np
import pytest

from pre_convex.plots import plot_scan


@pytest.mark.parametrize(("channels", "last"), [(5, "channel 4"), (6, "channel 5"), (8, "channels 5 to 7")])
def test_the_legend_names_every_channel(channels, last):
    figure = plot_scan(np.zeros((50, channels)), np.arange(10, 40), np.ones(30))
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == [*(f"channel {c}" for c in range(min(channels - 1, 5))), last]
    assert len(figure.axes[0].lines) == channels
