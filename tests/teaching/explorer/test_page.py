"""The explorer in use: mouse, sliders, keyboard, touch, light and dark."""

import re
from itertools import pairwise

import pytest

PANELS = ("samples", "hull", "primal", "weights", "gap", "ratio")
PRESETS = {
    "kliep": "optimal",
    "posterior": "optimal",
    "plane": "optimal",
    "peaked": "optimal",
    "boundary": "boundary",
    "outside": "infeasible",
    "rescued": "optimal",
    "sparse": "optimal",
    "curve": "optimal",
    "lsif": "optimal",
    "bounds": "optimal",
    "doubled": "optimal",
}


def settle(page):
    """Draw at once instead of in the next frame."""
    page.evaluate("explorer.flush()")


def drawn(page):
    """The drawing of every panel, without marks of the selection."""
    script = """() => Object.fromEntries([...document.querySelectorAll('.panel')].map(p => [p.id.slice(6),
        [...p.querySelectorAll('.plot svg > g')].slice(0, -1).map(g => g.innerHTML).join('')]))"""
    return page.evaluate(script)


def status(page):
    return page.get_attribute("#status", "data-status")


def figure(page, name):
    return page.inner_text(f"#figure-{name}")


def delta(page):
    return page.evaluate("explorer.current.run.delta")


def centre(page, panel, kind, index):
    box = page.locator(f'#panel-{panel} .handle[data-kind="{kind}"][data-index="{index}"]').bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, start, by, steps=4):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + by[0], start[1] + by[1], steps=steps)
    page.mouse.up()
    settle(page)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_what_its_name_says(visit, preset):
    page = visit.preset(preset)
    assert status(page) == PRESETS[preset]
    assert page.get_attribute(f'[data-preset="{preset}"]', "aria-pressed") == "true"
    for text in drawn(page).values():  # no panel is empty or draws invalid numbers
        assert len(text) > 200
        assert not re.search(r"NaN|Infinity|undefined", text)
    if PRESETS[preset] == "optimal":
        assert page.evaluate("explorer.current.run.gap") < 1e-8


def test_the_page_opens_with_a_question_that_is_not_solved(visit):
    page = visit.open("")
    assert status(page) == "solving"
    assert page.inner_text("#status").strip() == "Not solved yet"
    assert page.inner_text("#time-value").startswith("0 / ")
    assert page.inner_text("#question").endswith("?")
    assert page.locator("#start li:visible").count() == 3
    assert not page.is_visible("#answer")
    assert page.locator(".best, .ratio-best").count() == 0  # nothing tells the answer
    assert page.is_disabled("#undo")
    x = page.evaluate("explorer.current.b[0]")
    drag(page, centre(page, "hull", "b", 0), (20, 0))  # a change of the problem does not solve it
    assert page.evaluate("explorer.current.b[0]") > x
    assert page.inner_text("#time-value").startswith("0 / ")
    page.click("#undo")
    page.click("#solve")
    page.wait_for_function("task.solved")
    assert status(page) == "optimal"
    assert page.is_visible("#answer")
    assert page.locator(".best").count() > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_every_question_is_answered_in_words_when_it_is_solved(visit, preset):
    page = visit.preset("kliep")
    page.click(f'[data-preset="{preset}"]')
    settle(page)
    steps = page.inner_text("#start")
    assert "Look." in steps
    assert not page.is_visible("#after")
    page.click("#end")
    settle(page)
    assert not page.is_visible("#start")
    answer = page.inner_text("#answer")
    assert 60 < len(answer) < 420
    assert page.locator("#tries li").count() >= 1
    for text in (page.inner_text("#question"), steps, answer, page.inner_text("#tries")):
        assert not re.search(r"NaN|undefined|null|Infinity|∞", text.replace("norm ∞", "")), text
    drag(page, centre(page, "samples", "q", 1), (12, 0))
    assert not page.is_visible("#answer")  # it is about another problem
    assert page.is_visible("#tries")
    page.click("#again")
    settle(page)
    assert page.is_visible("#start")
    assert page.inner_text("#time-value").startswith("0 / ")


@pytest.mark.parametrize("preset", ["kliep", "plane"])
def test_dragging_a_point_moves_every_panel_and_the_answer(visit, preset):
    page = visit.preset(preset)
    before, old = drawn(page), delta(page)
    drag(page, centre(page, "samples", "q", 3), (45, -30))
    after = drawn(page)
    for panel in PANELS:
        assert after[panel] != before[panel], panel
    assert delta(page) != old
    assert status(page) == "optimal"
    assert page.evaluate("explorer.current.run.gap") < 1e-10


def test_the_page_shows_the_gap(visit):
    page = visit.preset("kliep")
    page.evaluate("player.go(0)")
    settle(page)
    wide = page.evaluate("explorer.current.run.path[0].proof.gap")
    assert float(figure(page, "gap")) == pytest.approx(wide, abs=1e-3)
    drag(page, centre(page, "samples", "q", 0), (-30, 0))
    page.evaluate("player.go(0)")
    settle(page)
    other = page.evaluate("explorer.current.run.path[0].proof.gap")
    assert float(figure(page, "gap")) == pytest.approx(other, abs=1e-3)
    assert other != wide


def test_dragging_the_target_moves_the_p_sample_with_it(visit):
    page = visit.preset("kliep")
    points = page.evaluate("store.state.p.map(x => x[0])")
    b = page.evaluate("explorer.current.b[0]")
    drag(page, centre(page, "hull", "b", 0), (25, 0))
    moved = page.evaluate("store.state.p.map(x => x[0])")
    by = page.evaluate("explorer.current.b[0]") - b
    assert by > 0.1
    assert [new - old for new, old in zip(moved, points, strict=True)] == pytest.approx([by] * len(points), abs=1e-3)


def test_a_target_set_by_hand_snaps_to_the_edge_and_can_leave_the_hull(visit):
    page = visit.preset("plane")
    page.check('input[name="target"][value="hand"]', force=True)
    settle(page)
    # straight up from b the target crosses the edge of the hull, where it snaps
    x, y = centre(page, "hull", "b", 0)
    seen = set()
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(17):
        page.mouse.move(x, y - 8 * step)
        page.evaluate("explorer.flush()")
        seen.add(status(page))
    page.mouse.up()
    assert seen == {"optimal", "boundary", "infeasible"}
    assert page.evaluate("explorer.current.run.hull.radius") > 0.1


SLIDERS = {"tp": 0.7, "tq": 0.6, "yp": -1.2, "yq": 1.4, "R": 0.35, "lo": 0.6, "hi": 0.3}


@pytest.mark.parametrize("slider", SLIDERS)
def test_every_slider_moves_the_answer_and_the_panels(visit, slider):
    page = visit.preset("posterior")
    before, old = drawn(page), delta(page)
    page.evaluate(
        "([id, v]) => { const s = document.getElementById(id); s.value = v; s.dispatchEvent(new Event('input')); }",
        [slider, str(SLIDERS[slider])],
    )
    settle(page)
    after = drawn(page)
    for panel in ("hull", "primal", "gap", "ratio", "weights", "samples"):
        assert after[panel] != before[panel], panel
    assert delta(page) != old
    assert page.inner_text(f"#{slider}-value") != ""


def test_the_sentence_fits_the_radius_and_the_dimension(visit):
    page = visit.preset("kliep")
    say = """text => { store.replace(link.read(text).state); explorer.flush();
        return document.getElementById("sentence").textContent; }"""
    assert "as δ → −∞" in page.evaluate(say, "f=line&b=-2.6,0")
    assert "along v, which separates" in page.evaluate(say, "f=plane&b=3,2")
    assert "that close" in page.evaluate(say, "f=line&b=-2.6,0&R=0.1")
    assert "the mean of the base weights is b" in page.evaluate(say, "f=line&q=1,0;1,0&b=1,0")
    assert "is within the ball" in page.evaluate(say, "f=line&R=3")


def test_outside_the_hull_a_radius_restores_the_solution(visit):
    page = visit.preset("outside")
    assert status(page) == "infeasible"
    assert figure(page, "dual") == figure(page, "gap") == "none"
    assert page.locator("#panel-hull .separator").count() >= 1
    assert "without bound" in page.inner_text("#sentence")
    values, sizes = page.evaluate("""() => { const path = explorer.current.run.path;
        return [path.map(x => x.value), path.map(x => Math.hypot(...x.delta))]; }""")
    assert all(new < old for old, new in pairwise(values))
    assert all(new > old for old, new in pairwise(sizes))
    radius = page.evaluate("explorer.current.run.hull.radius")
    page.click("#enough")
    settle(page)
    assert page.evaluate("store.state.R") == pytest.approx(radius, abs=0.03)
    assert page.evaluate("store.state.R") > radius
    assert status(page) == "optimal"
    assert page.is_disabled("#enough")


@pytest.mark.parametrize("preset", ["posterior", "plane"])
def test_a_divergence_changes_the_answer_and_every_panel(visit, preset):
    page = visit.preset(preset)
    seen, texts = {}, {}
    for name in ("kl", "chi2", "reverse-kl"):
        page.check(f'input[name="phi"][value="{name}"]', force=True)
        settle(page)
        assert status(page) == "optimal"
        assert page.evaluate("explorer.current.run.gap") < 1e-10
        assert page.evaluate("explorer.current.problem.link.name") == name
        seen[name], texts[name] = (drawn(page), delta(page)), page.inner_text("#panel-ratio .formula")
    for one, other in (("kl", "chi2"), ("chi2", "reverse-kl")):
        assert seen[one][1] != seen[other][1]
        assert texts[one] != texts[other]
        for panel in PANELS:
            assert seen[one][0][panel] != seen[other][0][panel], panel


def test_bounds_hold_and_shrink_the_region_of_moments(visit):
    page = visit.preset("plane")
    extent = "(points => Math.max(...points.map(x => x[0])))(explorer.current.run.hull.points)"
    wide, free = page.evaluate(extent), drawn(page)["ratio"]
    page.evaluate("store.change('bounds', s => { s.lo = 0.4; s.hi = 1.6; })")
    settle(page)
    assert page.evaluate(extent) < wide
    assert page.locator("#panel-hull .plot .outer").count() == 1
    ratios = page.evaluate("(m => m.run.mu.map((w, j) => w / m.base[j]))(explorer.current)")
    assert min(ratios) == pytest.approx(0.4)
    assert max(ratios) == pytest.approx(1.6)
    assert drawn(page)["ratio"] != free
    page.evaluate("store.change('bounds', s => { s.hi = 1.1; })")
    settle(page)
    assert status(page) == "infeasible"
    assert "within the bounds" in page.inner_text("#sentence")
    page.evaluate("store.replace(link.read('f=line&phi=reverse-kl&q=-1,0;1,0;2,0&b=2,0').state)")
    settle(page)
    assert status(page) == "boundary"
    assert "Reverse KL does not allow that" in page.inner_text("#sentence")
    assert figure(page, "gap") == "none"


@pytest.mark.parametrize("norm", ["2", "inf", "1"])
def test_the_ball_has_the_shape_of_its_norm(visit, norm):
    page = visit.preset("rescued")
    page.check(f'input[name="norm"][value="{norm}"]', force=True)
    settle(page)
    corners = page.get_attribute("#panel-hull .ball", "d").count("L") + 1
    assert corners == (72 if norm == "2" else 4)
    assert norm == page.evaluate("explorer.current.problem.norm")


def test_playing_goes_step_by_step_to_the_end(visit):
    page = visit.preset("curve")
    steps = page.evaluate("explorer.current.steps")
    assert steps >= 4
    assert page.inner_text("#time-value") == f"{steps} / {steps}"
    page.click("#reset")
    settle(page)
    assert page.inner_text("#time-value") == f"0 / {steps}"
    assert status(page) == "solving"
    assert delta(page) != [0, 0]
    assert figure(page, "delta") == "(0.000, 0.000)"
    seen = []
    for _ in range(steps):
        seen.append(page.evaluate("model.at(explorer.current, player.now()).proof.gap"))
        page.click("#step")
        settle(page)
    assert seen[-1] < 1e-6 < seen[0]
    assert page.is_disabled("#step")
    page.click("#back")
    settle(page)
    assert page.inner_text("#time-value") == f"{steps - 1} / {steps}"
    page.evaluate("store.change('method', s => { s.method = 'gradient'; })")  # more and shorter steps
    settle(page)
    steps = page.evaluate("explorer.current.steps")
    page.click("#reset")
    page.click("#play")
    page.wait_for_selector('#play[aria-label="Pause"]')
    page.wait_for_function("player.now() >= 1")
    page.click("#play")
    page.wait_for_selector('#play[aria-label="Play"]')
    stopped = page.evaluate("player.now()")
    settle(page)
    assert page.evaluate("player.now()") == stopped < steps
    page.click("#end")
    settle(page)
    assert page.evaluate("player.now()") == steps


def test_between_steps_delta_moves_unless_motion_is_reduced(visit):
    seen = {}
    page = visit.preset("kliep")
    page.evaluate("store.change('method', s => { s.method = 'gradient'; })")  # many short steps
    settle(page)
    for motion in ("reduce", "no-preference"):
        page.emulate_media(reduced_motion=motion)
        page.evaluate("player.reset(); player.play();")
        times = page.evaluate("""() => new Promise(done => { const seen = [];
            const look = () => { seen.push(player.now());
                if (seen.at(-1) < 2) requestAnimationFrame(look); else done(seen); };
            look(); })""")
        seen[motion] = {time for time in times if time != int(time)}
        page.evaluate("player.pause()")
    assert seen["reduce"] == set()
    assert seen["no-preference"]


def test_a_session_with_keys_only(visit):
    page = visit.preset("plane")
    page.focus("#copy")
    reached = set()
    for _ in range(70):  # more than enough Tab stops
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.dataset.kind ?? document.activeElement.id")
        reached.add(kind)
        if kind == "b":
            break
    assert {
        "theme",
        "R",
        "tp",
        "yp",
        "tq",
        "yq",
        "lo",
        "hi",
        "add-q",
        "add-p",
        "play",
        "time",
        "q",
        "p",
        "b",
    } <= reached
    ring = page.evaluate("getComputedStyle(document.activeElement).strokeWidth")
    assert float(ring.removesuffix("px")) >= 2  # the focus ring is visible
    b = page.evaluate("explorer.current.b")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate("explorer.current.b[0]") == pytest.approx(b[0] + 0.1, abs=1e-3)
    page.evaluate("document.querySelector('#panel-samples .handle[data-kind=q]').focus()")
    x = page.evaluate("store.state.q[0]")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    settle(page)
    assert page.evaluate("store.state.q[0]") == pytest.approx([x[0] - 0.01, x[1] + 0.1])
    assert page.evaluate("document.activeElement.dataset.index") == "0"  # redrawing keeps the focus
    count = page.evaluate("store.state.q.length")
    page.keyboard.press("+")
    settle(page)
    assert page.evaluate("store.state.q.length") == count + 1
    assert page.evaluate("Number(document.activeElement.dataset.index)") == count
    page.keyboard.press("Delete")
    settle(page)
    assert page.evaluate("store.state.q.length") == count
    page.keyboard.press("Home")
    settle(page)
    assert page.evaluate("player.now()") == 0
    page.keyboard.press(".")
    settle(page)
    assert page.evaluate("player.now()") == 1
    page.keyboard.press("Space")
    assert page.evaluate("player.isPlaying()")
    page.keyboard.press("Space")
    assert not page.evaluate("player.isPlaying()")
    page.keyboard.press("End")
    page.keyboard.press("Control+z")
    settle(page)
    assert page.evaluate("store.state.q.length") == count + 1


def test_keys_step_whatever_has_the_focus(visit):
    page = visit.preset("kliep")
    page.click('[data-preset="curve"]')
    page.keyboard.press("Home")
    page.keyboard.press(".")
    assert page.evaluate("player.now()") == 1
    page.keyboard.press("End")
    page.focus("#R")
    page.keyboard.press(",")
    assert page.evaluate("explorer.current.steps - player.now()") == 1
    page.keyboard.press("End")  # a slider keeps its own keys
    assert page.evaluate("store.state.R") == 3


def test_a_move_counts_the_steps_of_the_problem_that_was_just_chosen(visit):
    page = visit.preset("kliep")
    left = page.evaluate(
        """() => { store.replace(presets.copy(presets.find("curve").state)); player.back();
            return explorer.current.steps - player.now(); }"""
    )
    assert left == 1


def test_every_symbol_is_explained(visit):
    page = visit.preset("kliep")
    page.click("summary:has-text('Symbols')")
    explained = page.locator(".help[open] dt").all_inner_texts()
    assert {"b", "F", "μ", "δ", "R", "ℓ", "gap"} <= set(explained)
    page.click("summary:has-text('Symbols')")


def test_a_hundred_changes_can_be_undone(visit):
    page = visit.preset("kliep")
    script = """() => { for (let i = 0; i < 120; i++) store.replace(presets.copy(presets.all[i % 2].state));
        let count = 0; while (store.canUndo()) { store.undo(); count++; } return count; }"""
    assert page.evaluate(script) == 100


def test_clicks_and_buttons_add_and_remove(visit):
    page = visit.preset("kliep")
    q, p = page.evaluate("[store.state.q.length, store.state.p.length]")
    box = page.locator("#panel-samples .plot svg").bounding_box()
    page.mouse.click(box["x"] + 0.97 * box["width"], box["y"] + 0.75 * box["height"])  # the lane of q
    settle(page)
    assert page.evaluate("[store.state.q.length, store.state.p.length]") == [q + 1, p]
    assert page.evaluate("store.state.q.at(-1)[0]") > 2.8
    page.click("#remove")
    settle(page)
    page.click("#add-p")
    settle(page)
    assert page.evaluate("[store.state.q.length, store.state.p.length]") == [q, p + 1]
    page.click("#undo")
    settle(page)
    assert page.evaluate("store.state.p.length") == p
    page.click("#redo")
    settle(page)
    assert page.evaluate("store.state.p.length") == p + 1
    page.evaluate("() => { for (let i = 0; i < 30; i++) drag.addBeside('q'); }")
    assert page.evaluate("store.state.q.length") == 24
    assert page.is_disabled("#add-q")
    page.evaluate("() => { for (let i = 0; i < 30; i++) store.remove({kind: 'q', index: 0}); }")
    settle(page)
    assert page.evaluate("store.state.q.length") == 2
    assert page.is_disabled("#remove")


def test_a_target_in_a_link_is_clamped_to_the_view(visit):
    page = visit.preset("kliep")
    read = "text => link.read(text).state.b"
    assert page.evaluate(read, "#f=plane&b=9,-9") == [3.2, -2.2]
    assert page.evaluate(read, "#f=curve&b=1,20") == [1, 9.6]


def test_a_link_restores_the_state(visit):
    page = visit.preset("sparse")
    page.evaluate("store.change('bounds', s => { s.phi = 'chi2'; s.lo = 0.12; s.hi = 3.4; })")
    drag(page, centre(page, "samples", "q", 2), (20, 15))
    page.evaluate("link.remember(true)")
    fragment = page.evaluate("location.hash")
    state, old = page.evaluate("store.state"), delta(page)
    visit.load(f"?again{fragment}")
    assert page.evaluate("store.state") == state
    assert delta(page) == old


BROKEN = (
    "#phi=none&lo=7&hi=0",
    "#q=1,2&R=oops",
    "#f=plane&q=NaN,1;2,x&norm=7",
    "#preset=nothing",
    "#b=1e9,3",
    "#%",
    "#R=%E0%A4%A",
)


def test_a_broken_link_leaves_a_valid_state(visit):
    page = visit.load(f"?broken{BROKEN[0]}")
    for fragment in BROKEN:
        page.evaluate(
            """fragment => new Promise(done => { addEventListener('hashchange', done, { once: true });
            location.hash = fragment + '&'; })""",
            fragment,
        )
        settle(page)
        assert not re.search(r"NaN|Infinity|undefined", "".join(drawn(page).values()))
        assert status(page) in ("optimal", "infeasible", "boundary")


@pytest.mark.parametrize("preset", ["posterior", "outside"])
@pytest.mark.parametrize("width", [320, 380, 700, 1000])
def test_nothing_is_wider_than_the_screen(visit, width, preset):
    page = visit.preset(preset, width=width, height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    parts = ".panel svg text, .figures dd, .transport *, .controls *"
    script = """parts => [...document.querySelectorAll(parts)]
        .filter(n => n.getClientRects().length && n.closest('[hidden]') === null)
        .filter(n => n.getBoundingClientRect().right > innerWidth + 0.5).map(n => n.outerHTML)"""
    outside = page.evaluate(script, parts)
    assert outside == []


def test_a_phone_has_one_column_and_large_touch_targets(visit):
    page = visit.open("#preset=plane", width=380, height=800, has_touch=True)
    lefts = page.evaluate("[...document.querySelectorAll('.panel')].map(p => p.getBoundingClientRect().left)")
    assert len(set(lefts)) == 1
    parts = "button, .segments label, input[type=range], summary, .handle"
    script = """parts => [...document.querySelectorAll(parts)].filter(n => n.getClientRects().length)
        .map(n => [n.id || n.className, n.getBoundingClientRect().width, n.getBoundingClientRect().height])
        .filter(([, width, height]) => width < 39.5 || height < 39.5)"""
    small = page.evaluate(script, parts)
    assert small == []
    old = delta(page)
    page.locator("#panel-samples").scroll_into_view_if_needed()
    x, y = centre(page, "samples", "q", 4)
    touch = page.context.new_cdp_session(page)
    # slowly enough for the browser to start scrolling if it could
    for kind, by in (("touchStart", 0), *(("touchMove", 5 * i) for i in range(1, 13)), ("touchEnd", None)):
        points = [] if by is None else [{"x": x + 0.3 * by, "y": y + by}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    settle(page)
    assert delta(page) != old
    assert centre(page, "samples", "q", 4) == pytest.approx((x + 18, y + 60), abs=1.5)


CROWDED = (
    "f=line&b=2.6,0&R=0.3",
    "f=line&b=-2.2,0&tq=3",
    "f=line&R=0.8&by=gradient&tp=2&tq=2",
    "f=curve&b=0.5,-0.4&norm=inf",
    "f=plane&tp=2&tq=9&R=0.5&norm=1",
    "f=line&phi=reverse-kl&lo=0.3&hi=1.4&b=1.3,0",
    "f=plane&phi=chi2&lo=0.2&hi=2&tp=0.5&tq=0.5",
)


# overlapping texts, and texts that are cut off at the edge of their panel, at several times
CROWDING = """times => times.map(time => {
    player.go(time);
    explorer.flush();
    const texts = [...document.querySelectorAll('.plot text')].filter(t => t.textContent)
        .map(t => [t, t.getBoundingClientRect()]);
    const apart = texts.filter(([t]) => !t.matches('.index'));
    const pairs = apart.flatMap(([t, p], i) => apart.slice(i + 1).filter(([u, q]) =>
        t.ownerSVGElement === u.ownerSVGElement &&
        Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 5).map(([u]) => `${t.textContent} / ${u.textContent}`));
    const cut = texts.filter(([t, inner]) => {
        const outer = t.ownerSVGElement.getBoundingClientRect();
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 3
            || inner.top < outer.top - 3; }).map(([t]) => t.textContent);
    return [time, [pairs, cut]];
})"""


@pytest.mark.parametrize("shown", [*PRESETS, *CROWDED])
def test_labels_neither_overlap_nor_are_cut_off(visit, shown):
    page = visit.preset(shown if shown in PRESETS else "kliep", width=1350)
    if shown in CROWDED:
        page.evaluate("text => { store.replace(link.read(text).state); explorer.flush(); }", shown)
    for time, (pairs, cut) in page.evaluate(CROWDING, [0, 1, 1e9]):
        assert pairs == [], f"at {time}"
        assert cut == [], f"at {time}"


def contrast(page, selector):
    """Contrast of a text with its background, as WCAG defines it."""
    return page.evaluate(
        """selector => { const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
            .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
        const node = document.querySelector(selector); let back = node;
        while (getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
        const style = getComputedStyle(node);
        const text = node instanceof SVGElement ? style.fill : style.color;
        const [a, b] = [light(text), light(getComputedStyle(back).backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }""",
        selector,
    )


TEXTS = (
    "#sentence", ".figures dt", ".legend", ".caption", ".formula", ".badge", "svg .tick", "svg .axis",
    ".chip[aria-pressed=true]", ".segments input:checked + span", ".name.of-b", ".name.of-q", ".name.of-moment",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast_in_light_and_dark(visit, scheme):
    page = visit.preset("posterior", color_scheme=scheme)
    for selector in TEXTS:
        assert contrast(page, selector) >= 4.5, selector


def test_all_panels_fit_on_a_projector(visit):
    bottoms = "[...document.querySelectorAll('.panel')].map(p => p.getBoundingClientRect().bottom)"
    for preset in PRESETS:
        page = visit.preset(preset, width=1920, height=1080)
        assert max(page.evaluate(bottoms)) <= 1080, preset
        cut = page.evaluate("[...document.querySelectorAll('.figures dd')].map(n => n.scrollWidth - n.clientWidth)")
        assert max(cut) <= 0, preset
    page.evaluate(
        "store.replace(link.read('f=plane&q=-1,-1;0,0;1,1&b=0.4,0.5').state); explorer.flush();"
    )  # δ in thousands
    assert max(abs(x) for x in delta(page)) > 1000
    assert page.evaluate("(n => n.scrollWidth - n.clientWidth)(document.querySelector('#figure-delta'))") <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_selection_is_visible_in_forced_colours(visit, scheme):
    page = visit.preset("rescued", color_scheme=scheme, forced_colors="active")
    look = """([one, other]) => [one, other].map(s => getComputedStyle(document.querySelector(s)).backgroundColor)"""
    for one, other in (
        (".chip[aria-pressed=true]", ".chip[aria-pressed=false]"),
        ("[name=space]:checked + span", "[name=space]:not(:checked) + span"),
        ("#status i", "#status"),
    ):
        chosen, rest = page.evaluate(look, [one, other])
        assert chosen != rest, one


def test_print_shows_the_result_and_the_panels_on_white(visit):
    page = visit.preset("rescued", width=760, color_scheme="dark", media="print")
    assert page.locator(".panel:visible").count() == len(PANELS)
    assert page.is_visible("#sentence")
    for part in (".controls", ".transport", ".presets", ".tools"):
        assert not page.is_visible(part)
    assert page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor") == "rgb(255, 255, 255)"
    widths = page.evaluate("[...document.querySelectorAll('.plot svg')].map(n => n.getBoundingClientRect().right)")
    assert max(widths) <= 760


def test_the_theme_follows_system_address_button_and_embedding_page(visit, browser, address, tmp_path):
    page = visit.load("?theme=dark")
    page.emulate_media(color_scheme="light")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")  # auto
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) == light != dark
    page.click("#theme")
    assert page.evaluate(ground) == dark
    page.emulate_media(color_scheme="dark")
    page.click("#theme")  # auto again
    assert page.evaluate(ground) == dark
    outer = tmp_path / "outer.html"
    outer.write_text(f'<iframe name="inner" src="{address}" width="700" height="500"></iframe>', encoding="utf-8")
    around = browser.new_page(color_scheme="light")
    around.add_init_script("addEventListener('message', event => (window.said = [...(window.said ?? []), event.data]))")
    around.goto(outer.as_uri())
    around.wait_for_function("(window.said ?? []).some(m => m.explorer === 'height')")
    said = around.evaluate("said")
    assert {"explorer": "ready"} in said
    assert next(m["height"] for m in said if m["explorer"] == "height") > 1000
    around.evaluate("frames[0].postMessage({explorer: 'theme', theme: 'dark'}, '*')")
    around.frame("inner").wait_for_function("document.documentElement.dataset.theme === 'dark'")
    around.close()


def test_a_screen_reader_gets_the_result(visit):
    page = visit.preset("plane")
    page.wait_for_function("document.getElementById('live').textContent.startsWith('Optimal.')")
    page.click('[data-preset="outside"]')
    page.wait_for_function("document.getElementById('live').textContent.startsWith('Not solved yet.')")
    page.click("#end")
    page.wait_for_function("document.getElementById('live').textContent.startsWith('Infeasible.')")
    handle = page.locator("#panel-samples .handle[data-kind=q]").first
    assert handle.get_attribute("role") == "slider"
    assert handle.get_attribute("aria-label") == "q point 1"
    assert "base weight" in handle.get_attribute("aria-valuetext")
    unnamed = page.evaluate("""() => [...document.querySelectorAll('button, input')].filter(n => !(n.textContent.trim()
        || n.getAttribute('aria-label') || (n.labels && n.labels.length))).map(n => n.outerHTML)""")
    assert unnamed == []


def test_a_proven_bound_is_not_lost_to_round_off(visit):
    page = visit.preset("kliep")
    # 99 % of the weight must go to the corner at the target, whose base weight is e^-14 of the largest
    hard = "f=curve&q=0,0;-1,0;1,0;2,0&p=0,0&tq=16&yq=-1.32,0&R=0.01&norm=inf"
    gaps = page.evaluate("text => model.build(link.read(text).state).run.path.map(x => x.proof.gap)", hard)
    assert gaps[-1] < 1e-8
    assert gaps[-1] <= min(gaps) + 1e-9


def solved(page, preset, **changes):
    """Solution of a preset with changes, from the page's own solver."""
    return page.evaluate(
        """([name, changes]) => {
            const m = model.build({ ...presets.copy(presets.find(name).state), ...changes });
            const mean = m.problem.G[0].map((_, i) => m.base.reduce((s, w, j) => s + w * m.problem.G[j][i], 0));
            return { status: m.run.status, delta: m.run.delta, mu: m.run.mu, F: m.F, b: m.b, radius: m.run.hull.radius,
                value: m.run.value, ratios: m.run.mu.map((w, j) => w / m.base[j]),
                corners: m.run.hull.hull.map(j => m.F[j]), start: norms.size(m.problem.norm, mean),
                gaps: m.run.path.map(x => x.proof.gap), size: tilt.effectiveSize(m.run.mu) }; }""",
        [preset, changes],
    )


def test_answers_and_suggestions_are_true(visit):
    page = visit.preset("kliep")
    said = """key => { const m = model.build(presets.copy(presets.find(key).state)); const { answer, tries } =
        questions.all[key]; return [answer, ...tries].map(part => questions.text(part, m)); }"""
    one = solved(page, "kliep")
    answer, *tries = page.evaluate(said, "kliep")
    order = sorted(range(len(one["F"])), key=lambda j: one["F"][j])
    assert [one["mu"][j] for j in order] == sorted(one["mu"])  # points on the right gain, those on the left lose
    assert f"from {min(one['mu']):.3f} to {max(one['mu']):.3f}" in answer
    assert f"takes {len(solved(page, 'kliep', method='gradient')['gaps']) - 1} steps" in tries[2]
    free, bound = solved(page, "bounds", lo=0, hi=None), solved(page, "bounds")
    assert bound["value"] < free["value"] - 0.04
    answer = page.evaluate(said, "bounds")[0]
    assert f"{-bound['value']:.4f} instead of {-free['value']:.4f}" in answer
    assert int(answer.split()[0]) == sum(abs(r - 0.2) < 1e-9 or abs(r - 2) < 1e-9 for r in bound["ratios"]) > 0
    assert solved(page, "bounds", lo=0.8, hi=1.2)["status"] == "infeasible"
    line = solved(page, "lsif")
    assert f"{line['mu'].count(0)} of {len(line['mu'])} points get no weight" in page.evaluate(said, "lsif")[0]
    assert line["mu"].count(0) > 0
    assert min(solved(page, "lsif", phi="kl")["mu"]) > 0
    assert len(solved(page, "lsif", hand=True, b=[0.3, 0])["gaps"]) - 1 == 1  # one Newton step for positive weights
    assert solved(page, "boundary", phi="chi2")["status"] == "optimal"
    assert solved(page, "boundary", hand=True, b=[-0.2, -0.9])["status"] == "optimal"
    assert solved(page, "posterior")["delta"][0] > solved(page, "posterior", tp=0, tq=0)["delta"][0]
    assert solved(page, "curve", hand=True, b=[0.6, 0.3])["status"] == "infeasible"
    corner = solved(page, "sparse", R=0.05)
    assert all(x != 0 for x in corner["delta"])
    edge = solved(page, "boundary")
    assert {y for (_, y), w in zip(edge["F"], edge["mu"], strict=True) if w > 1e-9} == {-1}  # all weight on one face
    outside = solved(page, "outside")
    radius = outside["radius"]
    assert solved(page, "outside", R=radius - 1e-3)["status"] == "infeasible"
    assert solved(page, "outside", R=radius + 1e-3)["status"] == "optimal"
    assert solved(page, "outside", R=outside["start"] - 1e-3)["delta"] != [0, 0]
    assert solved(page, "outside", R=outside["start"] + 1e-3)["delta"] == [0, 0]
    assert solved(page, "sparse")["delta"][1] == 0 != solved(page, "sparse")["delta"][0]
    one, other = solved(page, "sparse", norm="1", R=0.6)["delta"]
    assert one == pytest.approx(other, rel=1e-9)
    one, other = solved(page, "sparse", norm="2", R=0.6)["delta"]
    assert one > 1.5 * other > 0
    sizes = [solved(page, "posterior", tq=tq)["size"] for tq in (1, 2, 4, 8, 16)]
    assert all(new < old for old, new in pairwise(sizes))
    gaps = solved(page, "peaked")["gaps"]
    assert gaps[5] > 0.3 * gaps[0]
    assert gaps[-1] < 1e-10
    doubled = solved(page, "doubled")
    assert doubled["mu"][3] == doubled["mu"][4]
    points = page.evaluate("presets.find('doubled').state.q")
    single = solved(page, "doubled", q=[points[j] for j in (0, 1, 2, 3, 6, 8, 9)])
    assert single["corners"] == doubled["corners"]
    assert single["delta"] != pytest.approx(doubled["delta"], rel=0.05)
    slow = solved(page, "kliep", method="gradient")["gaps"]
    factors = [new / old for old, new in pairwise(slow[10:20])]
    assert max(factors) / min(factors) < 1.05
    assert max(factors) < 0.9
