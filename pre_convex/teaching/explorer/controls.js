"use strict";
// Buttons, radio groups and sliders, which show and change the state.

const controls = (() => {
  const by = (id) => document.getElementById(id);
  const num = numbers.plain;

  // quadratic scale for the sharpness, fine near zero: position t in [0, 1] is 16 t²
  const sharp = { to: (t) => Math.round(1600 * t * t) / 100, from: (v) => Math.sqrt(v / 16) };
  const same = { to: (t) => t, from: (v) => v };

  // position 1 is no upper bound
  const upper = {
    to: (t) => (t >= 1 ? null : Math.round(Math.min(100 / (1 - t), 2000)) / 100),
    from: (v) => (v === null ? 1 : 1 - 1 / v),
  };

  const sliders = [
    ["tp", sharp, (s) => s.tp, (s, v) => (s.tp = v), (v) => (v === 0 ? "flat" : `sharpness ${num(v, v < 1 ? 2 : 1)}`)],
    ["tq", sharp, (s) => s.tq, (s, v) => (s.tq = v), (v) => (v === 0 ? "flat" : `sharpness ${num(v, v < 1 ? 2 : 1)}`)],
    ["yp", same, (s) => s.yp[0], (s, v) => (s.yp[0] = v), (v) => num(v, 2)],
    ["yq", same, (s) => s.yq[0], (s, v) => (s.yq[0] = v), (v) => num(v, 2)],
    ["lo", same, (s) => s.lo, (s, v) => (s.lo = v), (v) => (v === 0 ? "none" : num(v, 2))],
    ["hi", upper, (s) => s.hi, (s, v) => (s.hi = v), (v) => (v === null ? "none" : num(v, 2))],
    ["R", same, (s) => s.R, (s, v) => (s.R = v), (v) => num(v, model.digits(store.state) + (store.state.given ? 1 : 0))],
  ];

  function setUp() {
    for (const [id, scale, , write] of sliders) {
      by(id).addEventListener("input", () => store.change(id, (s) => write(s, scale.to(Number(by(id).value)))));
    }
    group("space", (v) => store.setSpace(v));
    group("phi", (v) => store.change("phi", (s) => (s.phi = v)));
    group("norm", (v) => store.change("norm", (s) => (s.norm = v)));
    group("method", (v) => store.change("method", (s) => (s.method = v)));
    group("target", (v) => store.setHand(v === "hand"));
    const list = by("presets");
    for (const preset of presets.all) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "chip";
      button.dataset.preset = preset.key;
      button.title = preset.hint;
      button.textContent = preset.name;
      button.addEventListener("click", () => task.ask(preset.key));
      list.append(button);
    }
    by("add-q").addEventListener("click", () => drag.addBeside("q"));
    by("add-p").addEventListener("click", () => drag.addBeside("p"));
    by("remove").addEventListener("click", () => store.selected && store.remove(store.selected));
    by("undo").addEventListener("click", store.undo);
    by("redo").addEventListener("click", store.redo);
    by("enough").addEventListener("click", () =>
      store.change("R", (s) => (s.R = Number(by("enough").dataset.radius))),
    );
    by("solve").addEventListener("click", () => player.play());
    by("again").addEventListener("click", () => task.ask(task.asked));
    by("play").addEventListener("click", () => player.play());
    by("step").addEventListener("click", player.step);
    by("back").addEventListener("click", player.back);
    by("reset").addEventListener("click", player.reset);
    by("end").addEventListener("click", player.toEnd);
    by("time").addEventListener("input", () => player.go(Number(by("time").value)));
    by("copy").addEventListener("click", copyLink);
    document.addEventListener("keydown", shortcuts);
  }

  function group(name, change) {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) {
      input.addEventListener("change", () => input.checked && change(input.value));
    }
  }

  function choose(name, value) {
    const input = document.querySelector(`input[name="${name}"][value="${value}"]`);
    if (!input.checked) input.checked = true;
  }

  function shortcuts(event) {
    if (event.altKey) return;
    // Space activates the focused element, and Home and End move a slider; other keys work everywhere
    const pressed = event.target.closest("input, button, summary");
    const slides = event.target.closest("input");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      if (event.shiftKey) store.redo();
      else store.undo();
    } else if (event.ctrlKey || event.metaKey) return;
    else if (event.key === " " && !pressed) player.play();
    else if (event.key === ".") player.step();
    else if (event.key === ",") player.back();
    else if (event.key === "Home" && !slides) player.reset();
    else if (event.key === "End" && !slides) player.toEnd();
    else return;
    event.preventDefault();
  }

  async function copyLink() {
    link.remember(true);
    const text = location.href;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    const button = by("copy");
    button.querySelector("span").textContent = done ? "Copied" : "See address bar";
    setTimeout(() => (button.querySelector("span").textContent = "Copy link"), 1600);
  }

  function show(m) {
    const s = m.state;
    for (const node of document.querySelectorAll("[data-only]")) {
      node.hidden = (node.dataset.only === "given") !== Boolean(s.given);
    }
    by("R").max = String(model.mostRadius(s));
    by("R").step = String(model.mostRadius(s) / 300);
    by("target").disabled = Boolean(s.given) && s.p.length === 0;
    for (const [id, scale, read, , say] of sliders) {
      const value = read(s);
      if (document.activeElement !== by(id) || Math.abs(scale.to(Number(by(id).value)) - value) > 1e-9)
        by(id).value = String(scale.from(value));
      by(`${id}-value`).textContent = say(value);
      by(id).setAttribute("aria-valuetext", say(value));
    }
    by("tp").disabled = s.hand;
    by("yp").disabled = s.hand || s.tp === 0;
    by("yq").disabled = s.tq === 0;
    choose("space", s.space);
    choose("phi", s.phi);
    by("about-phi").textContent = words.about[s.phi];
    choose("norm", s.norm);
    choose("method", s.method);
    choose("target", s.hand ? "hand" : "sample");
    by("norms").disabled = m.k === 1; // in one dimension all norms are equal
    const text = JSON.stringify(s);
    for (const chip of document.querySelectorAll(".chip")) {
      const preset = presets.find(chip.dataset.preset);
      const pressed = String(JSON.stringify(preset.state) === text);
      // on a phone the buttons are one line that scrolls
      if (pressed === "true" && chip.getAttribute("aria-pressed") !== pressed)
        by("presets").scrollLeft = chip.offsetLeft - by("presets").clientWidth / 2 + chip.offsetWidth / 2;
      chip.setAttribute("aria-pressed", pressed);
    }
    by("add-q").disabled = s.q.length >= model.most(s);
    by("add-p").disabled = s.hand || s.p.length >= model.most(s);
    const chosen = store.selected;
    const removable = chosen && (chosen.kind === "q" || chosen.kind === "p");
    by("remove").disabled = !removable || s[chosen.kind].length <= (chosen.kind === "q" ? 2 : 1);
    by("remove").querySelector("span").textContent = removable ? `Remove ${chosen.kind} ${chosen.index + 1}` : "Remove";
    by("undo").disabled = !store.canUndo();
    by("redo").disabled = !store.canRedo();
    const grain = model.grain(s);
    const enough = model.tidy(s, (Math.ceil(m.run.hull.radius / grain) + 2) * grain);
    by("enough").disabled = m.run.status !== "infeasible" || enough > model.mostRadius(s);
    by("enough").dataset.radius = String(enough);
    by("enough").textContent = by("enough").disabled ? "Set R so that b is in reach" : `Set R to ${num(enough, model.digits(s))}`;
  }

  function showTime(m, now) {
    const time = by("time");
    time.max = String(m.steps);
    if (Number(time.value) !== Math.round(now.time)) time.value = String(Math.round(now.time));
    time.setAttribute("aria-valuetext", `step ${Math.round(now.time)} of ${m.steps}`);
    by("time-value").textContent = `${Math.floor(now.time + 1e-9)} / ${m.steps}`;
    const playing = player.isPlaying();
    by("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    by("play").classList.toggle("playing", playing);
    by("back").disabled = by("reset").disabled = now.time <= 0;
    by("step").disabled = by("end").disabled = now.time >= m.steps;
    by("play").disabled = m.steps === 0;
  }

  return { setUp, show, showTime };
})();
