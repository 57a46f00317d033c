"""Stages of a solve: their order, passes and reasons, and what verbose prints."""

import numpy as np
import pytest
from zoo import SQUARE, planted

import pre_convex as pre
from pre_convex.data.requests import Alone, Tilt
from pre_convex.penalties import make_penalty
from pre_convex.solvers.stages import newton


def stages_of(solution):
    return [(stage.name, stage.reason) for stage in solution.trace]


def test_a_small_problem_is_solved_on_all_rows():
    problem, _ = planted()
    solution = pre.solve(problem)
    assert stages_of(solution) == [("all rows", "converged")]
    (stage,) = solution.trace
    assert stage.rows == problem.n_q
    assert stage.gap == pytest.approx(solution.gap)
    assert stage.passes > solution.iterations
    assert 0.0 < stage.seconds <= solution.solve_time


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_a_large_problem_goes_through_a_sample_and_a_subset(radius, norm):
    problem, _ = planted(n=400_000, k=4, radius=radius, norm=norm, strength=0.4)
    solution = pre.solve(problem)
    names = [stage.name for stage in solution.trace]
    assert names[:3] == ["sample", "subset", "all rows"]
    assert set(names[3:]) <= {"all rows"}
    sample, subset, *everything = solution.trace
    assert sample.rows < subset.rows < problem.n_q
    assert {stage.rows for stage in everything} == {problem.n_q}
    assert np.isnan([sample.gap, subset.gap]).all()
    assert everything[-1].gap == pytest.approx(solution.gap)
    assert everything[-1].reason == "converged"
    assert sum(stage.passes for stage in everything) <= 6


def test_passes_are_counted(monkeypatch):
    """Those of a stage are the gradients of its descent, plus one covariance of the subset."""
    problem, _ = planted(n=400_000, k=4, strength=0.4)
    asked = []
    answer = Alone._answer

    def counted(self, request):
        if isinstance(request, Tilt):
            asked.append(self.rows[request.level].shape[0])
        return answer(self, request)

    monkeypatch.setattr(Alone, "_answer", counted)
    result = newton(problem, make_penalty(problem), pre.Settings())
    stages = {stage.name: stage for stage in result.trace}
    everything = [stage.passes for stage in result.trace if stage.name == "all rows"]
    assert sum(everything) == result.passes == asked.count(problem.n_q)
    # the sample is also asked for its effective size, and the subset may be asked by the certificate
    assert stages["sample"].passes == asked.count(stages["sample"].rows) - 1
    assert stages["subset"].passes <= asked.count(stages["subset"].rows)


def test_a_target_that_no_subset_holds_needs_all_rows():
    F = np.random.default_rng(0).normal(size=(160_000, 3))
    F[12_345] = [40.0, 0.0, 0.0]
    solution = pre.solve(pre.RatioProblem([20.0, 0.0, 0.0], F))
    assert solution.trace[0].name == "sample"
    assert solution.trace[-1][:2] == ("all rows", 160_000)
    assert solution.mu[12_345] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("target", "last", "reason"),
    [([1.5, 0.5], "boundary", "face of 2 rows"), ([0.5, 3.0], "hull", "target outside the hull")],
)
def test_the_hull_and_the_boundary_are_stages(target, last, reason):
    on_edge = SQUARE @ np.array([[1.0, -1.0], [1.0, 1.0]])  # no column exposes the edges
    solution = pre.solve(pre.RatioProblem(target, on_edge), check=False)
    assert (solution.trace[-1].name, solution.trace[-1].reason) == (last, reason)
    assert next(stage.name for stage in solution.trace if stage.name in ("hull", "boundary")) == "hull"


@pytest.mark.parametrize("n", [300, 400_000])
def test_verbose_prints_the_trace(capsys, n):
    problem, _ = planted(n=n, k=4, strength=0.4)
    solution = pre.solve(problem, verbose=True)
    assert capsys.readouterr().out.splitlines() == [str(stage) for stage in solution.trace]
    pre.solve(problem)
    assert capsys.readouterr().out == ""


def test_a_stage_is_one_line():
    stage = pre.Stage("subset", 12_345, 1, 0.25, np.nan, "converged")
    assert str(stage).split() == ["subset", "12,345", "rows", "1", "pass", "0.2500", "s", "converged"]
    assert "2 passes" in str(stage._replace(passes=2))
    assert "gap 1.0e-09" in str(stage._replace(gap=1e-9))


def test_strongly_correlated_columns_are_proven_on_the_subset():
    """Only rows of the subset move in its lift, so that bounds on its own rows count and not those on all."""
    rng = np.random.default_rng(2)
    F = rng.normal(size=(100_000, 10)) @ (rng.normal(size=(10, 10)) * np.logspace(0.0, -2.2, 10)[:, None])
    delta = rng.normal(size=10)
    target = pre.RatioProblem(np.zeros(10), F).gradient(delta / (F @ delta).std())
    problem, settings = pre.RatioProblem(target, F), pre.Settings(small=0, subset_rows=4_000)
    alone, together = pre.solve(problem, settings=settings), pre.solve_many(F, target[None], settings=settings)[0]
    for solution in (alone, together):
        assert solution.status is pre.Status.OPTIMAL
        assert pre.certify(problem, solution.delta).gap <= solution.gap + 1e-12  # a lift of all rows is tighter
    on_all = [stage for stage in alone.trace if stage.name == "all rows"]
    assert max(stage.gap for stage in on_all) < 1e-7
    assert sum(stage.passes for stage in on_all) < 10
