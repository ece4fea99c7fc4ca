#!/usr/bin/env python3
"""Plays a set of some minutes in `reverie live` and prints one line about it: pictures shown, missed and skipped, what
each miss followed, memory and descriptors at a third and at the end, and times.

    stage_set.py REVERIE MODEL [--seconds 480] [--size 512x512] [--fps 60] [--budget MS] [LIVE OPTIONS...]

Scenes with fades and sources, a tempo that is tapped, a MIDI clock, LFOs, sound, clips with in and out points and loop
modes, cross-fades, OSC, the web page and a camera that dies twice, with a fallback. The picture is drawn by SDL's
offscreen driver unless SDL_VIDEODRIVER names another one. Needs the programs ffmpeg with libx264, and nothing else. A
miss is a picture that took longer than --budget (default: a frame's time); it has a cause if one of the set's own acts
came at most two seconds before. Exits with 1 if a miss has none, if memory grew by more than 5 %, or if descriptors
were left open.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

from stage_rig import (Camera, Ipc, MidiClock, Osc, Page, Place, descriptors, free_port, make_clip, make_sound,
                       resident_mib)

CAUSE_S = 2
SCENES = [
    {"name": "dawn", "fade": 2, "source": "one.mp4",
     "values": {"strength": 0.3, "seed": 5, "prompt[1]": "neon", "lfo[1]": "strength", "lfo[1].amount": 0.1}},
    {"name": "noon", "fade": 1, "source": "two.mp4",
     "values": {"strength": 0.6, "seed": 9, "prompt[1]": "ink drawing"}},
    {"name": "dusk", "fade": 3, "values": {"strength": 0.45, "seed-position": 3.5, "prompt[1]": "oil painting"}},
    {"name": "night", "fade": 0, "source": "camera", "values": {"strength": 0.5, "seed": 2}},
]


def script_of_acts():
    """Returns (seconds, name of the act, function of the set) for one round of 60 s."""
    return [
        (1, "scene dawn", lambda s: s.ipc.set("scene", "dawn")),
        (5, "tap", lambda s: s.tap(4, 0.5)),
        (8, "clip points", lambda s: (s.ipc.set("clip-in", 1), s.ipc.set("clip-out", 4), s.ipc.set("clip-loop", "loop"))),
        (13, "scene noon", lambda s: s.ipc.set("scene", "noon")),
        (17, "clip speed 2", lambda s: s.ipc.set("clip-speed", 2)),
        (20, "seek", lambda s: s.ipc.ask("seek-forward")),
        (22, "clip speed 1", lambda s: s.ipc.set("clip-speed", 1)),
        (24, "scene dusk at a bar", lambda s: (s.ipc.set("preset-at", "bar"), s.ipc.set("scene", "dusk"))),
        (29, "source by key", lambda s: (s.ipc.set("preset-at", "once"), s.ipc.ask("next-source"))),
        (33, "hold at the end", lambda s: s.ipc.set("clip-loop", "hold")),
        (36, "cue, take", lambda s: (s.ipc.set("cued-scene", "night"), s.ipc.ask("take-cue"))),
        (48, "undo", lambda s: s.ipc.ask("undo-preset")),
        (47, "lfos", lambda s: (s.ipc.set("lfo[2]", "seed-position"), s.ipc.set("lfo[2].amount", 0.5))),
        (49, "blackout", lambda s: s.ipc.set("blackout", True)),
        (50, "no blackout", lambda s: s.ipc.set("blackout", False)),
        (52, "freeze", lambda s: s.ipc.set("freeze", True)),
        (53, "no freeze", lambda s: s.ipc.set("freeze", False)),
        (55, "list again", lambda s: (s.ipc.set("clip-loop", "list"), s.ipc.ask("clear-marks"))),
        (57, "source by key", lambda s: s.ipc.ask("next-source")),
    ]


class Set:
    def __init__(self, args, place):
        self.args, self.place = args, place
        self.acts, self.misses, self.last = [], [], {"missed": 0, "dropped": 0}
        self.refused, self.clients, self.process, self.camera = [], [], None, None
        self.alerts = set()

    def act(self, name, function):
        self.acts.append((time.monotonic(), name))
        if function(self) is None:
            self.refused.append(name)

    def tap(self, count, period_s):
        for _ in range(count):
            self.ipc.ask("tap")
            time.sleep(period_s)
        return True

    def prepare(self):
        width, height = (int(side) for side in self.args.size.split("x"))
        fps, path = self.args.fps, self.place.path
        make_clip(path("one.mp4"), *((1920, 1080) if fps >= 30 else (width, height)), fps, 10)
        make_clip(path("two.mp4"), 1280 if fps >= 30 else width, 720 if fps >= 30 else height, max(1, fps // 2), 8)
        make_clip(path("fallback.mp4"), width, height, fps, 3)
        make_sound(path("clicks.wav"), 120, 10)
        self.camera = Camera(width, height, max(fps, 25))
        self.camera.begin()
        scenes = json.dumps({"presets": SCENES}).replace('"camera"', json.dumps(self.camera.address))
        pathlib.Path(path("show.json")).write_text(scenes)

    def begin(self):
        path, osc, web = self.place.path, free_port(), free_port()
        self.clients = [MidiClock(path("midi"), 120), Osc(osc, "/reverie/mix"), Page(web)]
        command = [self.args.reverie, "live", path("one.mp4"), path("two.mp4"), self.camera.address, "--loop", "--no-config",
                   "--model", self.args.model, "--size", self.args.size, "--presets", path("show.json"),
                   "--source-fade", "1", "--fallback", path("fallback.mp4"), "--fallback-after", "1",
                   "--budget", str(self.args.budget or 1000 / self.args.fps), "--budget-floor", self.args.size,
                   "--lfo", "strength=sine*0.1@4b", "--sound", path("clicks.wav"), "--modulate", "strength=bass*0.1",
                   "--midi=" + path("midi"), "--osc", str(osc), f"--web=127.0.0.1:{web}", "--ipc", path("ipc"),
                   *self.args.options]
        with open(path("log"), "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        for client in self.clients:
            client.start()
        self.ipc = Ipc(path("ipc"), self.process, path("log"))
        while not self.ipc.get("figures/shown"):  # the engine is ready, and a picture was shown
            time.sleep(0.1)

    def watch(self):
        """Notes what was missed since the last look."""
        now = time.monotonic()
        for kind in self.last:
            value = self.ipc.get("figures/" + kind) or 0
            if value > self.last[kind]:
                self.misses.append((now, kind, value - self.last[kind]))
            self.last[kind] = value
        self.alerts |= {alert["words"] for alert in self.ipc.get("figures/alerts") or []}

    def measure(self):
        return resident_mib(self.process.pid), descriptors(self.process.pid)

    def play(self):
        begun, length = time.monotonic(), self.args.seconds
        self.last = {kind: self.ipc.get("figures/" + kind) or 0 for kind in self.last}
        self.first = dict(self.last)
        rounds = [(at + 60 * number, name, function) for number in range(int(length / 60) + 1)
                  for at, name, function in script_of_acts()]
        for number in {int(length / 180), int(length / 90)}:  # the camera, which is shown then, is gone for five seconds
            rounds += [(60 * number + 40, "the camera dies", lambda s: (s.camera.end(), True)),
                       (60 * number + 45, "the camera is back", lambda s: (s.camera.begin(), True))]
        rounds = sorted((one for one in rounds if one[0] < length - 2), key=lambda one: one[0])
        self.third, self.memory = None, []
        while (now := time.monotonic() - begun) < length:
            while rounds and rounds[0][0] <= now:
                self.act(*rounds.pop(0)[1:])
            if self.third is None and now > length / 3:
                self.third = self.measure()
            if len(self.memory) <= now * 8 / length:
                self.memory.append(self.measure()[0])
            self.watch()
            time.sleep(0.05)
        self.end = self.measure()

    def stop(self):
        for client in self.clients:
            client.stop()
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.camera:
            self.camera.end()

    def cause_of(self, moment):
        before = [name for at, name in self.acts if at <= moment <= at + CAUSE_S]
        return before[-1] if before else None

    def report(self):
        log = pathlib.Path(self.place.path("log")).read_text()
        line = re.search(r"(\d+) frames.*?, median ([\d.]+) ms, p99 ([\d.]+) ms.*?capture to screen ([\d.]+) ms, p99 ([\d.]+)",
                         log)
        causes, without = {}, 0
        for moment, kind, count in self.misses:
            cause = self.cause_of(moment)
            without += count if kind == "missed" and not cause else 0
            key = (kind, cause or "NO CAUSE")
            causes[key] = causes.get(key, 0) + count
        for (kind, cause), count in sorted(causes.items()):
            print(f"  {kind:8} {count:6} after: {cause}")
        if self.refused:
            print("  refused: " + ", ".join(sorted(set(self.refused))))
        print("  RSS in MiB, in eighths: " + " ".join(f"{one:.0f}" for one in self.memory))
        print("  alerts: " + (", ".join(sorted(self.alerts)) or "none"))
        for warning in sorted(set(re.findall(r"reverie: .*(?:cannot|failed|error).*", log)))[:10]:
            print("  " + warning[:160])
        grown = (self.end[0] / self.third[0] - 1) * 100
        missed = self.last["missed"] - self.first["missed"]
        print(f"  clients: {', '.join(f'{type(c).__name__} {c.count}' for c in self.clients)}, "
              f"{self.clients[2].pictures} pictures fetched; {len(self.acts)} acts")
        shown = line.groups() if line else ("no", "-", "-", "-", "-")
        print(f"set of {self.args.seconds:g} s: {shown[0]} pictures shown, {missed} missed ({without} without a cause), "
              f"{self.last['dropped'] - self.first['dropped']} skipped; RSS {self.third[0]:.1f} -> {self.end[0]:.1f} MiB "
              f"({grown:+.1f} %), descriptors {self.third[1]} -> {self.end[1]}; frame {shown[1]} ms, p99 {shown[2]}; "
              f"capture to screen {shown[3]} ms, p99 {shown[4]}")
        ended = self.process.returncode
        if ended not in (0, -15):
            print(f"  the program ended with {ended}: {log[-1500:]}")
        return bool(line) and not without and grown < 5 and self.end[1] <= self.third[1] + 4 and ended in (0, -15)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reverie")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--size", default="512x512")
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--budget", type=float, default=0)
    args, args.options = parser.parse_known_args()
    place = Place()
    show = Set(args, place)
    try:
        show.prepare()
        show.begin()
        show.play()
        show.stop()
        good = show.report()
    finally:
        show.stop()
        place.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
