"""What stage_set.py and stage_bench.py share: clients that a show has (IPC, OSC, a MIDI clock, the web page), clips, and a
place to work in."""
import base64
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

FFMPEG = ["ffmpeg", "-nostdin", "-v", "error", "-y"]


class Stopped(Exception):
    """Someone ended this script by SIGTERM; it reports what it has until then."""


def stop_by_signal():
    def stop(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what follows is not interrupted again
        raise Stopped("stopped by SIGTERM")
    signal.signal(signal.SIGTERM, stop)


class Place:
    """A folder for files of a run, and the environment that leaves the user's own files alone. It goes at the end."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="reverie-stage-"))
        os.environ.setdefault("SDL_VIDEODRIVER", "offscreen")
        os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
        os.environ["XDG_CONFIG_HOME"] = str(self.folder / "config")

    def path(self, name):
        return str(self.folder / name)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_clip(path, width, height, fps, seconds):
    """H.264, which NVDEC decodes where there is one, with a key frame each second, and a tone."""
    subprocess.run(FFMPEG + ["-f", "lavfi", "-i", f"testsrc2=s={width}x{height}:r={fps}:d={seconds}", "-f", "lavfi", "-i",
                             f"sine=f=440:d={seconds}", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast",
                             "-g", str(fps), "-c:a", "aac", path], check=True)


def make_sound(path, bpm, seconds):
    """Clicks at a tempo, as a file that --sound hears again and again."""
    rate, samples = 48000, bytearray()
    for i in range(int(rate * seconds)):
        since = (i / rate) % (60 / bpm)
        samples += struct.pack("<h", int(20000 * (1 - since / 0.02)) if since < 0.02 and i // 24 % 2 else 0)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", len(samples))
    pathlib.Path(path).write_bytes(head + samples)


class Ipc:
    """A client of the IPC socket."""

    def __init__(self, path, process, log, patience=240):
        self.socket = socket.socket(socket.AF_UNIX)
        until = time.monotonic() + patience
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit("stage: there is no IPC socket: " + pathlib.Path(log).read_text()[-3000:])
                time.sleep(0.1)
        self.socket.settimeout(60)  # a program that hangs is treated as one that has ended
        self.lines, self.number = self.socket.makefile("r"), 0

    def ask(self, *command):
        """Returns the answer's data; None where it is an error."""
        self.number += 1
        self.socket.sendall((json.dumps({"command": command, "request_id": self.number}) + "\n").encode())
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("request_id") == self.number:
                return answer.get("data", True) if answer["error"] == "success" else None
        raise EOFError("the program is gone")

    def set(self, name, value):
        return self.ask("set_property", name, value)

    def get(self, name):
        return self.ask("get_property", name)


class Client(threading.Thread):
    """Something that goes on beside the program until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ends = threading.Event()
        self.count = 0

    def run(self):
        try:
            self.work()
        except (OSError, EOFError):
            pass  # the program has ended

    def stop(self):
        self.ends.set()
        if self.is_alive():  # it was never started if the program could not be
            self.join(10)


def osc_message(address, value):
    def padded(text):
        raw = text.encode() + b"\0"
        return raw + b"\0" * (-len(raw) % 4)
    return padded(address) + (padded(",f") + struct.pack(">f", value) if value is not None else padded(","))


class Osc(Client):
    """Sends a value 100 times a second."""

    def __init__(self, port, address):
        super().__init__()
        self.port, self.address = port, address

    def work(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            while not self.ends.wait(0.01):
                self.count += 1
                out.sendto(osc_message(self.address, self.count % 100 / 100), ("127.0.0.1", self.port))


class MidiClock(Client):
    """24 ticks a beat and a fader's move each half beat, into a named pipe."""

    def __init__(self, path, bpm):
        super().__init__()
        self.path, self.bpm = path, bpm
        os.mkfifo(path)

    def work(self):
        with open(self.path, "wb", buffering=0) as out:  # waits until the program reads
            out.write(b"\xfa")
            begun = time.monotonic()
            while not self.ends.is_set():
                self.count += 1
                time.sleep(max(0, begun + self.count * 60 / (24 * self.bpm) - time.monotonic()))
                out.write(b"\xf8" + (bytes([0xB0, 1, self.count % 128]) if self.count % 12 == 0 else b""))


class Page(Client):
    """A client of the web page: its web socket with all figures, and the picture four times a second."""

    def __init__(self, port):
        super().__init__()
        self.port, self.pictures = port, 0

    def open_socket(self):
        link = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        link.sendall((f"GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
                      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                      f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                      "Sec-WebSocket-Protocol: reverie\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = link.recv(1)
            if not more:
                raise EOFError("no web socket")
            answer += more
        if b" 101 " not in answer:
            raise EOFError("no web socket: " + answer.decode(errors="replace"))
        return link

    @staticmethod
    def say(link, command):
        text = json.dumps({"command": command, "request_id": 1}).encode()
        size = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0xFE]) + struct.pack(">H", len(text))
        link.sendall(b"\x81" + size + b"\0\0\0\0" + text)

    def fetch_picture(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            link.sendall(f"GET /picture.jpg HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while more := link.recv(65536):
                answer += more
        self.pictures += b"\xff\xd8" in answer

    def work(self):
        until = time.monotonic() + 60
        while True:
            try:
                link = self.open_socket()
                break
            except OSError:
                if time.monotonic() > until or self.ends.wait(0.2):
                    return
        for name in ("figures", "strength", "beat", "moved"):
            self.say(link, ["observe_property", 1, name])
        link.setblocking(False)
        while not self.ends.wait(0.25):
            try:
                while more := link.recv(65536):
                    self.count += len(more)
            except BlockingIOError:
                pass
            self.say(link, ["get_property", "strength"])
            try:
                self.fetch_picture()
            except OSError:
                pass  # a picture may come late
        link.close()


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def resident_by_mapping(pid):
    """Returns a Counter: MiB that are resident, by the name of what is mapped. Memory of threads and of malloc's arenas
    but the first is called anonymous."""
    found, name = collections.Counter(), ""
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        head = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)", line)
        if head:
            name = head[1].rsplit("/", 1)[-1] or "anonymous"
        elif line.startswith("Rss:"):
            found[name] += int(line.split()[1]) / 1024
    return found


def descriptors(pid):
    """Returns a Counter: how many descriptors of the process are open, by what they lead to, without numbers."""
    found = collections.Counter()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found[re.sub(r"\[\d+\]", "", os.readlink(link)).rsplit("/", 1)[-1]] += 1
        except OSError:
            pass  # it was closed meanwhile
    return found


def words_of(counter, form="{}"):
    """Returns what is in a Counter as text, the largest first."""
    return ", ".join(f"{name} {form.format(value)}" for name, value in counter.most_common())


class Camera:
    """A stream that others send to this machine, which can die and come back: pictures of another program, in real
    time."""

    def __init__(self, width, height, fps):
        self.address = f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
        self.shape, self.process = (width, height, fps), None

    def begin(self):
        width, height, fps = self.shape
        self.process = subprocess.Popen(
            FFMPEG + ["-re", "-f", "lavfi", "-i", f"testsrc=s={width}x{height}:r={fps}", "-pix_fmt", "yuv420p", "-c:v",
                      "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", str(max(1, fps // 2)), "-f", "mpegts",
                      self.address + "?pkt_size=1316"],
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None
