"use strict";
// The question that is being asked: three steps before it is solved, the answer and what to try next afterwards.

const task = (() => {
  const by = (id) => document.getElementById(id);
  let asked = null;
  let solved = true;

  // show a preset at its start, not solved yet
  function ask(key, undoable = true) {
    asked = key;
    solved = false;
    player.rewind();
    store.replace(presets.copy(presets.find(key).state), undoable);
  }

  // another problem, without a question, and solved
  function leave() {
    asked = null;
    solved = true;
    player.follow();
  }

  const matching = (s) => presets.all.find((preset) => JSON.stringify(preset.state) === JSON.stringify(s));

  function fill(node, html) {
    if (node.dataset.html === html) return;
    node.innerHTML = html;
    node.dataset.html = html;
  }

  function show(m, now) {
    const preset = matching(m.state);
    if (preset) asked = preset.key;
    if (now.time >= m.steps) solved = true;
    by("task").hidden = asked === null || Boolean(m.state.given);
    if (by("task").hidden) return;
    const { ask: question, look, guess, answer, tries } = questions.all[asked];
    const changed = !preset;
    fill(by("question"), question);
    by("start").hidden = solved || changed;
    by("after").hidden = !by("start").hidden;
    by("answer").hidden = changed;
    by("again").hidden = !solved && !changed;
    // answers and suggestions compare with the preset itself
    const about = changed ? model.build(presets.copy(presets.find(asked).state)) : m;
    if (!by("start").hidden) {
      fill(by("look"), questions.text(look, about));
      fill(by("guess"), questions.text(guess, about));
    } else {
      if (!changed) fill(by("answer"), `<b>Answer.</b> ${questions.text(answer, about)}`);
      fill(by("tries"), tries.map((part) => `<li>${questions.text(part, about)}</li>`).join(""));
    }
  }

  return {
    ask,
    leave,
    show,
    // whether the panels may tell what the run will find
    tells: (now) => solved || now.time > 0,
    get asked() {
      return asked;
    },
    get solved() {
      return solved;
    },
  };
})();
