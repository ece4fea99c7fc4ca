"use strict";
/* The page is made from what the server lists: parameters, commands, figures. Messages are those of the IPC socket. */

const SLOW = ["preparation", "engine"];
const FILES = ["engine", "reading"]; /* what a text of such a need names */
const LEAD = ["strength"]; /* above the prompts */
const FIRST = ["mix", "guidance", "image-guidance", "seed", "seed-position", "seed-walk", "show"];
const FOR_KEYS = [ /* they choose what other keys act on, or want the keyboard */
  "next-lora", "next-control", "next-control-value", "switch-control", "edit-prompt", "edit-negative", "parameters", "leave"];
const PICTURE_MS = 200; /* between two pictures */
const HELD_MS = 400;    /* a control just used is not moved by what comes */

const byId = (id) => document.getElementById(id);
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/* --- the connection --- */

let socket = null, nextId = 1, retryMs = 500;
const waiting = new Map(); /* by request_id: what takes the answer */
const values = new Map();  /* of properties, by name */
const followers = new Map(); /* by name: functions that take a value */

function request(command, answered = () => {}) {
  if (!socket || socket.readyState !== WebSocket.OPEN) {
    answered({ error: "not connected" });
    return;
  }
  const id = nextId++;
  waiting.set(id, answered);
  socket.send(JSON.stringify({ command, request_id: id }));
}

function say(words) {
  const message = byId("message");
  message.textContent = words;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { message.textContent = ""; }, 5000);
}

function receive(event) {
  const message = JSON.parse(event.data);
  if (message.event === "property-change") {
    values.set(message.name, message.data);
    for (const follow of followers.get(message.name) || []) follow(message.data);
    return;
  }
  const answered = waiting.get(message.request_id);
  waiting.delete(message.request_id);
  if (message.error !== "success") say(message.error);
  if (answered) answered(message);
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss://" : "ws://";
  socket = new WebSocket(scheme + location.host + "/socket", "reverie");
  socket.onmessage = receive;
  socket.onopen = () => {
    retryMs = 500;
    document.body.classList.remove("lost");
    request(["get_property", "parameter-list"], (parameters) =>
      request(["get_property", "command-list"], (commands) => {
        if (commands.data) build(parameters.data, commands.data);
      }));
  };
  socket.onclose = () => {
    document.body.classList.add("lost");
    byId("figures").textContent = "not connected";
    byId("state").textContent = "";
    showAlerts([]);
    const unanswered = [...waiting.values()];
    waiting.clear();
    for (const answered of unanswered) answered({ error: "not connected" });
    setTimeout(connect, retryMs);
    retryMs = Math.min(5000, retryMs * 2);
  };
}

/* --- what is set --- */

/* The newest value goes as soon as the one before is answered: a bar that is dragged sends no more than is taken. */
function setter(name) {
  let busy = false, next;
  const send = (value) => {
    if (busy) {
      next = [value];
      return;
    }
    busy = true;
    request(["set_property", name, value], (answer) => {
      busy = false;
      if (next) {
        const [newest] = next;
        next = undefined;
        send(newest);
      } else if (answer.error !== "success") {
        for (const follow of followers.get(name) || []) follow(values.get(name), true);
      }
    });
  };
  return send;
}

function follow(name, take) {
  if (!followers.has(name)) followers.set(name, []);
  followers.get(name).push(take);
}

/* Shows what comes, but for a moment after the control itself was used, which then shows the newest. */
function show(name, element, put) {
  let usedAt = -HELD_MS, timer;
  const use = () => { usedAt = performance.now(); };
  element.addEventListener("input", use);
  element.addEventListener("change", use);
  follow(name, (value, now) => {
    const left = usedAt + HELD_MS - performance.now();
    clearTimeout(timer);
    if (!now && (left > 0 || (document.activeElement === element && element.type === "text")))
      timer = setTimeout(() => put(values.get(name)), Math.max(left, HELD_MS));
    else
      put(value);
  });
}

/* --- controls of each type --- */

function numberControl(parameter, name, send) {
  const step = parameter.type === "whole" ? 1 : 10 ** -parameter.decimals;
  const wide = parameter.high - parameter.low > 1e5;
  const number = make("input", { type: "number", min: parameter.min, max: parameter.max, step: "any" });
  number.setAttribute("aria-label", name);
  number.addEventListener("change", () => { if (number.value !== "") send(Number(number.value)); });
  show(name, number, (value) => { number.value = parameter.type === "whole" ? value : Number(value.toFixed(parameter.decimals)); });
  if (wide) return { head: number, wide };
  const bar = make("input", { type: "range", min: parameter.low, max: parameter.high, step });
  bar.setAttribute("aria-label", name);
  bar.dataset.name = name;
  bar.addEventListener("input", () => {
    number.value = bar.value;
    send(Number(bar.value));
  });
  show(name, bar, (value) => { bar.value = value; });
  return { head: number, below: bar };
}

/* A switch of which there is one, as a button that stays down. */
function makeToggle(parameter) {
  const button = make("button", { type: "button", textContent: parameter.name, title: parameter.help });
  const send = setter(parameter.name);
  button.addEventListener("click", () => send(!values.get(parameter.name)));
  follow(parameter.name, (value) => button.setAttribute("aria-pressed", value));
  return button;
}

function switchControl(parameter, name, send) {
  const box = make("input", { type: "checkbox" });
  box.setAttribute("aria-label", name);
  box.addEventListener("change", () => send(box.checked));
  show(name, box, (value) => { box.checked = value; });
  return { head: box };
}

function choiceControl(parameter, name, send) {
  const list = make("select", {}, ...parameter.choices.map((word) => make("option", { value: word, textContent: word })));
  list.setAttribute("aria-label", name);
  list.addEventListener("change", () => send(list.value));
  show(name, list, (value) => { list.value = value; });
  return { head: list };
}

function textControl(parameter, name, send) {
  const text = make("input", { type: "text", maxLength: 2000, autocomplete: "off", spellcheck: false });
  text.setAttribute("aria-label", name);
  text.addEventListener("change", () => send(text.value === "" && parameter.type === "text" ? null : text.value));
  text.addEventListener("keydown", (event) => { if (event.key === "Enter") text.blur(); });
  show(name, text, (value) => { text.value = value === null ? "" : value; });
  return parameter.type === "size" ? { head: text } : { below: text };
}

const CONTROLS = { real: numberControl, whole: numberControl, switch: switchControl, choice: choiceControl,
                   size: textControl, text: textControl };

/* A parameter of something that is not there, as lora[3].weight, is hidden. */
function hideWithout(name, row) {
  const dot = name.indexOf("].");
  if (dot < 0) return;
  const owner = name.slice(0, dot + 1);
  const judge = (value) => { row.hidden = value === null || value === undefined || value === "none"; };
  judge(values.get(owner));
  follow(owner, judge);
}

function makeRow(parameter, name) {
  const control = CONTROLS[parameter.type](parameter, name, setter(name));
  const label = make("button", { type: "button", className: "name", textContent: name });
  const head = make("div", { className: "head" }, label);
  if (parameter.unit) head.append(make("span", { className: "unit", textContent: parameter.unit }));
  if (control.head) head.append(control.head);
  const row = make("div", { className: "row" }, head, make("p", { className: "help", textContent: parameter.help }));
  row.classList.toggle("wide", Boolean(control.wide));
  if (control.below) row.append(control.below);
  label.addEventListener("click", () => row.classList.toggle("told"));
  hideWithout(name, row);
  return row;
}

/* --- the parts of the page --- */

function makePrompt(parameters, index) {
  const name = `prompt[${index}]`, share = `blend[${index}]`;
  const button = make("button", { type: "button", textContent: index });
  button.setAttribute("aria-label", `show prompt ${index}`);
  button.addEventListener("click", () => request(["prompt", index]));
  const text = textControl(parameters.get("prompt[]"), name, setter(name)).below;
  const blend = numberControl(parameters.get("blend[]"), share, setter(share)).below;
  blend.title = "weight in the blend";
  const row = make("div", { className: "prompt" }, button, text, blend);
  follow("shown-prompt", (value) => row.classList.toggle("shown", value === index));
  return row;
}

function placeOf(parameter) {
  if (LEAD.includes(parameter.name)) return "lead";
  if (FIRST.includes(parameter.name)) return "main";
  if (SLOW.includes(parameter.need)) return "slow";
  return parameter.need === "nothing" ? "window" : "more";
}

function isToggle(parameter) {
  return parameter.type === "switch" && !parameter.count && ["nothing", "frame"].includes(parameter.need);
}

function isShown(parameter) {
  const file = parameter.type === "text" && FILES.includes(parameter.need);
  return parameter.need !== "start" && !file && !["prompt[]", "blend[]", "shown-prompt"].includes(parameter.name);
}

function namesOf(parameter) {
  if (!parameter.count) return [parameter.name];
  return Array.from({ length: parameter.count }, (_, i) => parameter.name.replace("[]", `[${parameter.first + i}]`));
}

function buildParameters(list) {
  const rank = (parameter) => FIRST.indexOf(parameter.name);
  const places = new Map();
  for (const id of ["lead", "main", "more", "window", "slow"]) {
    places.set(id, make("div", { className: "rows" }));
    byId(id).append(places.get(id));
  }
  byId("toggles").append(...list.filter(isToggle).map(makeToggle));
  const shown = list.filter((parameter) => isShown(parameter) && !isToggle(parameter));
  shown.sort((a, b) => rank(a) - rank(b)); /* the others stay in the table's order */
  for (const parameter of shown)
    for (const name of namesOf(parameter)) places.get(placeOf(parameter)).append(makeRow(parameter, name));
}

/* Those that do what no bar, switch or list of the page does. */
function isButton(command, byName) {
  const parameter = byName.get(command.parameter);
  const controlled = parameter && ["switch", "choice"].includes(parameter.type);
  return command.value !== undefined && !command.name.startsWith("quit") && !command.repeats && !controlled &&
    !FOR_KEYS.includes(command.name);
}

function buildCommands(list, byName) {
  for (const command of list.filter((each) => isButton(each, byName))) {
    const button = make("button", { type: "button", textContent: command.name.replaceAll("-", " "), title: command.help });
    button.addEventListener("click", () => request([command.name]));
    byId("buttons").append(button);
  }
}

/* What is wrong or covers the picture, since when, and why. */
function alertLine(alert) {
  const since = new Date(alert.since * 1000).toLocaleTimeString();
  return make("li", {}, `${alert.words} since ${since}${alert.reason ? ": " : ""}${alert.reason}`);
}

let alertsShown = "";

function showAlerts(alerts) {
  const now = JSON.stringify(alerts.map((alert) => [alert.words, alert.since, alert.reason]));
  if (now !== alertsShown) byId("alerts").replaceChildren(...alerts.map(alertLine));
  alertsShown = now;
}

/* What lies over the picture that the audience sees. */
const BADGES = { blackout: "blackout", freeze: "frozen", bypass: "bypass", pause: "paused" };

function showBadge() {
  byId("badge").textContent = Object.keys(BADGES).filter((name) => values.get(name)).map((name) => BADGES[name]).join(", ");
}

/* What is waited for, what was said last, and the model. A size that stands there already is not said twice. */
function stateWords(figures) {
  const waits = figures.alerts.length || figures.state === "loading the model" ? "" : figures.state;
  const said = [waits, figures.notice].filter(Boolean), size = figures.width > 0 ? `${figures.width}x${figures.height}` : "";
  const model = said.some((text) => text.includes(size)) ? figures.model : `${figures.model} ${size}`.trim();
  return [...said, model].filter(Boolean);
}

function showFigures(figures) {
  showAlerts(figures.alerts);
  const rate = figures.fps > 0 && figures.fps < 10 ? figures.fps.toFixed(2) : figures.fps.toFixed(1);
  const counts = [`${rate}\u00a0frames/s`, `${figures["latency-ms"].toFixed(0)}\u00a0ms`, `${figures.dropped}\u00a0skipped`];
  if (figures["budget-ms"] > 0) counts.push(`${figures.missed}\u00a0missed`);
  byId("figures").textContent = figures.ready ? counts.join(", ") : "loading the model";
  byId("state").textContent = stateWords(figures).join(", ");
}

function observeAll(list) {
  let id = 1;
  request(["observe_property", id++, "figures"]);
  for (const parameter of list)
    if (parameter.need !== "start")
      for (const name of namesOf(parameter)) request(["observe_property", id++, name]);
}

let built = null; /* the list it was built from */

function build(parameters, commands) {
  const list = JSON.stringify(parameters);
  if (built && built !== list) {
    location.reload(); /* another version serves now */
    return;
  }
  if (!built) {
    const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
    for (const name of namesOf(byName.get("prompt[]")).keys()) byId("prompts").append(makePrompt(byName, name + 1));
    buildParameters(parameters);
    buildCommands(commands, byName);
    follow("figures", showFigures);
    for (const name of Object.keys(BADGES)) follow(name, showBadge);
  }
  built = list;
  observeAll(parameters);
}

/* --- the picture --- */

let pictures = true;

/* One is asked for when the one before is there, and only while somebody can see it. */
function lookAgain(ms) {
  setTimeout(() => {
    if (document.hidden || !pictures || document.body.classList.contains("lost")) return lookAgain(500);
    byId("preview").src = "picture.jpg?" + Date.now();
  }, ms);
}

function watchPicture() {
  const preview = byId("preview");
  preview.addEventListener("load", () => lookAgain(PICTURE_MS));
  preview.addEventListener("error", () => lookAgain(1000));
  byId("picture").addEventListener("click", () => {
    pictures = !pictures;
    byId("picture").classList.toggle("folded", !pictures);
  });
  lookAgain(0);
}

connect();
watchPicture();
