"use strict";
/* What is set up before a show, or looked for: waves, corners of the window, MIDI, and all parameters. */

/* --- waves (LFOs) --- */

const WAVES = { /* height from -1 to 1 by phase from 0 to 1 */
  sine: (at) => Math.sin(2 * Math.PI * at),
  triangle: (at) => (at < 0.25 ? 4 * at : at < 0.75 ? 2 - 4 * at : 4 * at - 4),
  saw: (at) => 2 * at - 1,
  square: (at) => (at < 0.5 ? 1 : -1),
  random: (at) => Math.sin(97 * Math.floor(at * 8)) };

const SVG = "http://www.w3.org/2000/svg";

/* A drawing of one period of a wave. */
function makeCurve(prefix) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "polyline");
  svg.setAttribute("viewBox", "0 -1.2 6 2.4");
  svg.setAttribute("class", "curve");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  const draw = () => {
    const height = WAVES[values.get(`${prefix}.wave`)] || WAVES.sine, phase = values.get(`${prefix}.phase`) || 0;
    const points = Array.from({ length: 97 }, (_, i) => `${i / 16},${-height((i / 96 + phase) % 1)}`);
    path.setAttribute("points", points.join(" "));
  };
  for (const part of ["wave", "phase"]) follow(`${prefix}.${part}`, draw);
  return svg;
}

/* The parameters that a wave can move, those that matter most first. */
function movableNames() {
  const rank = (parameter) => parameter.rank || Infinity;
  const movable = [...parameters.values()].filter((each) => each.movable)
    .sort((a, b) => (rank(a) === rank(b) ? a.place - b.place : rank(a) - rank(b)));
  return movable.flatMap((each) => namesOf(each).map((name) => [name, labelOf(each, name)]));
}

function makeWave(index) {
  const prefix = `lfo[${index}]`, title = `Wave ${index}`, send = setter(prefix);
  const row = (part) => {
    const parameter = parameters.get(`lfo[].${part}`), name = `${prefix}.${part}`;
    return makeRow(parameter, name, capital(labelOf(parameter, name).replace(title, "").trim()));
  };
  const names = [["", "rests"], ...movableNames()];
  const target = makeList(prefix, `what wave ${index} moves`, names, (name) => send(name || null));
  show(prefix, target, (value) => { target.value = value || ""; });
  const head = make("div", { className: "head" }, make("b", { textContent: title }), makeCurve(prefix), target);
  const card = make("div", { className: "card" }, head, ...["amount", "period", "unit", "wave", "phase"].map(row));
  follow(prefix, (value) => card.classList.toggle("rests", !value));
  return card;
}

function buildWaves() {
  if (!parameters.has("lfo[]")) {
    byId("waves").hidden = true;
    return;
  }
  const names = namesOf(parameters.get("lfo[]")), state = byId("waves-state");
  const tell = () => {
    const heldOff = values.get("modulation") === false, moving = names.filter((name) => values.get(name)).length;
    state.textContent = heldOff ? "held off" : moving ? `${moving} of ${names.length}` : "";
    state.classList.toggle("held-off", heldOff);
  };
  if (parameters.has("modulation")) {
    byId("waves").append(makeRow(parameters.get("modulation"), "modulation"));
    follow("modulation", tell);
  }
  names.forEach((name, i) => {
    byId("waves").append(makeWave(i + 1));
    follow(name, tell);
  });
}

/* --- corner pin: four corners to be dragged --- */

const MARGIN = 0.2; /* of the window's size, on each side of it: corners may lie outside */

/* A corner stands at its place in the window and is moved from there by corner[N].x and .y, in window sizes. */
function makeCorner(box, index, redraw) {
  const home = { x: index === 2 || index === 3 ? 1 : 0, y: index > 2 ? 1 : 0 };
  const send = { x: setter(`corner[${index}].x`), y: setter(`corner[${index}].y`) };
  const shift = { x: 0, y: 0 };
  const handle = make("button", { type: "button", className: "handle", textContent: index });
  handle.setAttribute("aria-label", `corner ${index}`);
  const place = () => {
    for (const [axis, side] of [["x", "left"], ["y", "top"]])
      handle.style[side] = `${100 * (home[axis] + shift[axis] + MARGIN) / (1 + 2 * MARGIN)}%`;
    redraw();
  };
  const move = (axis, value) => {
    const { min, max } = parameters.get(`corner[].${axis}`);
    shift[axis] = Math.min(max, Math.max(min, value));
    send[axis](shift[axis]);
  };
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const area = box.getBoundingClientRect();
    move("x", (event.clientX - area.left) / area.width * (1 + 2 * MARGIN) - MARGIN - home.x);
    move("y", (event.clientY - area.top) / area.height * (1 + 2 * MARGIN) - MARGIN - home.y);
    place();
  });
  handle.addEventListener("keydown", (event) => {
    const ways = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };
    if (event.key === "Delete") ["x", "y"].forEach((axis) => move(axis, 0));
    else if (ways[event.key]) move(ways[event.key][0], shift[ways[event.key][0]] + ways[event.key][1] * (event.shiftKey ? 0.01 : 0.001));
    else return;
    event.preventDefault();
    place();
  });
  for (const axis of ["x", "y"])
    follow(`corner[${index}].${axis}`, (value) => {
      if (handle.matches(":active")) return;
      shift[axis] = value;
      place();
    });
  return { handle, at: () => ["x", "y"].map((axis) => home[axis] + shift[axis]), home: () => ["x", "y"].forEach((axis) => move(axis, 0)), place };
}

function buildCorners() {
  if (!parameters.has("corner[].x") || !parameters.has("corner[].y")) return;
  const box = make("div", { className: "pin" }), svg = document.createElementNS(SVG, "svg"), corners = [];
  const shapes = ["rect", "polygon"].map((kind) => document.createElementNS(SVG, kind));
  svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${1 + 2 * MARGIN} ${1 + 2 * MARGIN}`);
  svg.setAttribute("preserveAspectRatio", "none");
  for (const side of ["width", "height"]) shapes[0].setAttribute(side, 1);
  svg.append(...shapes);
  const redraw = () => shapes[1].setAttribute("points", corners.map((corner) => corner.at().join()).join(" "));
  for (let index = 1; index <= 4; index++) corners.push(makeCorner(box, index, redraw));
  box.append(svg, ...corners.map((corner) => corner.handle));
  for (const corner of corners) corner.place();
  const back = makeButton("Reset corners", "each corner where the window has it", () => corners.forEach((corner) => {
    corner.home();
    corner.place();
  }));
  const rows = ["test-card", "output-fit", "output-zoom", "output-rotation", "output-flip"].filter((name) => parameters.has(name))
    .map((name) => makeRow(parameters.get(name), name));
  byId("corners").append(box, make("div", { className: "buttons" }, back), ...rows);
  byId("corners").hidden = false;
}

/* --- MIDI: what sets what, and how to bind more --- */

let learning = false; /* true: a tap on a name binds the next knob that is moved to it */

/* While knobs are learnt, asks for one that is to set this parameter or run this command. Returns whether it did. */
function learn(name) {
  if (learning) request(["set_property", "midi-learn", name]);
  return learning;
}

/* While knobs are learnt a line says so above the audience's buttons, as no button does then what it says. */
function tellLearning() {
  const name = values.get("midi-learn");
  byId("learning").hidden = !learning;
  byId("learning").firstChild.textContent = name ? `MIDI: move a knob for ${name}`
    : "MIDI: tap a name or a button, then move a knob";
}

function markKnobs() {
  const bound = new Set(((values.get("midi-list") || {}).bindings || []).map((each) => each.sets.replace("command/", "")));
  for (const element of document.querySelectorAll("[data-name]")) {
    element.classList.toggle("bound", bound.has(element.dataset.name));
    element.classList.toggle("awaited", element.dataset.name === values.get("midi-learn"));
  }
}

function showKnobs(list) {
  const bindings = (list || {}).bindings || [];
  byId("knobs").replaceChildren(...bindings.map((each) => make("tr", {},
    make("td", { textContent: each.knob }), make("td", { textContent: each.channel }), make("td", { textContent: each.sets }),
    make("td", { textContent: each.low === undefined ? "" : `${each.low} to ${each.high}` }))));
  byId("no-midi").textContent = list ? "Nothing is bound yet." : "Started with --midi, the program listens to knobs and pads.";
  byId("no-midi").hidden = bindings.length > 0;
  byId("knob-table").hidden = !bindings.length;
  byId("learn").hidden = !list;
  markKnobs();
}

function buildMidi() {
  const turn = () => {
    learning = !learning;
    button.setAttribute("aria-pressed", learning);
    document.body.classList.toggle("learning", learning);
    if (!learning && values.get("midi-learn")) request(["set_property", "midi-learn", null]);
    tellLearning();
  };
  const button = makeButton("Learn", "tap the name of a parameter or a command, then move the knob that is to set it", turn);
  button.id = "learn";
  byId("learning").append(make("span"), makeButton("Done", "buttons do again what they say", turn));
  button.setAttribute("aria-pressed", false);
  const heads = ["knob", "ch.", "sets", "range"].map((textContent) => make("th", { textContent }));
  byId("midi").append(
    make("div", { className: "buttons" }, button), make("p", { className: "hint", id: "no-midi" }),
    make("table", { id: "knob-table" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", { id: "knobs" })));
  follow("midi-list", showKnobs);
  follow("midi-learn", markKnobs);
  follow("midi-learn", tellLearning);
}

/* --- all parameters, by group, with a filter --- */

/* The rows of a group are made when it is opened first: there are hundreds. */
function makeGroup(label, list) {
  const group = make("details", { className: "group" }, make("summary", { textContent: label }));
  let rows = null;
  group.makeRows = () => {
    if (rows) return;
    rows = list.flatMap(makeRows);
    group.append(make("div", { className: "rows" }, ...rows));
    markKnobs();
    markRefused();
  };
  group.filter = (words) => {
    if (words) group.makeRows();
    let found = 0;
    for (const row of rows || []) {
      const matches = row.textContent.toLowerCase().includes(words);
      row.classList.toggle("filtered", !matches);
      found += matches && !row.hidden;
    }
    group.hidden = words !== "" && !found;
    group.open = words !== "" && found > 0;
  };
  group.addEventListener("toggle", () => { if (group.open) group.makeRows(); });
  return group;
}

function buildAll() {
  const groups = new Map(), search = make("input", { type: "search", placeholder: "filter", autocomplete: "off" });
  for (const parameter of [...parameters.values()].filter(isSettable).sort((a, b) => a.place - b.place))
    groups.set(parameter.group, [...(groups.get(parameter.group) || []), parameter]);
  const details = [...groups].map(([label, list]) => makeGroup(label, list));
  search.setAttribute("aria-label", "filter the parameters");
  search.addEventListener("input", () => details.forEach((group) => group.filter(search.value.trim().toLowerCase())));
  byId("all").append(search, ...details);
}
