"""The summary of a fit: text, HTML, LaTeX and data frame."""

import sys

import numpy as np
import pytest
from zoo import samples

import pre_convex as pre


def test_a_summary_says_why_a_radius_has_no_intervals():
    x_p, x_q, *_ = samples()
    notes = dict(pre.KLIEP(radius=0.1).fit(x_p, x_q).summary().notes)
    assert "not shown" in notes["intervals"]
    assert "radius of 0" in notes["intervals"]


def test_a_summary_holds_table_notes_and_other_formats():
    x_p, x_q, l_p, l_q = samples()
    report = pre.PosteriorRatio("polynomial").fit(x_p, x_q, l_p, l_q).summary()
    text = str(report)
    for part in ("coef", "std err", "P>|z|", "x1^2", "divergence", "score T2(4, ", "gap", "ESS", "newton"):
        assert part in text
    assert report._repr_html_().count("<tr>") == 5 + len(report.notes)
    assert report.to_latex().startswith(r"\begin{tabular}{lrrrrrr}")
    assert r"x1\^{}2" in report.to_latex()


def test_coefficients_are_readable_in_any_unit():
    x_p, x_q, *_ = samples()
    unit = np.array([1.0, 2e4])
    fit, scaled = pre.KLIEP().fit(x_p, x_q), pre.KLIEP().fit(x_p * unit, x_q * unit)
    for report in (fit.summary(), scaled.summary(), pre.KLIEP(radius=0.01).fit(x_p * unit, x_q * unit).summary()):
        for row, line in zip(report.values, str(report).splitlines()[4:6], strict=True):
            shown = np.array(line.split()[1:], dtype=float)
            places = [0, 1, 4, 5] if len(shown) > 1 else [0]
            np.testing.assert_allclose(shown[places], row[places], rtol=0.01, atol=0.01 * np.abs(row[:2]).max())


def test_the_divergence_of_a_sample_from_itself_is_zero_without_a_sign():
    _, x, *_ = samples()
    for radius in (0.0, 1e3):
        assert dict(pre.KLIEP(radius=radius).fit(x, x).summary().notes)["divergence"].split()[:2] == ["KL", "0"]


def test_a_summary_names_the_extra_that_the_tail_index_needs(monkeypatch):
    x = np.random.default_rng(0).normal(size=(100, 1))
    fit = pre.KLIEP().fit(x + 0.2, x)
    assert dict(fit.summary().notes)["Pareto k"].startswith("weights ")  # the p weights are equal and have no tail
    for module in ("arviz_stats", "arviz_stats.base"):  # as if it were not installed
        monkeypatch.setitem(sys.modules, module, None)
    fit = pre.KLIEP().fit(x + 0.2, x)
    assert np.isnan(fit.diagnostics().pareto_k_mu)
    assert "pre_convex[diagnostics]" in dict(fit.summary().notes)["Pareto k"]


def test_names_are_escaped_in_every_format():
    x_p, x_q, *_ = samples()
    pandas = pytest.importorskip("pandas")
    names = ["[10, 20)\x1b[31m", "<script>*"]
    report = pre.KLIEP().fit(*(pandas.DataFrame(x, columns=names) for x in (x_p, x_q))).summary()
    text = str(report)
    assert text.replace("\n", "").isprintable()
    assert "[10, 20)" in text
    lines = text.splitlines()
    assert len(lines[4]) == len(lines[5]) == len(lines[2])
    assert "<script>" not in report._repr_html_()
    body = report.to_latex().splitlines()[4:6]
    assert body[0].startswith("{[}10, 20)")
    assert all(row.endswith(r"\\") and row.count(" & ") == 6 for row in body)


def test_a_coefficient_of_a_huge_square_is_not_shown_as_zero():
    rng = np.random.default_rng(0)
    x_p, x_q = 1e7 * rng.normal(0.1, 1.2, (400, 1)), 1e7 * rng.normal(0.0, 1.0, (400, 1))
    report = str(pre.KLIEP("polynomial").fit(x_p, x_q).summary())
    (square,) = (line for line in report.splitlines() if line.startswith("x0^2"))
    assert "e-1" in square.split()[1]
    assert "e-1" in square.split()[2]
