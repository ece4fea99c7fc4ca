"use strict";
/* What is used while performing: scenes, prompts, the buttons for the audience's picture, clip and tempo. */

/* --- scenes, which are saved presets --- */

const SCENE_COMMANDS = [ /* with what their buttons say */
  ["take-cue", "Take"], ["preset-again", "Again"], ["undo-preset", "Undo"], ["save-preset", "Save"]];

let cueing = false; /* true: a tap cues the scene, which comes later */

function makeScene(scene) {
  const picture = make("span", { className: "thumbnail" });
  if (scene.picture) {
    const image = make("img", { src: `scene/${scene.number}.png?name=${encodeURIComponent(scene.name)}`, alt: "", loading: "lazy" });
    image.addEventListener("error", () => image.remove());
    picture.append(image);
  }
  const button = make("button", { type: "button", className: "scene", title: scene.name }, picture,
                      make("span", { className: "number", textContent: scene.number }),
                      make("span", { className: "title", textContent: scene.name }));
  button.dataset.number = scene.number;
  button.addEventListener("click", () => request(["set_property", cueing ? "cued-preset" : "saved-preset", scene.number]));
  return button;
}

let sceneShown = 0; /* the number of the scene that the list has been moved to */

/* Moves the list, but not the page, until one of its scenes can be seen. */
function moveTo(button) {
  const list = byId("scene-list"), seen = list.getBoundingClientRect(), box = button.getBoundingClientRect();
  const across = (box.left + box.right - seen.left - seen.right) / 2;
  const down = (box.top + box.bottom - seen.top - seen.bottom) / 2;
  if (box.left < seen.left || box.right > seen.right || box.top < seen.top || box.bottom > seen.bottom)
    list.scrollBy(across, down);
}

function markScenes() {
  const shown = values.get("saved-preset");
  for (const button of byId("scene-list").querySelectorAll(".scene")) {
    const number = Number(button.dataset.number);
    button.setAttribute("aria-pressed", number === shown);
    button.classList.toggle("cued", number === values.get("cued-preset"));
    if (number === shown && number !== sceneShown) {
      moveTo(button);
      sceneShown = number;
    }
  }
}

function showScenes(scenes) {
  const list = byId("scene-list");
  list.replaceChildren(...(scenes || []).map(makeScene));
  if (!scenes || !scenes.length)
    list.append(make("p", { className: "hint", textContent: scenes ? "None is saved yet." : "Started with --presets FILE, the program keeps scenes." }));
  byId("scene-buttons").hidden = !scenes;
  markScenes();
}

function buildScenes(commands) {
  const cue = makeButton("Cue", "a tap on a scene cues it: it comes when the cue is taken", () => {
    cueing = !cueing;
    cue.setAttribute("aria-pressed", cueing);
  });
  cue.setAttribute("aria-pressed", false);
  byId("scene-buttons").append(cue, ...makeButtons(commands, SCENE_COMMANDS));
  const how = ["preset-fade", "preset-at"].filter((name) => parameters.has(name)).map((name) => makeRow(parameters.get(name), name));
  const details = make("details", {}, make("summary", { textContent: "Fade, start" }), ...how);
  byId("scenes").querySelector("h2").after(details);
  follow("saved-preset", markScenes);
  follow("cued-preset", markScenes);
  follow("scene-list", showScenes);
}

/* --- prompts --- */

function makePrompt(index) {
  const name = `prompt[${index}]`, share = `blend[${index}]`;
  const button = makeButton(index, "show this prompt", () => request(["prompt", index]));
  button.setAttribute("aria-label", `show prompt ${index}`);
  const text = textControl(parameters.get("prompt[]"), name, setter(name)).below;
  const blend = makeBar(parameters.get("blend[]"), share, setter(share));
  blend.title = "weight in the blend";
  const row = make("div", { className: "prompt" }, button, text, blend);
  follow("shown-prompt", (value) => row.classList.toggle("shown", value === index));
  return row;
}

const PROMPTS_AT_HAND = 4; /* on a phone, until all are asked for */

/* Prompts that have words are shown, and one more to be written. */
function buildPrompts() {
  const count = namesOf(parameters.get("prompt[]")).length, rows = [];
  const judge = () => {
    let last = 0;
    for (let index = 1; index <= count; index++)
      if (values.get(`prompt[${index}]`)) last = index;
    rows.forEach((row, i) => { row.hidden = i > last; });
    all.classList.toggle("needed", last + 1 > PROMPTS_AT_HAND);
  };
  const all = makeButton("All", "all prompts, or the first ones", () => {
    all.setAttribute("aria-pressed", byId("prompts").classList.toggle("all"));
  });
  all.id = "all-prompts";
  all.setAttribute("aria-label", "all prompts");
  all.setAttribute("aria-pressed", false);
  byId("prompts").querySelector("h2").append(all);
  for (let index = 1; index <= count; index++) {
    const row = makePrompt(index);
    row.classList.toggle("later", index > PROMPTS_AT_HAND);
    row.classList.toggle("last", index === PROMPTS_AT_HAND); /* makes room for a later one that is shown */
    rows.push(row);
    follow(`prompt[${index}]`, judge);
  }
  byId("prompts").append(...rows);
  judge();
}

/* --- the buttons for what the audience sees, apart from all others --- */

const STAGE_SWITCHES = ["blackout", "freeze", "bypass", "recording"];

function buildStage(commands) {
  const nav = byId("stage");
  if (commands.has("panic")) {
    const panic = makeButton("Panic", commands.get("panic").help, () => run("panic"));
    panic.className = "panic";
    nav.append(panic);
  }
  for (const name of STAGE_SWITCHES)
    if (parameters.has(name)) nav.append(makeToggle(parameters.get(name)));
}

/* --- the clip: where it is, how long it lasts still --- */

function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

const CLIP_COMMANDS = [ /* with what their buttons say */
  ["seek-start", "Start"], ["mark-in", "In"], ["mark-out", "Out"], ["clear-marks", "Whole"]];
const SOURCE_COMMANDS = [
  ["source-before", "Before"], ["next-source", "Next"], ["cue-source", "Cue next"], ["take-source", "Take"]];
const SOURCE_ROWS = ["source", "cued-source", "clip-speed", "clip-loop", "clip-in", "clip-out", "source-fade"];

function buildClip(commands) {
  if (!parameters.has("clip-position") || !parameters.has("clip-time-left")) return;
  const send = setter("clip-position");
  const bar = make("input", { type: "range", min: 0, max: 1, step: 0.1 });
  const times = byId("clip-times"), clip = byId("clip");
  bar.setAttribute("aria-label", "place in the clip");
  const hold = holdBar(bar);
  clip.append(hold, make("div", { className: "buttons" }, ...makeButtons(commands, CLIP_COMMANDS)));
  const tell = () => {
    if (hold.classList.contains("held")) return;
    const at = values.get("clip-position") || 0, left = values.get("clip-time-left") || 0;
    const speed = values.get("clip-speed") || 1, from = Math.min(values.get("clip-in") || 0, at);
    clip.hidden = left <= 0;
    bar.min = from;
    bar.max = Math.max(at + left * speed, from + 0.1); /* the time left is that of the clock, not of the file */
    bar.value = at;
    fillBar(bar);
    times.textContent = clip.hidden ? "" : `${clock(at)}, ${clock(left)} left${speed === 1 ? "" : `, x${speed}`}`;
  };
  /* "change": a file is opened anew where the finger is lifted, and not on its way */
  bar.addEventListener("change", () => send(Number(bar.value)));
  bar.addEventListener("input", () => fillBar(bar));
  follow("clip-position", tell);
  for (const name of ["clip-time-left", "clip-in", "clip-speed"]) follow(name, tell);
}

/* Which source is shown and which comes next; of a file also its place, its speed and its end. */
function buildSource(commands) {
  const rows = SOURCE_ROWS.filter((name) => parameters.has(name)).map((name) => makeRow(parameters.get(name), name));
  buildClip(commands);
  byId("source").append(make("div", { className: "buttons" }, ...makeButtons(commands, SOURCE_COMMANDS)),
                        make("details", {}, make("summary", { textContent: "Speed, end, fade" }), ...rows));
}

/* --- what is heard, and what sound and waves move --- */

/* heard: levels from 0 to 1 by name; null: nothing listens. */
function showSound(heard) {
  const section = byId("sound");
  section.hidden = !heard;
  for (const [name, level] of Object.entries(heard || {})) {
    const meter = section.querySelector(`[data-level=${name}]`) || section.appendChild(makeMeter(name));
    meter.lastChild.style.setProperty("--level", level);
  }
}

function makeMeter(name) {
  const meter = make("div", { className: "meter" }, make("span", { textContent: name }), make("i"));
  meter.dataset.level = name;
  return meter;
}

/* Marks on bars how far a value is moved from what is set. */
function showMoved(moved) {
  const names = new Set(moved.map((each) => each.name));
  for (const hold of document.querySelectorAll(".bar.moved"))
    if (!names.has(hold.firstChild.dataset.name)) hold.classList.remove("moved");
  for (const { name, base, now } of moved)
    for (const bar of document.querySelectorAll(`input[type=range][data-name="${CSS.escape(name)}"]`)) {
      const [from, to] = [base, now].map((value) => Math.min(1, Math.max(0, (value - bar.min) / (bar.max - bar.min))))
        .sort((a, b) => a - b);
      bar.parentElement.classList.add("moved");
      bar.parentElement.style.setProperty("--from", from);
      bar.parentElement.style.setProperty("--to", to);
    }
}

/* --- tempo --- */

function buildTempo(commands) {
  const section = byId("tempo"), beats = byId("beats");
  const light = () => {
    const count = Math.min(16, values.get("bar-beats") || 4), beat = Math.floor(values.get("beat") || 0) % count;
    if (beats.children.length !== count) beats.replaceChildren(...Array.from({ length: count }, () => make("i")));
    [...beats.children].forEach((dot, i) => dot.classList.toggle("lit", values.get("tempo") > 0 && i === beat));
  };
  if (commands.has("tap")) {
    const tap = make("button", { type: "button", className: "tap", textContent: "Tap", title: commands.get("tap").help });
    tap.addEventListener("pointerdown", () => run("tap")); /* the moment of the touch, not of its end */
    tap.addEventListener("keydown", (event) => {
      if (!event.repeat && (event.key === " " || event.key === "Enter")) run("tap");
    });
    section.append(tap);
  }
  for (const name of ["tempo", "tempo-from", "bar-beats"])
    if (parameters.has(name)) section.append(makeRow(parameters.get(name), name));
  for (const name of ["beat", "bar-beats", "tempo"]) if (parameters.has(name)) follow(name, light);
}
