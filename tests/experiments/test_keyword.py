"""Keyword spotting: the speech, its cepstra, the scores, and the verdicts of the quick version."""

import ctypes.util
import json
import subprocess
import sys

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.applications.detection.recordings import read_recording
from pre_convex.experiments import Setting, perform
from pre_convex.experiments.keyword import (
    Reading,
    _verdict,
    certify_outside,
    descend,
    draw,
    judge_peaks,
    pair_up,
)
from pre_convex.experiments.speech import DATA, SIZE, cepstra, half, make_scenes, vary, voices, windows
from pre_convex.experiments.spotting import (
    METHODS,
    WIDTHS,
    Judged,
    Method,
    beyond,
    by_sentence,
    judge,
    ridge,
    spot_sentence,
)


@pytest.fixture(scope="module")
def quick():
    """The quick version's outcome, as it can be read back from its file."""
    return perform("keyword", Setting(quick=True))


@pytest.fixture(scope="module")
def pairs():
    reading = Reading("as written", rows_q=600, step=500)
    return pair_up(voices("paper")[0], reading, np.random.default_rng(3))


# ---- speech


def test_the_voices_of_tuning_and_of_the_test_are_apart():
    names = [{voice.name for voice in voices(role)} for role in ("paper", "tuning", "test")]
    assert [len(n) for n in names] == [1, 2, 4]
    assert len(set.union(*names)) == 7


def test_every_voice_says_every_word_of_its_sentences():
    for role in ("paper", "tuning", "test"):
        for voice in voices(role):
            said = [word for sentence in voice.sentences for word in sentence.words]
            assert len(said) == len(set(said))
            assert set(voice.words) == ({"bank"} if role == "paper" else set(said))
            for sentence in voice.sentences:
                ends = [*sentence.starts, len(sentence.sound)]
                assert min(np.diff(ends)) > 0.05 * voice.rate
                assert all(sentence.word_at(sentence.span(word)[0]) == word for word in sentence.words)
    assert len(voices("paper")[0].words["bank"]) == 10


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in DATA.glob("*.wav")) < 1.5e6


def long_cepstrum(sound, rate):
    """Mean cepstra of the louder half of a sound: what voice says what."""
    cut = windows(sound, SIZE, 80)
    loud = np.square(cut).sum(axis=1)
    return cepstra(cut[loud >= np.median(loud)] + 1e-3, rate).mean(axis=0)


def test_the_script_makes_the_same_speech(tmp_path):
    if ctypes.util.find_library("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed; on Debian: apt-get install espeak-ng")
    subprocess.run([sys.executable, DATA / "make_speech.py", tmp_path], check=True)
    stored, made = (json.loads((folder / "speech.json").read_text()) for folder in (DATA, tmp_path))
    assert [(v["voice"], v["file"]) for v in stored] == [(v["voice"], v["file"]) for v in made]
    # another version of espeak-ng may say the same a little differently
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


def test_cepstra_tell_spectra_apart_and_not_loudness():
    t = np.arange(SIZE) / 8000.0
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=SIZE)
    low, high = (np.sin(2 * np.pi * hertz * t) + noise for hertz in (300.0, 3000.0))
    c = cepstra(np.array([low, 7.0 * low, high]), 8000)
    np.testing.assert_allclose(c[0], c[1], atol=1e-6)
    assert c[0, 0] > 0.0 > c[2, 0]  # the first cosine is high where low frequencies are strong


def test_half_the_rate_and_stretching_keep_a_tone():
    t = np.arange(4000) / 16000.0
    tone = np.sin(2 * np.pi * 400.0 * t)
    assert np.abs(half(tone) - tone[::2])[50:-50].max() < 0.01
    slow = vary(tone, 2.0)
    np.testing.assert_allclose(slow[: 2 * len(tone) - 2 : 2], tone[: len(slow[::2])], atol=1e-12)


# ---- scores


@pytest.mark.parametrize("strength", [0.05, 2.0])
def test_ridge_is_the_penalised_program(strength):
    rng = np.random.default_rng(1)
    F, b, a = rng.normal(size=(80, 3)), rng.normal(0.0, 2.0, (4, 3)), rng.normal(size=(4, 80))
    found = ridge(F, b, a, strength)
    for w in range(4):
        problem = pre.RatioProblem(b[w], F, a[w])
        alone = pre.solve(problem, penalty=lambda d: 0.5 * strength * (d**2).sum())
        assert found[w] == pytest.approx(-alone.primal_value, rel=1e-6)


def test_any_ridge_gives_the_distance_to_the_mean_within_the_hull(pairs):
    """r²/2λ ≤ score ≤ ‖b − mean‖²/2λ, with r the distance to the hull, which no y_q changes."""
    few = slice(0, 12, 4)
    F, b, a = pairs.features[:, :30], pairs.targets[few, :30], pairs.log_bases()[few]
    for strength in (1e-7, 1e-4):
        found = ridge(F, b, a, strength)
        for w in range(len(b)):
            problem = pre.RatioProblem(b[w], F, a[w])
            least = pre.minimal_radius(problem).radius
            mean = np.exp(problem.log_base) @ F
            assert least**2 <= 2.0 * strength * found[w] * (1 + 1e-6)
            assert 2.0 * strength * found[w] <= np.linalg.norm(b[w] - mean) ** 2 * (1 + 1e-6)


def test_descent_goes_on_without_end_outside_the_hull(pairs):
    F, b, a = pairs.features, pairs.targets[:3], pairs.log_bases()[:3]
    one, ten = (descend(F, b, a, 1.0, steps) for steps in (10, 100))
    np.testing.assert_allclose(ten, 10.0 * one, rtol=0.02)


def test_proofs_of_outside_can_fail(pairs):
    """A target that is a row of F is inside, and nothing is proven about it."""
    from dataclasses import replace

    inside = replace(pairs, targets=pairs.targets.copy())
    inside.targets[0] = pairs.features[:5].mean(axis=0)
    proof = certify_outside(inside, np.array([0, 1]))
    assert proof["proven"].tolist() == [0.0, 1.0]


def test_judging_knows_the_answer():
    """A score that is one inside the word and zero outside hits always."""
    scenes = make_scenes(voices("tuning")[0], 10.0, 1, np.random.default_rng(0))
    oracle = Method("oracle", lambda scene, word: scene.inside(word).astype(float), {})
    judged = judge(oracle, {}, (1,), scenes)[0]
    assert all(judged.hits)
    assert np.mean(judged.auc) == 1.0


def test_scenes_keep_the_sentence_out_of_speech_in_general():
    scene = make_scenes(voices("tuning")[0], 10.0, 1, np.random.default_rng(0))[0]
    assert set(scene.words) == set(scene.sentence.words)
    assert scene.cepstra.shape == scene.cepstra_after.shape == (len(scene.middle), 12)
    np.testing.assert_allclose(scene.generic.mean(axis=0), 0.0, atol=1e-9)
    rows = {tuple(row) for row in scene.generic.round(9)}
    assert not any(tuple(row) in rows for part in scene.words.values() for row in part.round(9))


# ---- the quick version


def test_the_papers_score_has_no_solution_and_is_a_distance(quick):
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
        ([9, 8, 10, 9], [2, 3, 2, 1], [9, 9, 9, 9], "holds beside the plugin, not beside energy"),
        ([10, 10, 0, 0], [9, 0, 0, 0], [0, 0, 0, 0], "does not hold"),  # two voices of four, however many draws
        ([2, 3, 2, 1], [9, 8, 10, 9], [9, 9, 9, 9], "does not hold"),
    ],
)
def test_peaks_are_judged_by_voices(ours, plugin, energy, verdict):
    assert judge_peaks({"of": 40, "draws": 10, "PRE": ours, "plugin": plugin, "energy": energy}) == verdict


def test_the_headline_can_come_out_the_other_way(quick):
    data = json.loads(json.dumps(quick[1]["data"]))
    said = _verdict(data["main"], data["peaks"], data["tested"])
    assert "does not reproduce" in said
    assert "early ranks windows as ‖b − mean‖ does, and y_q plays no part" in said
    data["main"] |= {"outside": 0, "swap": 0.5, "rank_distance": 0.3}
    peaks = {"of": 40, "draws": 10, "PRE": [9, 8, 10, 9], "plugin": [2, 3, 2, 1], "energy": [3, 1, 2, 4]}
    other = _verdict(data["main"], peaks, data["tested"])
    assert (
        "The claim reproduces: peaks in “bank”, PRE 36, plugin 8, energy 10 of 40. b lies outside the hull for 0"
        in other
    )
    assert "early does not rank windows as ‖b − mean‖ does, and y_q plays a part" in other


def test_who_leads_is_said_by_intervals():
    ahead, alike, behind = [0.2, 0.1, 0.3], [0.1, -0.1, 0.3], [-0.2, -0.3, -0.1]
    leads = {"one": {"auc": ahead, "hits": alike}, "two": {"auc": ahead, "hits": behind}}
    assert spot_sentence({"leads": leads}) == (
        "by AUC a Bayes factor is ahead of one and two; "
        "by hits a Bayes factor is behind two, is not shown to differ from one"
    )


def test_words_of_a_sentence_are_one_sample():
    """Repeating every word makes the interval no narrower."""
    values, names = np.array([0.1, 0.3, 0.5, 0.6]), ["a", "a", "b", "c"]
    once = by_sentence(values, names)
    assert by_sentence(np.repeat(values, 9), list(np.repeat(names, 9))) == pytest.approx(once)
    assert once[0] == pytest.approx((0.2 + 0.5 + 0.6) / 3)


def test_a_choice_at_the_end_of_a_grid_is_tried_further():
    method = Method("any", lambda scene, word: None, {"y_q": ("a", "b"), "sd": (1.0, 2.0, 6.0), "only": (5.0,)})

    def further(sd, width):
        found = beyond(Judged(method, {"y_q": "a", "sd": sd, "only": 5.0}, width, (), ()))
        return {name: step.options["sd"] if name == "sd" else step.width for name, step in found.items()}

    assert further(2.0, WIDTHS[0]) == {}
    assert further(1.0, WIDTHS[0]) == {"sd": 0.5}
    assert further(6.0, WIDTHS[-1]) == {"sd": 18.0, "width": 51}


def test_energy_hits_one_word_of_each_sentence(quick):
    tested = quick[0].data["tested"]
    hits = np.array(tested["methods"]["energy"]["hits"]).reshape(-1, 5)
    assert np.all(hits.sum(axis=1) == 1)


def test_the_repaired_score_beats_chance_and_a_bayes_factor_beats_it(quick):
    tested = quick[0].data["tested"]
    assert not set(tested["tuning"]) & set(tested["test"])
    means = {name: facts["test"]["mean"] for name, facts in tested["methods"].items()}
    assert set(means) == {method.name for method in METHODS}
    assert means["Bayes factor"] > max(means["PRE, q noise"], means["PRE, q speech"], means["plugin"]) + 0.02
    assert min(means["PRE, q noise"], means["PRE, q speech"]) > 0.6
    assert means["energy"] < 0.6


def test_the_figure_can_be_drawn_from_the_file(quick, tmp_path):
    figure = draw(json.loads(json.dumps(quick[1]["data"])))
    assert len(figure.axes) == 4
    figure.savefig(tmp_path / "keyword.png", dpi=40)
