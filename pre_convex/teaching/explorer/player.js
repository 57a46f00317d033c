"use strict";
// Where in the run the panels are, and what moves them along it.

const player = (() => {
  // null: at the end, wherever that is, so that the answer follows while points are moved
  let time = null;
  let playing = false;
  let frameId = 0;
  let last = 0;
  let stops = 0;
  const listeners = [];
  const tell = () => listeners.forEach((f) => f());
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  // a step takes a second when there are few of them, and a run of many no more than twelve
  const pace = () => Math.min(1000, 12000 / Math.max(stops, 1));

  const now = () => (time === null ? stops : Math.min(time, stops));

  function setSteps(steps) {
    stops = steps;
    if (time !== null && time > stops) time = stops;
  }

  function go(to) {
    pause(false);
    time = Math.max(0, Math.min(stops, to));
    tell();
  }

  function play() {
    if (playing) return pause();
    if (now() >= stops) time = 0;
    playing = true;
    last = performance.now();
    frameId = requestAnimationFrame(tick);
    tell();
  }

  // between two steps δ moves for half of the time and rests for the other half
  let clock = null;
  function tick(at) {
    if (!playing) return;
    clock = clock === null ? now() : clock;
    clock = Math.min(stops, clock + (at - last) / pace());
    last = at;
    const whole = Math.floor(clock);
    const share = calm.matches ? 0 : Math.min(1, 2 * (clock - whole));
    const eased = share * share * (3 - 2 * share);
    const next = Math.min(stops, whole + eased);
    const changed = next !== time;
    time = next;
    if (clock >= stops) {
      time = stops;
      pause(false);
      return tell();
    }
    frameId = requestAnimationFrame(tick);
    if (changed) tell();
  }

  function pause(say = true) {
    playing = false;
    clock = null;
    cancelAnimationFrame(frameId);
    if (say) {
      time = Math.round(now());
      tell();
    }
  }

  return {
    now,
    setSteps,
    go,
    play,
    pause,
    step: () => go(Math.floor(now() + 1e-9) + 1),
    back: () => go(Math.ceil(now() - 1e-9) - 1),
    reset: () => go(0),
    toEnd: () => {
      pause(false);
      time = null;
      tell();
    },
    follow: () => {
      time = null;
      pause(false);
    },
    isPlaying: () => playing,
    listen: (f) => listeners.push(f),
  };
})();
