"""Keyword: the speech, the paper's set-up, the repaired one, and the quick version of the experiment."""

import ctypes.util
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pre_convex_lab.paper.keyword.experiment import claims
from pre_convex_lab.paper.keyword.paper_setup import Reading, certify_outside, descend, judge_peaks, pair_up
from pre_convex_lab.paper.keyword.repaired import (
    METHODS,
    WIDTHS,
    Method,
    Trial,
    beyond_grid,
    mean_over_sentences,
    ridge_scores,
    try_method,
)
from pre_convex_lab.paper.keyword.speech import (
    DATA,
    SIZE,
    cepstra,
    halve_rate,
    make_scenes,
    stretched,
    voices,
    windows,
)

import pre_convex as pre
from pre_convex.applications.detection.recordings import read_recording


@pytest.fixture(scope="module")
def quick(quick_run):
    """Outcome and record of the quick version."""
    return quick_run("keyword")


@pytest.fixture(scope="module")
def pairs():
    reading = Reading("as written", rows_q=600, step=500)
    return pair_up(voices("paper")[0], reading, np.random.default_rng(3))


# ---- speech


def test_no_voice_has_two_roles():
    names = [{voice.name for voice in voices(role)} for role in ("paper", "tuning", "test")]
    assert [len(n) for n in names] == [1, 2, 4]
    assert len(set.union(*names)) == 7


def test_every_voice_has_every_word_of_its_sentences():
    for role in ("paper", "tuning", "test"):
        for voice in voices(role):
            words = [word for sentence in voice.sentences for word in sentence.words]
            assert len(words) == len(set(words))
            assert set(voice.words) == ({"bank"} if role == "paper" else set(words))
            for sentence in voice.sentences:
                ends = [*sentence.starts, len(sentence.sound)]
                assert min(np.diff(ends)) > 0.05 * voice.rate
                assert all(sentence.word_at(sentence.span(word)[0]) == word for word in sentence.words)
    assert len(voices("paper")[0].words["bank"]) == 10


def test_recordings_are_small():
    assert sum(path.stat().st_size for path in DATA.glob("*.wav")) < 1.5e6


def long_cepstrum(sound, rate):
    """Mean cepstra of the louder half of a sound."""
    cut = windows(sound, SIZE, 80)
    loud = np.square(cut).sum(axis=1)
    return cepstra(cut[loud >= np.median(loud)] + 1e-3, rate).mean(axis=0)


def test_script_makes_the_stored_speech(tmp_path):
    if ctypes.util.find_library("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed; on Debian: apt-get install espeak-ng")
    subprocess.run([sys.executable, DATA / "make_speech.py", tmp_path], check=True)
    stored, made = (json.loads((folder / "speech.json").read_text()) for folder in (DATA, tmp_path))
    assert [(v["voice"], v["file"]) for v in stored] == [(v["voice"], v["file"]) for v in made]
    # other versions of espeak-ng sound slightly different
    for old, new in zip(stored, made, strict=True):
        sounds = [read_recording(path).series for path in (DATA / old["file"], tmp_path / new["file"])]
        for a, b in zip(old["contents"], new["contents"], strict=True):
            assert a["text"] == b["text"]
            assert b["stop"] - b["start"] == pytest.approx(a["stop"] - a["start"], rel=0.15)
            assert np.allclose(a.get("words", ()), b.get("words", ()), atol=0.08 * old["rate"])
            old_c, new_c = (
                long_cepstrum(sound[part["start"] : part["stop"]], old["rate"])
                for sound, part in zip(sounds, (a, b), strict=True)
            )
            assert np.corrcoef(old_c, new_c)[0, 1] > 0.9


def test_cepstra_depend_on_the_spectrum_and_not_on_loudness():
    t = np.arange(SIZE) / 8000.0
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=SIZE)
    low, high = (np.sin(2 * np.pi * hertz * t) + noise for hertz in (300.0, 3000.0))
    c = cepstra(np.array([low, 7.0 * low, high]), 8000)
    np.testing.assert_allclose(c[0], c[1], atol=1e-6)
    assert c[0, 0] > 0.0 > c[2, 0]  # the first cosine is positive for low frequencies


def test_halving_the_rate_and_stretching_keep_a_tone():
    t = np.arange(4000) / 16000.0
    tone = np.sin(2 * np.pi * 400.0 * t)
    assert np.abs(halve_rate(tone) - tone[::2])[50:-50].max() < 0.01
    slow = stretched(tone, 2.0)
    np.testing.assert_allclose(slow[: 2 * len(tone) - 2 : 2], tone[: len(slow[::2])], atol=1e-12)


# ---- scores


@pytest.mark.parametrize("strength", [0.05, 2.0])
def test_ridge_scores_solve_the_penalised_program(strength):
    rng = np.random.default_rng(1)
    F, b, a = rng.normal(size=(80, 3)), rng.normal(0.0, 2.0, (4, 3)), rng.normal(size=(4, 80))
    found = ridge_scores(F, b, a, strength)
    for w in range(4):
        problem = pre.RatioProblem(b[w], F, a[w])
        # where three rows have nearly all the weight, the gap is proven to a few 1e-6 only
        solution = pre.solve(problem, penalty=lambda d: 0.5 * strength * (d**2).sum(), check=False)
        assert solution.gap < 1e-5
        assert found[w] == pytest.approx(-solution.primal_value, rel=1e-6)


def test_ridge_scores_lie_between_the_distances_to_hull_and_mean(pairs):
    """r²/2λ ≤ score ≤ ‖b − mean‖²/2λ, where r, the distance to the hull, does not depend on y_q."""
    some = slice(0, 12, 4)
    F, b, a = pairs.features[:, :30], pairs.targets[some, :30], pairs.log_bases()[some]
    for strength in (1e-7, 1e-4):
        found = ridge_scores(F, b, a, strength)
        for w in range(len(b)):
            problem = pre.RatioProblem(b[w], F, a[w])
            least = pre.minimal_radius(problem).radius
            mean = np.exp(problem.log_base) @ F
            assert least**2 <= 2.0 * strength * found[w] * (1 + 1e-6)
            assert 2.0 * strength * found[w] <= np.linalg.norm(b[w] - mean) ** 2 * (1 + 1e-6)


def test_descent_is_unbounded_outside_the_hull(pairs):
    F, b, a = pairs.features, pairs.targets[:3], pairs.log_bases()[:3]
    one, ten = (descend(F, b, a, 1.0, steps) for steps in (10, 100))
    np.testing.assert_allclose(ten, 10.0 * one, rtol=0.02)


def test_target_inside_the_hull_is_not_certified_outside(pairs):
    inside = replace(pairs, targets=pairs.targets.copy())
    inside.targets[0] = pairs.features[:5].mean(axis=0)
    proof = certify_outside(inside, np.array([0, 1]))
    assert proof["proven"].tolist() == [0.0, 1.0]


def test_perfect_score_always_hits_and_has_auc_one():
    scenes = make_scenes(voices("tuning")[0], 10.0, 1, np.random.default_rng(0))
    oracle = Method("oracle", lambda scene, word: scene.inside(word).astype(float), {})
    trial = try_method(oracle, {}, (1,), scenes)[0]
    assert all(trial.hits)
    assert np.mean(trial.auc) == 1.0


def test_other_speech_of_a_scene_has_none_of_its_words():
    scene = make_scenes(voices("tuning")[0], 10.0, 1, np.random.default_rng(0))[0]
    assert set(scene.words) == set(scene.sentence.words)
    assert scene.cepstra.shape == scene.cepstra_after.shape == (len(scene.middle), 12)
    np.testing.assert_allclose(scene.generic.mean(axis=0), 0.0, atol=1e-9)
    rows = {tuple(row) for row in scene.generic.round(9)}
    assert not any(tuple(row) in rows for word in scene.words.values() for row in word.round(9))


# ---- the quick version


def test_papers_set_up_has_no_solution_and_ranks_by_a_distance(quick):
    main = quick[0].data["main"]
    assert main["outside"] == main["hulls"]
    assert min(main["relative_radius"]) > 0.9
    assert main["rank_distance"] > 0.999
    assert main["swap"] < 0.01
    verdicts = [finding.verdict for finding in quick[0].findings if finding.verdict]
    assert verdicts
    assert all(verdict.startswith("does not hold") for verdict in verdicts)


@pytest.mark.parametrize(
    ("ours", "plugin", "energy", "verdict"),
    [
        ([9, 8, 10, 9], [2, 3, 2, 1], [3, 1, 2, 4], "holds"),
        ([9, 8, 10, 9], [2, 3, 2, 1], [9, 9, 9, 9], "holds against the plugin, not against energy"),
        ([10, 10, 0, 0], [9, 0, 0, 0], [0, 0, 0, 0], "does not hold"),  # only two voices of four
        ([2, 3, 2, 1], [9, 8, 10, 9], [9, 9, 9, 9], "does not hold"),
    ],
)
def test_peaks_are_judged_over_voices(ours, plugin, energy, verdict):
    assert judge_peaks({"of": 40, "draws": 10, "PRE": ours, "plugin": plugin, "energy": energy}) == verdict


def test_claims_follow_from_the_numbers(quick):
    data = json.loads(json.dumps(quick[1]["data"]))
    leads = {"one": {"auc": [0.2, 0.1, 0.3]}, "two": {"auc": [0.1, -0.1, 0.3]}}
    found = claims(data["main"], data["peaks"], {"leads": leads})
    assert list(found.values()) == [False, False, False, True, False, True, False]
    data["main"] |= {"outside": 0, "swap": 0.5, "rank_distance": 0.3}
    peaks = {"of": 40, "draws": 10, "PRE": [9, 8, 10, 9], "plugin": [2, 3, 2, 1], "energy": [3, 1, 2, 4]}
    other = claims(data["main"], peaks, {"leads": leads})
    assert list(other.values()) == [True, True, True, False, True, True, False]


def test_repeating_words_of_a_sentence_does_not_narrow_the_interval():
    values, names = np.array([0.1, 0.3, 0.5, 0.6]), ["a", "a", "b", "c"]
    once = mean_over_sentences(values, names)
    assert mean_over_sentences(np.repeat(values, 9), list(np.repeat(names, 9))) == pytest.approx(once)
    assert once[0] == pytest.approx((0.2 + 0.5 + 0.6) / 3)


def test_option_at_the_end_of_a_grid_is_tried_one_step_further():
    method = Method("any", lambda scene, word: None, {"y_q": ("a", "b"), "sd": (1.0, 2.0, 6.0), "only": (5.0,)})

    def further(sd, width):
        found = beyond_grid(Trial(method, {"y_q": "a", "sd": sd, "only": 5.0}, width, (), ()))
        return {name: step.options["sd"] if name == "sd" else step.width for name, step in found.items()}

    assert further(2.0, WIDTHS[0]) == {}
    assert further(1.0, WIDTHS[0]) == {"sd": 0.5}
    assert further(6.0, WIDTHS[-1]) == {"sd": 18.0, "width": 51}


def test_energy_hits_one_word_of_each_sentence(quick):
    tested = quick[0].data["tested"]
    hits = np.array(tested["methods"]["energy"]["hits"]).reshape(-1, 5)
    assert np.all(hits.sum(axis=1) == 1)


def test_repaired_score_beats_chance_and_a_bayes_factor_beats_it(quick):
    tested = quick[0].data["tested"]
    assert not set(tested["tuning"]) & set(tested["test"])
    means = {name: facts["test"]["mean"] for name, facts in tested["methods"].items()}
    assert set(means) == {method.name for method in METHODS}
    assert means["Bayes factor"] > max(means["PRE, q noise"], means["PRE, q speech"], means["plugin"]) + 0.02
    assert min(means["PRE, q noise"], means["PRE, q speech"]) > 0.6
    assert means["energy"] < 0.6
