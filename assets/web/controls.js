"use strict";
/* Controls for parameters of each type, and rows of a label and a control. */

const HELD_MS = 400; /* a control just used is not moved by what comes */

/* Shows what comes, but for a moment after the control itself was used, which then shows the newest. Words or a number
 * that somebody is typing stay until they are sent or left. */
function show(name, element, put) {
  let usedAt = -HELD_MS, timer, typing = false;
  const use = () => { usedAt = performance.now(); };
  const putLater = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (!typing) put(values.get(name)); }, ms);
  };
  element.addEventListener("input", () => {
    use();
    typing = ["text", "number"].includes(element.type);
  });
  element.addEventListener("change", () => {
    use();
    typing = false;
    if (element.type === "number" && element.value === "") putLater(HELD_MS); /* nothing was sent */
  });
  element.addEventListener("blur", () => {
    if (!typing || document.activeElement === element) return; /* a window that is left keeps its element */
    typing = false;
    putLater(HELD_MS);
  });
  follow(name, (value, now) => {
    const left = usedAt + HELD_MS - performance.now();
    clearTimeout(timer);
    if (typing) return;
    if (!now && left > 0) putLater(left);
    else put(value);
  });
}

/* Each of these returns the parts of a control: `head` stands beside the label, `below` under it; `wide`: the number has
 * so many digits that it needs the room of a bar. */

/* Returns an element in which a bar lies and which moves it. A finger moves the knob from where it is, so that nothing
 * jumps, and a finger that scrolls the page across the bar moves nothing, as it would move the browser's own bar; a tap
 * and a mouse set the bar to their place. */
function holdBar(bar) {
  const KNOB = 16, SLACK = 6; /* pixels: width of the knob; how far a finger moves before the bar follows */
  const hold = make("div", { className: "bar" }, bar);
  let start = null;
  const share = () => (bar.value - bar.min) / (bar.max - bar.min);
  const room = () => bar.getBoundingClientRect().width - KNOB;
  const place = (event) => (event.clientX - bar.getBoundingClientRect().left - KNOB / 2) / room();
  const put = (to) => {
    bar.value = Number(bar.min) + Math.min(1, Math.max(0, to)) * (bar.max - bar.min);
    bar.dispatchEvent(new Event("input"));
  };
  hold.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const touched = event.pointerType === "touch";
    start = { at: place(event), share: touched ? share() : place(event), moves: !touched };
    hold.setPointerCapture(event.pointerId);
    bar.focus({ preventScroll: true });
    hold.classList.add("held");
    if (!touched) put(start.at);
  });
  hold.addEventListener("pointermove", (event) => {
    if (!start) return;
    const by = place(event) - start.at;
    start.moves = start.moves || Math.abs(by) * room() > SLACK;
    if (start.moves) put(start.share + by);
  });
  const end = (event) => {
    if (!start) return;
    const tapped = event.type === "pointerup" && !start.moves;
    if (tapped) put(place(event));
    if (tapped || start.moves) bar.dispatchEvent(new Event("change"));
    start = null;
    hold.classList.remove("held");
  };
  hold.addEventListener("pointerup", end);
  hold.addEventListener("pointercancel", end);
  return hold;
}

/* Colours the part of a bar up to its value. */
function fillBar(bar) {
  bar.style.setProperty("--share", (bar.value - bar.min) / (bar.max - bar.min));
}

function makeBar(parameter, name, send) {
  const step = parameter.type === "whole" ? 1 : 10 ** -parameter.decimals;
  const bar = make("input", { type: "range", min: parameter.low, max: parameter.high, step });
  const fill = () => fillBar(bar);
  bar.setAttribute("aria-label", labelOf(parameter, name));
  bar.dataset.name = name;
  bar.addEventListener("input", () => {
    fill();
    send(Number(bar.value));
  });
  show(name, bar, (value) => {
    bar.value = value;
    fill();
  });
  return holdBar(bar);
}

function numberControl(parameter, name, send) {
  const wide = parameter.high - parameter.low > 1e5;
  const keys = parameter.min < 0 ? "" : "decimal"; /* on some phones the keys for "decimal" have no minus */
  const number = make("input", { name, type: "number", min: parameter.min, max: parameter.max, step: "any",
                                 inputMode: keys });
  number.setAttribute("aria-label", labelOf(parameter, name));
  number.addEventListener("change", () => { if (number.value !== "") send(Number(number.value)); });
  show(name, number, (value) => {
    number.value = parameter.type === "whole" ? value : Number(value.toFixed(parameter.decimals));
  });
  if (wide) return { head: number, wide };
  const below = makeBar(parameter, name, send), bar = below.firstChild;
  bar.addEventListener("input", () => { number.value = bar.value; });
  return { head: number, below };
}

function switchControl(parameter, name, send) {
  const box = make("input", { name, type: "checkbox" });
  box.setAttribute("role", "switch");
  box.setAttribute("aria-label", labelOf(parameter, name));
  box.addEventListener("change", () => send(box.checked));
  show(name, box, (value) => { box.checked = value; });
  return { head: box };
}

/* A list from which one word is chosen; options: of [value, text] or of words. */
function makeList(name, label, options, send) {
  const list = make("select", { name }, ...options.map((option) => {
    const [value, textContent] = Array.isArray(option) ? option : [option, option];
    return make("option", { value, textContent });
  }));
  list.setAttribute("aria-label", label);
  list.addEventListener("change", () => send(list.value));
  return list;
}

function choiceControl(parameter, name, send) {
  const list = makeList(name, labelOf(parameter, name), parameter.choices, send);
  show(name, list, (value) => { list.value = value; });
  return { head: list };
}

function textControl(parameter, name, send) {
  const text = make("input", { name, type: "text", maxLength: 2000, autocomplete: "off", autocapitalize: "none",
                               spellcheck: false, enterKeyHint: "done" });
  text.setAttribute("aria-label", labelOf(parameter, name));
  text.addEventListener("change", () => send(text.value === "" && parameter.type === "text" ? null : text.value));
  text.addEventListener("keydown", (event) => { if (event.key === "Enter") text.blur(); });
  show(name, text, (value) => { text.value = value === null ? "" : value; });
  return parameter.type === "size" ? { head: text } : { below: text };
}

const CONTROLS = { real: numberControl, whole: numberControl, switch: switchControl, choice: choiceControl,
                   size: textControl, text: textControl };

/* --- parameters as they are named and described --- */

const parameters = new Map(); /* by name, as the program lists them */

function namesOf(parameter) {
  if (!parameter.count) return [parameter.name];
  return Array.from({ length: parameter.count }, (_, i) => parameter.name.replace("[]", `[${parameter.first + i}]`));
}

/* What people read: "LoRA 3 weight" for lora[3].weight. */
function labelOf(parameter, name) {
  const number = /\[(\d+)\]/.exec(name);
  return (parameter.label || name).replace("[]", number ? number[1] : "").replace(/\s+/g, " ").trim();
}

/* Files are not chosen here, nor what is set when the program starts. */
function isSettable(parameter) {
  const file = parameter.type === "text" && ["engine", "reading"].includes(parameter.need);
  return parameter.need !== "start" && !file;
}

/* A parameter of something that is not there, as lora[3].weight, is hidden. */
function hideWithout(name, row) {
  const dot = name.indexOf("].");
  if (dot < 0) return;
  const owner = name.slice(0, dot + 1);
  if (!parameters.has(owner.replace(/\[\d+\]/, "[]"))) return;
  row.hidden = true;
  follow(owner, (value) => { row.hidden = value === null || value === undefined || value === "none"; });
}

/* A label, which tells more when it is tapped, and a control. words: what the label says. */
function makeRow(parameter, name, words = labelOf(parameter, name)) {
  const control = CONTROLS[parameter.type](parameter, name, setter(name));
  const label = make("button", { type: "button", className: "name", textContent: words });
  label.setAttribute("aria-expanded", false);
  label.dataset.name = name;
  const head = make("div", { className: "head" }, label);
  if (parameter.unit) head.append(make("span", { className: "unit", textContent: parameter.unit }));
  if (control.head) head.append(control.head);
  const help = make("p", { className: "help" }, make("code", { textContent: name }), ` ${parameter.help}`);
  const row = make("div", { className: "row" }, head, help);
  row.dataset.parameter = parameter.name;
  row.classList.toggle("wide", Boolean(control.wide));
  if (control.below) row.append(control.below);
  label.addEventListener("click", () => {
    if (!learn(name)) label.setAttribute("aria-expanded", row.classList.toggle("told"));
  });
  hideWithout(name, row);
  return row;
}

/* Greys rows whose parameter the model in use refuses, and says why. */
function markRefused() {
  const reasons = values.get("refusal-list") || {};
  for (const row of document.querySelectorAll("[data-parameter]")) {
    const why = reasons[row.dataset.parameter];
    row.classList.toggle("refused", Boolean(why));
    row.dataset.why = why || "";
  }
}

const makeRows = (parameter) => namesOf(parameter).map((name) => makeRow(parameter, name));

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/* --- buttons --- */

function makeButton(textContent, title, act) {
  const button = make("button", { type: "button", textContent, title: title || "" });
  button.addEventListener("click", act);
  return button;
}

/* Buttons of commands that are there; list: of commands' names with what their buttons say. */
function makeButtons(commands, list) {
  return list.filter(([name]) => commands.has(name)).map(([name, words]) => {
    const button = makeButton(words, commands.get(name).help, () => run(name));
    button.dataset.name = name;
    return button;
  });
}

/* Runs a command; while a knob is learnt, the knob is bound to the command. */
const run = (command) => { if (!learn(command)) request([command]); };

/* A switch of which there is one, as a button that stays down. */
function makeToggle(parameter) {
  const send = setter(parameter.name);
  const button = makeButton(labelOf(parameter, parameter.name), parameter.help,
                            () => { if (!learn(parameter.name)) send(!values.get(parameter.name)); });
  button.dataset.name = parameter.name;
  follow(parameter.name, (value) => button.setAttribute("aria-pressed", value));
  return button;
}
