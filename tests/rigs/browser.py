"""A browser without a window, driven over the pipes of Chromium's DevTools protocol: browser.py COMMAND... where the
commands are those of act below. Exits with 77 where there is no Chromium that starts."""
import base64
import contextlib
import json
import math
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 540  # for all that a test waits for together: it ends what hangs, and a busy machine does not come near it
END = time.monotonic() + LIMIT_S
TAP_S = 20


def until(what, there):
    """Calls there() until it returns what is true. Where the time for the whole test is over before, the test fails, and
    the line says what was missing."""
    while not there():
        if time.monotonic() > END:
            raise SystemExit(f"still missing {LIMIT_S} s after the test began: {what}")
        time.sleep(0.03)


class Refused(SystemExit):
    """Chromium does not do what it is asked."""


class Browser:
    def __init__(self, program, folder):
        to_it, ours_out = os.pipe()
        ours_in, from_it = os.pipe()

        def place():  # it reads from 3 and writes to 4
            a, b = os.dup(to_it), os.dup(from_it)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + folder, "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.out, self.incoming = os.fdopen(ours_out, "wb", 0), os.fdopen(ours_in, "rb", 0)
        self.rest, self.number, self.session, self.started = b"", 0, None, False
        self.open_window()

    def open_window(self):
        """Opens an empty window, which all commands are for from now on, and returns its session."""
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank", newWindow=self.started)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.started = True
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")
        return self.session

    def receive(self, what):
        while b"\0" not in self.rest:
            until(what, lambda: select.select([self.incoming], [], [], 1)[0])
            more = os.read(self.incoming.fileno(), 65536)
            if not more and not self.started:
                print("Chromium does not start here")
                sys.exit(77)
            if not more:
                raise SystemExit("the browser is gone")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive("Chromium's answer to " + method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Refused(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """What goes wrong in the page is an error here."""
        if event.get("method") == "Runtime.exceptionThrown":
            raise SystemExit(f"in the page: {event['params']['exceptionDetails']}")
        entry = event.get("params", {}).get("entry", {})
        if entry.get("level") == "error" and entry["source"] != "network":  # a busy machine's picture may come late
            raise SystemExit(f"in the page: {entry}")

    def evaluate(self, script):
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, *states):
        """Waits for each of these states of the page in turn, which are scripts."""
        for state in states:
            until(state, lambda: self.evaluate(state))

    def drag(self, name, share):
        """A finger or mouse on a bar, from where its knob is to a share of its length."""
        box = self.evaluate(f"""(() => {{ const bar = document.querySelector('input[data-name="{name}"]');
            bar.scrollIntoView({{block: 'center'}}); const box = bar.getBoundingClientRect();
            return [box.left, box.top + box.height / 2, box.width,
                    (bar.value - bar.min) / (bar.max - bar.min)]; }})()""")
        at = lambda part: box[0] + 8 + (box[2] - 16) * part
        self.mouse("mousePressed", at(box[3]), box[1])
        for step in range(1, 6):
            self.mouse("mouseMoved", at(box[3] + (share - box[3]) * step / 5), box[1])
        self.mouse("mouseReleased", at(share), box[1])

    def mouse(self, kind, x, y):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                 buttons=0 if kind == "mouseReleased" else 1, clickCount=1)

    def tap(self, selector):
        """A finger that touches an element for a moment. On a busy machine the moment may become a long press, from which
        no click comes; then it taps again."""
        self.evaluate("window.tapped = false; "
                      "addEventListener('click', () => { window.tapped = true; }, { once: true, capture: true })")
        touched = -math.inf

        def arrives():
            nonlocal touched
            if time.monotonic() - touched > TAP_S:
                self.touch(selector)
                touched = time.monotonic()
            return self.evaluate("window.tapped")

        until("a click from a tap on " + selector, arrives)

    def touch(self, selector, steps=((0, 0),)):
        """A finger on the middle of an element, then moved to each of the steps, in pixels from there, and lifted. By
        the times of the events it moves slowly and rests at the end, so that the page does not roll on. Returns when the
        page has seen it lifted."""
        x, y = self.evaluate(f"""(async () => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: 'center', inline: 'center'}});
            await new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)));
            window.lifted = false;
            for (const end of ['pointerup', 'pointercancel'])
              addEventListener(end, () => {{ window.lifted = true; }}, {{ once: true, capture: true }});
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")
        begin_s = time.time() - 0.1 * len(steps) - 1
        for number, (right, down) in enumerate(steps):
            self.ask("Input.dispatchTouchEvent", type="touchMove" if number else "touchStart",
                     timestamp=begin_s + 0.1 * number, touchPoints=[{"x": x + right, "y": y + down}])
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[],
                 timestamp=begin_s + 0.1 * len(steps) + (0.9 if len(steps) > 1 else 0))
        until("the end of a touch of " + selector, lambda: self.evaluate("window.lifted"))

    def write(self, words):
        """Types words in place of those that the element with the focus has."""
        self.evaluate("document.activeElement.select()")
        self.ask("Input.insertText", text=words)

    def press(self, key, code, text=""):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def load(self, method, **params):
        """Asks for another page, or the same one anew, and waits until it is there instead of the one before."""
        self.evaluate("window.isOld = true")
        self.ask(method, **params)

        def is_there():
            try:
                return self.evaluate("!window.isOld")
            except Refused:  # the page went while it was asked
                return False

        until("the page that is loaded", is_there)

    def open(self, url):
        """Opens a page and waits until it is built."""
        self.load("Page.navigate", url=url)
        self.wait("document.querySelectorAll('input[type=range]').length > 5")

    def resize(self, width, height, phone):
        self.ask("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def shoot(self, path):
        picture = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))

    def close(self):
        self.process.kill()
        self.process.wait()


def act(browser, command, arguments):
    if command == "open":
        browser.open(arguments[0])
    elif command == "size":
        browser.resize(int(arguments[0]), int(arguments[1]), arguments[2] == "phone")
    elif command == "drag":
        browser.drag(arguments[0], float(arguments[1]))
    elif command == "tap":
        browser.tap(arguments[0])
    elif command == "swipe":
        by = [float(part) for part in arguments[1].split(",")]
        browser.touch(arguments[0], [(by[0] * step / 8, by[1] * step / 8) for step in range(9)])
    elif command == "wait":
        browser.wait(arguments[0])
    elif command == "do":
        browser.evaluate(arguments[0])
    elif command == "shoot":
        browser.shoot(arguments[0])
    elif command == "pause":
        time.sleep(float(arguments[0]))


@contextlib.contextmanager
def start():
    """A browser that is there until the block ends. Exits with 77 where there is none."""
    program = os.environ.get("REVERIE_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser") \
        or shutil.which("google-chrome")
    if not program:
        print("no chromium here")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            browser = Browser(program, folder)
        except OSError as error:
            print("Chromium does not start here:", error)
            sys.exit(77)
        try:
            yield browser
        finally:
            browser.close()


def main():
    counts = {"open": 1, "size": 3, "drag": 2, "tap": 1, "swipe": 2, "wait": 1, "do": 1, "shoot": 1, "pause": 1}
    words = sys.argv[1:]
    with start() as browser:
        while words:
            command, words = words[0], words[1:]
            act(browser, command, words[:counts[command]])
            words = words[counts[command]:]


if __name__ == "__main__":
    main()
