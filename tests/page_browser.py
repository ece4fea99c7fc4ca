#!/usr/bin/env python3
"""Touches the web page of a running window in a browser, as on a phone, and asks the program over IPC what came of it.

    page_browser.py REVERIE [FOLDER]

With FOLDER it leaves pictures of the page there. Skipped where Chromium is not installed, or does not start."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "rigs"))
import browser as rig
from browser import until

WRITTEN = 8  # scenes of the file before any is saved
PHONES = ((390, 844), (320, 568), (844, 390))


class Program:
    """A window that plays the sample clip, with mini, in a folder that has all that it writes."""

    running = []

    def __init__(self, reverie, folder, web):
        clip = os.environ["REVERIE_ASSETS"] + "/sample.mp4"
        self.log = folder / "log.txt"
        self.log.write_text("")
        (folder / "ipc.sock").unlink(missing_ok=True)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.abspath(reverie), "live", clip, clip, "--clip-loop", "loop", "--size", "64x64",
                 "--window", "64x64", "--threads", "1", "--web=" + web, "--ipc", "ipc.sock",
                 "--presets", "show.json", "--midi=midi", "--tempo", "120", "--lfo", "mix=sine*0.2@4b"],
                cwd=folder, stderr=log,
                env={**os.environ, "SDL_VIDEODRIVER": "offscreen", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
                     "XDG_CACHE_HOME": str(folder)})
        self.running.append(self.process)
        until("the page's address", lambda: "the page is at " in self.said())
        self.url = re.search("the page is at (.*)", self.said())[1]
        self.port = int(re.search(r":(\d+)/", self.url)[1])
        until("the socket", (folder / "ipc.sock").exists)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(rig.LIMIT_S)
        place = os.getcwd()
        os.chdir(folder)  # the name of a socket may be short only
        self.socket.connect("ipc.sock")
        os.chdir(place)
        self.lines = self.socket.makefile("rw", encoding="utf-8")

    def said(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the program ended with {self.process.returncode}:\n{self.log.read_text()}")
        return self.log.read_text()

    def ask(self, *command):
        self.lines.write(json.dumps({"command": command}) + "\n")
        self.lines.flush()
        answer = json.loads(self.lines.readline())
        if answer["error"] != "success":
            raise SystemExit(f"{command}: {answer}")
        return answer.get("data")

    def get(self, name):
        return self.ask("get_property", name)

    def set(self, name, value):
        self.ask("set_property", name, value)

    def wait(self, name, is_right):
        try:
            until(f"the program's {name}", lambda: is_right(self.get(name)))
        except SystemExit as error:
            raise SystemExit(f"{error}, which is {self.get(name)}")

    def end(self):
        self.process.terminate()
        self.process.wait()

    @classmethod
    def end_all(cls):
        for process in cls.running:
            process.kill()
            process.wait()


def text(element):
    return f"document.querySelector('{element}').textContent"


def steps(right, down):
    return [(right * part / 8, down * part / 8) for part in range(9)]


def unfold(page, name):
    page.tap(f"#{name} > summary")
    page.wait(f"document.getElementById('{name}').open")


def catch_up(page, program):
    """Waits until the page has been sent all that was set until now: values come in the order of the moments at which
    they were so."""
    value = 0.25 if program.get("mix") != 0.25 else 0.75
    program.set("mix", value)
    page.wait(f"values.get('mix') === {value}")


# --- what a finger does ---

def scenes(page, program):
    page.wait("!document.getElementById('scene-buttons').hidden")
    program.wait("figures/shown", lambda count: count > 1)
    for number, strength in ((WRITTEN + 1, 0.3), (WRITTEN + 2, 0.7)):
        program.set("strength", strength)
        page.tap("#scene-buttons [data-name=save-preset]")
        program.wait("scene-list", lambda scenes: len(scenes) == number)
        second = int(time.time())
        until("another second, by which scenes are named", lambda: int(time.time()) != second)
    page.evaluate("document.getElementById('scene-list').scrollLeft = 1e6")  # pictures that are not seen are not loaded
    page.wait("((all) => all.length === 2 && all.every((each) => each.complete && each.naturalWidth > 0))"
              "([...document.querySelectorAll('.thumbnail img')])")
    page.tap(f"[data-number='{WRITTEN + 1}']")
    program.wait("strength", lambda value: value == 0.3)
    page.wait(f"document.querySelector('[data-number=\"{WRITTEN + 1}\"]').getAttribute('aria-pressed') === 'true'")
    top = page.evaluate("scrollY")
    for number in (2, WRITTEN):  # a scene that comes by itself is moved to where it is seen, and the page stays
        program.set("saved-preset", number)
        program.wait("strength", lambda value: value == number / 10)
        page.wait(f"((box) => box.left >= 0 && box.right <= innerWidth && scrollY === {top})"
                  f"(document.querySelector('[data-number=\"{number}\"]').getBoundingClientRect())")


def sliders(page, program):
    program.set("strength", 0.5)
    page.wait("values.get('strength') === 0.5")
    page.touch("input[data-name=strength]", steps(80, 4))
    program.wait("strength", lambda value: 0.6 < value < 0.9)
    shown = "Number(document.querySelector('input[name=strength]').value)"
    until("the page's number is the program's", lambda: page.evaluate(shown) == program.get("strength"))
    page.tap("input[name=strength]")
    page.evaluate("document.activeElement.select()")
    page.press("Backspace", 8)
    page.press("Enter", 13, "\r")
    until("a number that was deleted is there again", lambda: page.evaluate(shown) == program.get("strength"))


def prompts(page, program):
    page.tap("input[name='prompt[2]']")
    page.wait("document.activeElement.name === 'prompt[2]' && document.activeElement.offsetWidth > 0.8 * innerWidth")
    page.write("Ein Fuchs")
    page.evaluate("document.activeElement.dispatchEvent(new Event('change'))")
    program.wait("prompt[2]", lambda words: words == "Ein Fuchs")
    page.write("Ein Fuchs im Schnee, \u5c71")  # what comes a moment after words were sent does not take back later ones
    page.evaluate("document.activeElement.dispatchEvent(new FocusEvent('blur'))")  # the window, not the words, are left
    program.set("prompt[2]", "what somebody else writes")
    page.wait("values.get('prompt[2]') === 'what somebody else writes'")
    page.evaluate("new Promise((later) => setTimeout(later, 2 * HELD_MS))")  # what is typed stays
    page.press("Enter", 13, "\r")
    program.wait("prompt[2]", lambda words: words == "Ein Fuchs im Schnee, \u5c71")
    page.tap("button[aria-label='show prompt 2']")
    program.wait("shown-prompt", lambda number: number == 2)
    page.touch("input[data-name='blend[1]']", steps(40, 0))
    program.wait("blend[1]", lambda value: value > 0.2)


def audience(page, program):
    for name, badge in (("freeze", "frozen"), ("blackout", "blackout")):
        height = page.evaluate("document.querySelector('header').offsetHeight")
        page.tap(f"#stage [data-name={name}]")
        program.wait(name, bool)
        page.wait(f"{text('#badge')} === '{badge}'", f"{text('#alerts')}.startsWith('{badge}')")
        if page.evaluate("document.getElementById('state').textContent = 'words '.repeat(100); "
                         "document.querySelector('header').offsetHeight") != height:
            raise SystemExit("alerts and notices move the page")
        page.tap(f"#stage [data-name={name}]")
        program.wait(name, lambda on: not on)
    page.tap("#stage [data-name=freeze]")
    program.wait("freeze", bool)
    page.tap("#stage .panic")
    program.wait("bypass", bool)
    program.wait("freeze", lambda on: not on)
    page.wait(f"{text('#waves-state')} === 'held off'")
    page.tap("#stage [data-name=bypass]")
    program.wait("bypass", lambda on: not on)


def waves(page, program):
    unfold(page, "waves")
    page.tap("#waves input[name=modulation]")
    program.wait("modulation", bool)
    page.evaluate("document.querySelector('select[name=\"lfo[2]\"]').focus()")
    page.press("ArrowDown", 40)
    program.wait("lfo[2]", lambda name: name == "strength")  # what matters most is the first one
    page.touch("input[data-name='lfo[2].amount']", steps(50, 0))
    program.wait("lfo[2].amount", lambda value: value != 0)
    page.wait("document.querySelector('input[data-name=strength]').parentElement.classList.contains('moved')")
    refused = page.evaluate("""Promise.all([...document.querySelectorAll('select[name="lfo[3]"] option')].map(
        (option) => new Promise((told) => request(['set_property', 'lfo[3]', option.value || null],
        (answer) => told(answer.error))))).then((errors) => errors.filter((error) => error !== 'success'))""")
    if refused:
        raise SystemExit(f"the page offers what a wave cannot move: {refused}")
    program.set("lfo[3]", None)
    catch_up(page, program)  # the first that was asked for was nothing, too, and what comes late moves what is below
    page.wait("values.get('lfo[3]') === null",
              "document.querySelector('input[name=\"lfo[3].amount\"]').offsetHeight === 0")


def corners(page, program):
    unfold(page, "corners")
    page.touch(".handle", steps(24, 12))
    program.wait("corner[1].x", lambda value: value > 0.05)
    program.wait("corner[1].y", lambda value: value > 0.03)
    program.set("corner[1].x", 0)
    program.set("corner[1].y", 0)


def midi(page, program, folder):
    unfold(page, "midi")
    page.tap("#learn")
    page.wait("document.getElementById('learning').offsetHeight > 0")
    page.tap("#lead .name")
    program.wait("midi-learn", lambda name: name == "strength")
    with open(folder / "midi", "wb", buffering=0) as knob:
        for value in range(0, 128, 3):
            knob.write(bytes((0xB0, 21, value)))
        program.wait("midi-list", lambda known: [each["sets"] for each in known["bindings"]] == ["strength"])
        page.wait(f"document.querySelectorAll('#knobs tr').length === 1 && {text('#knobs td')} === 'cc 21'")
        page.tap("#learning button")
        page.wait("document.getElementById('learning').hidden")
        for value in range(127, 30, -1):
            knob.write(bytes((0xB0, 21, value)))
        program.wait("strength", lambda value: abs(value - 31 / 127) < 0.01)
    program.set("lfo[2]", None)


def clip(page, program):
    page.tap("#clip [data-name=mark-in]")
    program.wait("clip-in", lambda value: value > 0)
    page.tap("#clip [data-name=clear-marks]")
    program.wait("clip-in", lambda value: value == 0)
    program.set("pause", True)
    page.tap("#clip [data-name=seek-start]")
    program.wait("clip-position", lambda value: value == 0)
    page.wait("((bar) => bar.max > 7 && Number(bar.value) === 0)(document.querySelector('#clip input'))")
    page.touch("#clip input", steps(100, 0))
    program.wait("clip-position", lambda value: 1 < value < 4)
    page.tap("#source [data-name=cue-source]")
    program.wait("cued-source", lambda number: number == 2)
    program.set("pause", False)
    page.tap("#source [data-name=take-source]")
    program.wait("source", lambda number: number == 2)


# --- what the page is like ---

def first_screen(page, program):
    page.evaluate("scrollTo(0, 0)")
    for shown in (8, 1):
        program.set("shown-prompt", shown)
        page.wait(f"document.querySelector('button[aria-label=\"show prompt {shown}\"]').offsetHeight > 0",
                  f"values.get('shown-prompt') === {shown}",
                  "document.querySelector('#lead').getBoundingClientRect().bottom < "
                  "document.querySelector('#stage').getBoundingClientRect().top")


SMALL = """[...document.querySelectorAll('button, summary, select, input')].filter((each) => {
    const box = (each.type === 'range' ? each.parentElement : each).getBoundingClientRect();
    return box.width && Math.min(box.width, box.height) < 43.9; }).map((each) => each.outerHTML.slice(0, 120))"""
CUT = """[...document.querySelectorAll('#stage button, .buttons button, .name, summary, h2, .unit')].filter((each) =>
    each.offsetWidth && each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)"""
UNNAMED = """[...document.querySelectorAll('input, select, button')].filter((each) => !each.ariaLabel &&
    (each.tagName !== 'BUTTON' || !each.textContent.trim())).map((each) => each.outerHTML.slice(0, 120))"""
COVERED = """document.querySelector('#stage').offsetHeight + document.querySelector('header').offsetHeight >
    0.4 * innerHeight"""


def shapes(page, pictures):
    """Everything is as large as a finger needs, and whole, on phones that are tall, small, or on their side."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait("document.querySelectorAll('#all .row').length > 100")
    for width, height in PHONES:
        page.resize(width, height, True)
        page.wait(f"innerWidth === {width}", "matchMedia('(pointer: coarse)').matches")
        for what, script in (("too small", SMALL), ("cut off", CUT), ("without a name", UNNAMED)):
            found = page.evaluate(script)
            if found:
                raise SystemExit(f"{what} at {width}x{height}: {found}")
        if page.evaluate(COVERED) or page.evaluate("document.documentElement.scrollWidth") > width:
            raise SystemExit(f"too large at {width}x{height}")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = false; })")
    for width, height, phone in (*((*each, True) for each in PHONES), (1440, 900, False)):
        page.resize(width, height, phone)
        page.evaluate("scrollTo(0, 0)")
        if pictures:
            page.shoot(f"{pictures}/{width}x{height}.png")
    page.resize(*PHONES[0], True)


def two_pages(page, program):
    first, second = page.session, page.open_window()
    page.open(program.url)
    for value in range(600):
        program.set("mix", value / 600)
        program.set("blend[3]", value / 1200)
    for session in (second, first):
        page.session = session
        page.wait("values.get('mix') === 599 / 600",
                  "document.querySelector('input[data-name=\"blend[3]\"]').value === '0.5'")
    page.touch("input[data-name=strength]", steps(60, 0))
    page.wait("waiting.size === 0")  # the program has taken the last value of the bar, so that strength stays as it is
    strength = f"values.get('strength') === {program.get('strength')}"
    page.session = second
    page.wait(strength)
    page.load("Page.reload")
    page.wait("document.querySelectorAll('.row').length > 5", strength)
    page.ask("Page.close")
    page.session = first


def lost_and_found(page, program, reverie, folder):
    """The page notices by itself when the program hangs, ends, is there again, and has another address."""
    lost, back = (f"{sign}document.body.classList.contains('lost')" for sign in ("", "!"))
    os.kill(program.process.pid, signal.SIGSTOP)
    page.evaluate("heardAt -= SILENT_MS")
    page.wait(lost)
    page.wait("socket.readyState === WebSocket.CONNECTING")
    page.evaluate("socket.isOld = true; heardAt -= SILENT_MS")
    page.wait("!socket.isOld")  # a connection that does not come about is given up, too
    os.kill(program.process.pid, signal.SIGCONT)
    page.wait(back)
    program.end()
    page.wait(lost, f"{text('#figures')}.includes('not connected')")
    program = Program(reverie, folder, f"127.0.0.1:{program.port}")
    page.wait(back)
    page.tap("#stage [data-name=blackout]")
    program.wait("blackout", bool)
    program.end()
    page.wait(lost)
    program = Program(reverie, folder, f"0.0.0.0:{program.port}")
    page.wait(lost, f"{text('#figures')}.includes('another address')")
    here, token = f"http://127.0.0.1:{program.port}/", re.search("token=(.*)", program.url)[1]
    for wrong in ("", "?token=" + token[::-1]):
        try:
            urllib.request.urlopen(here + wrong, timeout=rig.LIMIT_S)
            raise SystemExit("the page is for everybody")
        except urllib.error.HTTPError as error:
            if error.code != 403:
                raise
    page.open(here + "?token=" + token)
    page.tap("#stage [data-name=freeze]")
    program.wait("freeze", bool)
    return program


def main(reverie, pictures=None):
    with rig.start() as page, tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.mkfifo(folder / "midi")
        written = [{"name": f"scene {number}", "values": {"strength": number / 10}} for number in range(1, WRITTEN + 1)]
        (folder / "show.json").write_text(json.dumps({"presets": written}), encoding="utf-8")
        try:
            program = Program(reverie, folder, "127.0.0.1:0")
            page.resize(*PHONES[0], True)
            page.open(program.url)
            scenes(page, program)
            first_screen(page, program)
            sliders(page, program)
            prompts(page, program)
            audience(page, program)
            waves(page, program)
            corners(page, program)
            midi(page, program, folder)
            clip(page, program)
            two_pages(page, program)
            shapes(page, pictures)
            program = lost_and_found(page, program, reverie, folder)
            program.end()
        finally:
            Program.end_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
