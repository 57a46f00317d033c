"""Dask gives the results of rows in memory: on threads, on a cluster, and when a worker dies."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pre_convex as pre

pytest.importorskip("distributed", reason="needs the extra 'dask'")
import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

from pre_convex.data.dask_blocks import DaskBlocks, DaskFileBlocks

pytestmark = pytest.mark.filterwarnings("ignore")  # the cluster has its own warnings


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    return rng.normal(0.2, 1.0, (2_000, 4)), rng.normal(0.0, 1.0, (40_000, 4)) * [1.0, 2.0, 0.5, 1.0]


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


LIKELIHOOD = pre.Gaussian([0.1, 0.0, 0.0, 0.1], precision=0.5)


def same(problem, sides, likelihood=None, **options):
    """The problem solved like the one in memory, to 1e-10."""
    whole = pre.RatioProblem.from_samples(*sides, None, likelihood, **options)
    np.testing.assert_allclose(problem.gradient(np.ones(whole.k)), whole.gradient(np.ones(whole.k)), atol=1e-12)
    one, other = pre.solve(problem, tol=1e-11), pre.solve(whole, tol=1e-11)
    assert one.status is pre.Status.OPTIMAL
    np.testing.assert_allclose(one.delta, other.delta, atol=1e-10)
    assert one.primal_value == pytest.approx(other.primal_value, abs=1e-12)
    np.testing.assert_allclose(one.mu, other.mu, atol=1e-12)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_arrays_on_local_schedulers(scheduler, sides):
    x_p, x_q = (da.from_array(x, chunks=(7_000, 3)) for x in sides)
    with dask.config.set(scheduler=scheduler):
        same(pre.RatioProblem.from_blocks(x_p, x_q, None, LIKELIHOOD), sides, LIKELIHOOD)


def test_from_samples_takes_dask_arrays_too(sides):
    x_q = da.from_array(sides[1], chunks=9_000)
    with dask.config.set(scheduler="threads"):
        problem = pre.RatioProblem.from_samples(sides[0], x_q, features="polynomial")
        same(problem, sides, features="polynomial")


def test_arrays_on_a_cluster(client, sides):
    x_q = da.from_array(sides[1], chunks=(6_000, -1)).persist()
    base = da.from_array(LIKELIHOOD(sides[1]), chunks=5_000)
    same(pre.RatioProblem.from_blocks(sides[0], x_q, None, base, features="polynomial"), sides, LIKELIHOOD,
         features="polynomial")  # fmt: skip
    same(pre.RatioProblem.from_blocks(sides[0], x_q, None, LIKELIHOOD(sides[1])), sides, LIKELIHOOD)


def test_results_do_not_depend_on_the_scheduler(client, sides):
    """Two workers, threads, and one block after the other merge the same summaries in the same order."""
    x_q = da.from_array(sides[1], chunks=(3_000, -1))

    def answer():
        solution = pre.solve(pre.RatioProblem.from_blocks(sides[0], x_q, None, LIKELIHOOD))
        return solution.delta.tobytes(), solution.certificate

    found = [answer()]
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            found.append(answer())
    assert found[0] == found[1] == found[2]


def test_dataframes_with_a_column_of_log_likelihoods(client, sides):
    frame = pd.DataFrame(sides[1], columns=list("abcd"))
    frame["loglik"] = LIKELIHOOD(sides[1])
    side_p = dd.from_pandas(pd.DataFrame(sides[0], columns=list("abcd")), npartitions=2)
    problem = pre.RatioProblem.from_blocks(side_p, dd.from_pandas(frame, npartitions=5), None, "loglik")
    assert problem.feature_names == ("a", "b", "c", "d")
    same(problem, sides, LIKELIHOOD)


def test_workers_open_files_themselves(client, sides, tmp_path):
    np.save(tmp_path / "q.npy", sides[1])
    problem = pre.RatioProblem.from_blocks(sides[0], tmp_path / "q.npy", None, LIKELIHOOD, dask=True)
    assert isinstance(problem.rows.blocks, DaskFileBlocks)
    same(problem, sides, LIKELIHOOD)


def test_the_graph_of_a_pass_is_small(sides, tmp_path, monkeypatch):
    monkeypatch.setattr("pre_convex.data.dask_blocks.BLOCK_NUMBERS", 8_000)
    np.save(tmp_path / "q.npy", sides[1])
    mapped = np.load(tmp_path / "q.npy", mmap_mode="r")
    sent = []

    def spy(graph, keys, **options):
        graph = dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)
        sent.append((len(graph), len(cloudpickle.dumps(graph))))
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=spy):
        problem = pre.RatioProblem.from_blocks(None, mapped, target=np.zeros(4), dask=True)
        sent.clear()
        problem.tilt(np.ones(4))
    ((tasks, size),) = sent
    assert 20 <= tasks <= 20 + 3 + 1  # one for each block, and the tree above them
    assert size < 20_000  # paths and numbers of rows; the data is 1.3 million bytes


def test_a_solve_survives_the_death_of_a_worker(client, sides):
    x_q = da.from_array(sides[1], chunks=(4_000, -1)).persist()
    slow = Slow()
    problem = pre.RatioProblem.from_blocks(sides[0], x_q, None, slow)
    victim = next(iter(client.run(os.getpid).values()))
    before = set(client.scheduler_info()["workers"])
    threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
    same(problem, sides, LIKELIHOOD)
    assert set(client.scheduler_info()["workers"]) != before  # it did die, and another took its place


class Slow:
    """The likelihood, so slow that the worker dies in the middle of the solve."""

    def __call__(self, x):
        time.sleep(0.05)
        return LIKELIHOOD(x)


def test_blocks_follow_the_chunks(sides):
    x = da.from_array(sides[1], chunks=((10_000, 25_000, 5_000), (1, 3)))
    assert DaskBlocks(x).starts == [0, 10_000, 35_000]
    with pytest.raises(pre.DataError, match="39999") as error:
        DaskBlocks(x, np.zeros(39_999), "x_q")
    assert error.value.argument == "log_lik_q"


def test_empty_chunks_are_left_out(sides):
    ordered, x_p = sides[1][np.argsort(sides[1][:, 0])], sides[0] + [1.0, 0.0, 0.0, 0.0]
    x = da.from_array(ordered, chunks=(5_000, 4))
    with dask.config.set(scheduler="threads"):
        problem = pre.RatioProblem.from_samples(x_p, x[x[:, 0] > 0.5])
        whole = pre.RatioProblem.from_samples(x_p, ordered[ordered[:, 0] > 0.5])
        np.testing.assert_allclose(problem.gradient(np.ones(4)), whole.gradient(np.ones(4)), atol=1e-12)


def test_bad_arguments_are_named(sides):
    x = da.from_array(sides[1], chunks=10_000)
    with pytest.raises(pre.DataError) as error:
        pre.RatioProblem.from_samples(x, x, paired=True)
    assert error.value.argument == "paired"
    with pytest.raises(pre.DataError) as error:
        pre.RatioProblem.from_blocks(sides[0], x, None, "loglik")
    assert error.value.argument == "log_lik_q"
    spoilt = sides[1].copy()
    spoilt[12_345, 2] = np.inf
    with dask.config.set(scheduler="threads"), pytest.raises(pre.DataError, match=r"row 12345, column 'x2' is inf"):
        pre.RatioProblem.from_blocks(sides[0], da.from_array(spoilt, chunks=10_000))


def test_estimators_fit_predict_and_report(sides):
    rng = np.random.default_rng(1)
    x_p, x_q = rng.normal(0.2, 1.0, (3_000, 2)), rng.normal(0.0, 1.0, (9_000, 2))
    likelihood = pre.Gaussian([0.3, 0.0])
    frames = [dd.from_pandas(pd.DataFrame(x, columns=["u", "v"]), npartitions=3) for x in (x_p, x_q)]
    with dask.config.set(scheduler="threads"):
        far = pre.PosteriorRatio(features="polynomial").fit(*frames, likelihood, likelihood)
        near = pre.PosteriorRatio(features="polynomial").fit(x_p, x_q, likelihood, likelihood)
        np.testing.assert_allclose(far.delta_, near.delta_, atol=1e-7)
        np.testing.assert_allclose(far.covariance(), near.covariance(kind="centred"), rtol=1e-6)
        new = x_p[:5]
        for method in ("log_ratio", "log_ratio_interval"):
            one, other = getattr(far, method)(new), getattr(near, method)(new)
            if method == "log_ratio_interval":
                one, other = one.lower, near.log_ratio_interval(new, kind="centred").lower
            np.testing.assert_allclose(one, other, atol=1e-6)
        assert far.divergence_p_value() == pytest.approx(near.divergence_p_value(), rel=1e-5, abs=1e-12)
        np.testing.assert_allclose(far.divergence_interval(), near.divergence_interval(kind="centred"), rtol=1e-6)
        one, other = far.diagnostics(), near.diagnostics()
        for name in ("ess_p", "ess_base", "ess_mu", "largest_p", "largest_mu", "condition"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6)
        np.testing.assert_allclose(one.balance_before, other.balance_before, atol=1e-9)
        assert "u^2" in str(far.summary())
        assert far.mu_.shape == (9_000,)
        with pytest.raises(pre.DataError, match="hc3"):
            far.covariance("hc3")
        with pytest.raises(pre.DataError, match="landmarks"):
            pre.KLIEP(features="kernel", radius=0.1).fit(*frames)


def test_the_two_machine_run_of_the_docs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "howto" / "dask.md").read_text(encoding="utf-8")
    script = re.search(r"^```python\n(# far\.py\n.*?)^```$", page, re.M | re.S)[1]
    (tmp_path / "far.py").write_text(script)
    expected = re.search(r"it prints\n\n```text\n(.*?)```", page, re.S)[1]
    command = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    place = tmp_path / "scheduler.json"
    options = ["--no-dashboard", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(place)]
    with contextlib.ExitStack() as stack:

        def start(*arguments):
            process = stack.enter_context(subprocess.Popen([*command, *arguments], **quiet))
            stack.callback(process.terminate)

        start("scheduler", *options)
        for _ in range(300):
            if place.exists() and place.stat().st_size:
                break
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        for _ in range(2):
            start("worker", address, "--nthreads", "1", "--no-dashboard")
        run = subprocess.run([sys.executable, "far.py", address], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == expected, run.stderr
