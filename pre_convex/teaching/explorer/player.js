"use strict";
// Playback of the run: the current time, and the controls that move it.

const player = (() => {
  // null: always at the end, so that the solution follows while points are moved
  let time = null;
  let playing = false;
  let frameId = 0;
  let last = 0;
  let lastStep = 0;
  const listeners = [];
  const notify = () => listeners.forEach((f) => f());
  // a move counts the steps of the problem as it is now, so a change that waits for its frame is solved first
  let solvePending = () => {};
  const afterSolving = (move) => (to) => {
    solvePending();
    move(to);
  };
  const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  // a step takes one second, or less so that a long run takes at most twelve seconds
  const pace = () => Math.min(1000, 12000 / Math.max(lastStep, 1));

  const now = () => (time === null ? lastStep : Math.min(time, lastStep));

  function setSteps(steps) {
    lastStep = steps;
    if (time !== null && time > lastStep) time = lastStep;
  }

  function go(to) {
    pause(false);
    time = Math.max(0, Math.min(lastStep, to));
    notify();
  }

  function play() {
    if (playing) return pause();
    if (now() >= lastStep) time = 0;
    playing = true;
    last = performance.now();
    frameId = requestAnimationFrame(tick);
    notify();
  }

  // between two steps δ moves for half of the time and pauses for the other half
  let clock = null;
  function tick(at) {
    if (!playing) return;
    clock = clock === null ? now() : clock;
    clock = Math.min(lastStep, clock + (at - last) / pace());
    last = at;
    const whole = Math.floor(clock);
    const share = reducedMotion.matches ? 0 : Math.min(1, 2 * (clock - whole));
    const eased = share * share * (3 - 2 * share);
    const next = Math.min(lastStep, whole + eased);
    const changed = next !== time;
    time = next;
    if (clock >= lastStep) {
      time = lastStep;
      pause(false);
      return notify();
    }
    frameId = requestAnimationFrame(tick);
    if (changed) notify();
  }

  function pause(say = true) {
    playing = false;
    clock = null;
    cancelAnimationFrame(frameId);
    if (say) {
      time = Math.round(now());
      notify();
    }
  }

  return {
    now,
    setSteps,
    go: afterSolving(go),
    play: afterSolving(play),
    pause,
    step: afterSolving(() => go(Math.floor(now() + 1e-9) + 1)),
    back: afterSolving(() => go(Math.ceil(now() - 1e-9) - 1)),
    reset: afterSolving(() => go(0)),
    toEnd: afterSolving(() => {
      pause(false);
      time = null;
      notify();
    }),
    rewind: () => {
      time = 0;
      pause(false);
    },
    follow: () => {
      time = null;
      pause(false);
    },
    isPlaying: () => playing,
    beforeMove: (f) => (solvePending = f),
    listen: (f) => listeners.push(f),
  };
})();
