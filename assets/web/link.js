"use strict";
/* The connection to the program: a web socket with the messages of the IPC socket. It keeps the values of all
 * properties that some part of the page follows. */

const byId = (id) => document.getElementById(id);

/* Makes an element with these properties and children. */
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const SILENT_MS = 6000; /* a program that says nothing for so long is gone */

let socket = null, nextId = 1, retryMs = 500, heardAt = 0, retry;
const waiting = new Map();   /* by request_id: the function that takes the answer */
const values = new Map();    /* of properties, by name */
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

/* Shows a line for some seconds: mostly why something was refused. */
function say(words) {
  const message = byId("message");
  message.textContent = words;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { message.textContent = ""; }, 5000);
}

function receive(event) {
  heardAt = performance.now();
  const message = JSON.parse(event.data);
  if (message.event === "property-change") {
    values.set(message.name, message.data);
    for (const take of followers.get(message.name) || []) take(message.data);
    return;
  }
  const answered = waiting.get(message.request_id);
  waiting.delete(message.request_id);
  if (message.error !== "success") say(message.error);
  if (answered) answered(message);
}

/* Calls take(value) now, if the value is known, and whenever it changes. */
function follow(name, take) {
  if (!followers.has(name)) {
    followers.set(name, []);
    if (socket && socket.readyState === WebSocket.OPEN) request(["observe_property", 1, name]);
  }
  followers.get(name).push(take);
  if (values.has(name)) take(values.get(name));
}

function tellLost(words) {
  document.body.classList.add("lost");
  byId("figures").textContent = words;
  byId("state").textContent = "";
  byId("alerts").replaceChildren();
}

/* Says so where the program that runs now has another token than this page. */
function explain() {
  fetch("icon.svg", { cache: "no-store" }).then((answer) => {
    if (answer.status === 403)
      tellLost("The program was started anew and has another address: open that, or scan its code.");
  }, () => {});
}

/* begin(parameters, commands) is called each time that the connection is there. */
function connect(begin) {
  clearTimeout(retry);
  const scheme = location.protocol === "https:" ? "wss://" : "ws://";
  let opened = false;
  socket = new WebSocket(scheme + location.host + "/socket", "reverie");
  heardAt = performance.now();
  socket.onmessage = receive;
  socket.onopen = () => {
    retryMs = 500;
    opened = true;
    document.body.classList.remove("lost");
    for (const name of followers.keys()) request(["observe_property", 1, name]);
    request(["get_property", "parameter-list"], (parameters) =>
      request(["get_property", "command-list"], (commands) => {
        if (commands.data) begin(parameters.data, commands.data);
      }));
  };
  socket.onclose = () => {
    socket.onclose = socket.onmessage = null; /* what is given up may come to its end much later */
    if (opened || !document.body.classList.contains("lost")) tellLost("not connected, trying again");
    if (!opened) explain();
    const unanswered = [...waiting.values()];
    waiting.clear();
    for (const answered of unanswered) answered({ error: "not connected" });
    retry = setTimeout(connect, retryMs, begin);
    retryMs = Math.min(5000, retryMs * 2);
  };
}

/* A connection may end without a word, as on a phone that slept, or never come about, as with a machine that is off.
 * The program is asked for something where it says nothing, and where it does not answer the connection is made anew: at
 * once when somebody looks again. */
function watchLink(begin) {
  const look = () => {
    const open = socket.readyState === WebSocket.OPEN, begun = socket.readyState === WebSocket.CONNECTING;
    const silent = performance.now() - heardAt;
    if ((open || begun) && silent > SILENT_MS) {
      socket.close();
      socket.onclose();
    } else if (open && silent > SILENT_MS / 3)
      request(["get_property", "figures/ready"]);
  };
  setInterval(look, SILENT_MS / 3);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    look();
    retryMs = 500;
    if (socket.readyState === WebSocket.CLOSED) connect(begin);
  });
}

/* Returns a function that sets a property. The newest value goes as soon as the one before is answered: a bar that is
 * dragged sends no more than is taken. */
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
        for (const take of followers.get(name) || []) take(values.get(name), true);
      }
    });
  };
  return send;
}
