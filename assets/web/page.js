"use strict";
/* The page as a whole: it is built from what the program lists (parameters, commands), and shows figures, alerts and the
 * picture. */

const LEAD = ["strength"]; /* with the prompts, before all others */
const BESIDE = ["show", "seed"]; /* with those that have a rank */
const FOR_KEYS = [ /* they choose what other keys act on, or want the keyboard or the window */
  "next-lora", "next-control", "next-control-value", "switch-control", "edit-prompt", "edit-negative", "parameters", "leave",
  "edit-corners", "open-page"];
const ELSEWHERE = [ /* they have buttons of their own */
  "tap", "panic", "cue-preset", "midi-learn", "next-preset", "preset-before"];
const PICTURE_MS = 200; /* between two pictures */

/* --- figures, alerts, and what covers the picture --- */

/* What is wrong or covers the picture, since when, and why. */
function alertLine(alert) {
  const since = new Date(alert.since * 1000).toLocaleTimeString();
  return make("li", {}, `${alert.words} since ${since}${alert.reason ? ": " : ""}${alert.reason}`);
}

let alertsShown = "";

function showAlerts(alerts) {
  const now = JSON.stringify(alerts.map((alert) => [alert.words, alert.since, alert.reason]));
  if (now !== alertsShown || !byId("alerts").children.length) byId("alerts").replaceChildren(...alerts.map(alertLine));
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
  showSound(figures.sound);
  showMoved(figures.moved || []);
  const rate = figures.fps > 0 && figures.fps < 10 ? figures.fps.toFixed(2) : figures.fps.toFixed(1);
  const counts = [`${rate}\u00a0frames/s`, `${figures["latency-ms"].toFixed(0)}\u00a0ms`, `${figures.dropped}\u00a0skipped`];
  if (figures["budget-ms"] > 0) counts.push(`${figures.missed}\u00a0missed`);
  byId("figures").textContent = figures.ready ? counts.join(", ") : "loading the model";
  byId("state").textContent = stateWords(figures).join(", ");
}

/* --- building the page --- */

function buildPicture() {
  const byRank = [...parameters.values()].filter((each) => each.rank > 0 && !["Scenes", "Prompts"].includes(each.group))
    .sort((a, b) => a.rank - b.rank);
  const beside = BESIDE.map((name) => parameters.get(name)).filter(Boolean);
  for (const parameter of [...byRank, ...beside])
    byId(LEAD.includes(parameter.name) ? "lead" : "main").append(...makeRows(parameter));
}

/* Switches that are neither the audience's nor part of a tool. */
function isToggle(parameter) {
  return parameter.type === "switch" && !parameter.count && ["nothing", "frame"].includes(parameter.need) &&
    !STAGE_SWITCHES.includes(parameter.name) && parameter.name !== "modulation" && parameter.name !== "test-card";
}

/* Commands that do what no bar, switch or list of the page does. */
function isButton(command) {
  const parameter = parameters.get(command.parameter);
  const controlled = parameter && ["switch", "choice"].includes(parameter.type);
  return command.value !== undefined && !command.name.startsWith("quit") && !command.repeats && !controlled &&
    ![...FOR_KEYS, ...ELSEWHERE].includes(command.name) &&
    ![...SCENE_COMMANDS, ...CLIP_COMMANDS, ...SOURCE_COMMANDS].some(([name]) => name === command.name);
}

function buildCommands(commands) {
  byId("toggles").append(...[...parameters.values()].filter(isToggle).map(makeToggle));
  const words = [...commands.values()].filter(isButton).map(({ name }) => [name, capital(name.replaceAll("-", " "))]);
  byId("buttons").append(...makeButtons(commands, words));
}

function build(commands) {
  buildScenes(commands);
  buildPrompts();
  buildPicture();
  buildCommands(commands);
  buildStage(commands);
  buildSource(commands);
  buildTempo(commands);
  buildWaves();
  buildCorners();
  buildMidi();
  buildAll();
  follow("refusal-list", markRefused);
  follow("figures", showFigures);
  for (const name of Object.keys(BADGES)) follow(name, showBadge);
}

let built = null; /* the list of parameters that the page was built from */

function begin(parameterList, commandList) {
  const list = JSON.stringify(parameterList);
  if (built && built !== list) {
    location.reload(); /* another version serves now */
    return;
  }
  if (!built) {
    for (const parameter of parameterList) parameters.set(parameter.name, parameter);
    build(new Map(commandList.map((command) => [command.name, command])));
  }
  built = list;
}

/* --- the picture --- */

const PICTURE_LATE_MS = 5000;

let pictures = true, lookTimer;

/* One is asked for when the one before is there or does not come, and only while somebody can see it. */
function lookAgain(ms) {
  clearTimeout(lookTimer);
  lookTimer = setTimeout(() => {
    if (document.hidden || !pictures || document.body.classList.contains("lost")) return lookAgain(500);
    byId("preview").src = "picture.jpg?" + Date.now();
    lookAgain(PICTURE_LATE_MS);
  }, ms);
}

function watchPicture() {
  const preview = byId("preview");
  preview.addEventListener("load", () => {
    preview.classList.add("there");
    lookAgain(PICTURE_MS);
  });
  preview.addEventListener("error", () => {
    preview.classList.remove("there");
    lookAgain(1000);
  });
  byId("picture").addEventListener("click", () => {
    pictures = !pictures;
    byId("picture").classList.toggle("folded", !pictures);
    byId("picture").setAttribute("aria-expanded", pictures);
  });
  lookAgain(0);
}

byId("status").addEventListener("click", () => byId("status").classList.toggle("whole"));
connect(begin);
watchLink(begin);
watchPicture();
