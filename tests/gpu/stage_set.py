#!/usr/bin/env python3
"""Plays a set of some minutes in `reverie live` and prints one line about it: pictures shown, missed and skipped, what
each miss followed, memory and descriptors by eighths, and times.

    stage_set.py REVERIE MODEL [--seconds 480] [--size 512x512] [--fps 60] [--budget MS] [--log FILE] [LIVE OPTIONS...]

Scenes with fades and sources, a tempo that is tapped, a MIDI clock, LFOs, sound, clips with in and out points and loop
modes, cross-fades, OSC, the web page and a camera that dies twice, with a fallback. The picture is drawn by SDL's
offscreen driver unless SDL_VIDEODRIVER names another one. Needs the programs ffmpeg with libx264, and nothing else. A
miss is a picture that took longer than --budget (default: a frame's time); it has a cause if one of the set's own acts,
another source or an alert came at most two seconds before. Exits with 1 if a miss has none, if memory grew by more than
5 % after three eighths, or if descriptors were left open.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import time

from stage_rig import (Camera, Ipc, MidiClock, Osc, Page, Place, Stopped, descriptors, free_port, make_clip, make_sound,
                       resident_by_mapping, resident_mib, stop_by_signal, words_of)

CAUSE_S = 2
PATIENCE_S = 240  # for the first picture
EIGHTHS = 8
MOVED_MIB = 0.5  # what a mapping must have grown by to be named
LISTED = 60  # how many skips are listed by their moments
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
        self.acts, self.misses = [], []
        self.last = {kind: 0 for kind in ("missed", "dropped", "left-out", "undrawn")}
        self.refused, self.clients, self.process, self.camera = [], [], None, None
        self.alerts, self.holding, self.source = set(), set(), 1

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
        self.log = self.args.log or path("log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        for client in self.clients:
            client.start()
        self.ipc = Ipc(path("ipc"), self.process, self.log)
        until = time.monotonic() + PATIENCE_S
        while not self.ipc.get("figures/shown"):  # the engine is ready, and a picture was shown
            if time.monotonic() > until:
                raise SystemExit(f"stage: no picture in {PATIENCE_S} s: " + pathlib.Path(self.log).read_text()[-3000:])
            time.sleep(0.1)

    def watch(self):
        """Notes what was missed since the last look."""
        now, source = time.monotonic(), self.ipc.get("source")
        self.follow(now, source, {alert["words"] for alert in self.ipc.get("figures/alerts") or []} - {"late"})
        for kind in self.last:
            value = self.ipc.get("figures/" + kind) or 0
            if value > self.last[kind]:
                self.misses.append((now, kind, value - self.last[kind], source))
            self.last[kind] = value

    def follow(self, now, source, alerts):
        """Notes what acts lead to later: another source comes when it is open, a lost one is back after a while."""
        if source != self.source:
            self.acts.append((now, f"source {source} comes"))
        self.acts += [(now, f"alert: {words}") for words in alerts - self.holding]
        self.acts += [(now, f"no alert: {words}") for words in self.holding - alerts]
        self.source, self.holding = source, alerts
        self.alerts |= alerts

    def measure(self):
        pid = self.process.pid
        return resident_mib(pid), descriptors(pid), resident_by_mapping(pid)

    def play(self):
        self.begun = begun = time.monotonic()
        length = self.args.seconds
        self.last = {kind: self.ipc.get("figures/" + kind) or 0 for kind in self.last}
        self.first = dict(self.last)
        rounds = [(at + 60 * number, name, function) for number in range(int(length / 60) + 1)
                  for at, name, function in script_of_acts()]
        for number in {int(length / 180), int(length / 90)}:  # the camera, which is shown then, is gone for five seconds
            rounds += [(60 * number + 40, "the camera dies", lambda s: (s.camera.end(), True)),
                       (60 * number + 45, "the camera is back", lambda s: (s.camera.begin(), True))]
        rounds = sorted((one for one in rounds if one[0] < length - 2), key=lambda one: one[0])
        self.measured = [self.measure()]
        while (now := time.monotonic() - begun) < length:
            while rounds and rounds[0][0] <= now:
                self.act(*rounds.pop(0)[1:])
            if len(self.measured) <= now * EIGHTHS / length:
                self.measured.append(self.measure())
            self.watch()
            time.sleep(0.05)
        self.measured.append(self.measure())

    def play_on(self):
        """Plays. Returns False if the program ended or stood still meanwhile, or this script is ended; what was
        measured until then is reported all the same."""
        try:
            self.play()
        except (OSError, EOFError, Stopped) as error:
            print(f"  it ended after {time.monotonic() - self.begun:.0f} s: {error!r}")
            return False
        return True

    def stop(self):
        for client in self.clients:
            client.stop()
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                print("  the program did not end by SIGTERM within 20 s")
        if self.camera:
            self.camera.end()

    def cause_of(self, moment):
        before = [name for at, name in self.acts if at <= moment <= at + CAUSE_S]
        return before[-1] if before else None

    def report_memory(self):
        """Prints memory and descriptors at the ends of all eighths, and what came or went from one to the next."""
        print("  at each eighth: " + "; ".join(f"{mib:.0f} MiB, {files.total()} descriptors"
                                               for mib, files, _ in self.measured))
        for number, (before, after) in enumerate(zip(self.measured, self.measured[1:]), 1):
            came, went = after[1] - before[1], before[1] - after[1]
            grown = {name: mib for name, mib in (after[2] - before[2]).items() if mib >= MOVED_MIB}
            print(f"  eighth {number}: {after[0] - before[0]:+.1f} MiB ({words_of(collections.Counter(grown), '{:.1f}')}); "
                  f"opened: {words_of(came) or 'nothing'}; closed: {words_of(went) or 'nothing'}")

    def report(self):
        log = pathlib.Path(self.log).read_text()
        line = re.search(r"(\d+) frames.*?, median ([\d.]+) ms, p99 ([\d.]+) ms.*?capture to screen ([\d.]+) ms, p99 ([\d.]+)",
                         log)
        causes, without = {}, 0
        for moment, kind, count, source in self.misses:
            cause = self.cause_of(moment)
            without += count if kind == "missed" and not cause else 0
            key = (kind, cause or f"NO CAUSE, source {source} shown")
            causes[key] = causes.get(key, 0) + count
        for (kind, cause), count in sorted(causes.items()):
            print(f"  {kind:8} {count:6} after: {cause}")
        for kind, word in (("missed", "missed"), ("dropped", "skipped")):
            alone = [(moment - self.begun, count, source) for moment, what, count, source in self.misses
                     if what == kind and not self.cause_of(moment)]
            if alone:
                print(f"  {word} without an act, at second (source): " +
                      ", ".join(f"{at:.1f} ({source}) {count}" for at, count, source in alone[:LISTED]))
        if self.refused:
            print("  refused: " + ", ".join(sorted(set(self.refused))))
        self.report_memory()
        print("  alerts: " + (", ".join(sorted(self.alerts)) or "none"))
        for warning in sorted(set(re.findall(r"reverie: .*(?:cannot|failed|error).*", log)))[:10]:
            print("  " + warning[:160])
        self.measured += [self.measured[-1]] * (EIGHTHS + 1 - len(self.measured))
        (third, files, _), (half, _, _), (end, left, _) = (self.measured[eighth] for eighth in (3, 4, EIGHTHS))
        grown, later = ((end / before - 1) * 100 for before in (third, half))
        missed = self.last["missed"] - self.first["missed"]
        print(f"  clients: {', '.join(f'{type(c).__name__} {c.count}' for c in self.clients)}, "
              f"{self.clients[2].pictures} pictures fetched; {len(self.acts)} acts and what came of them")
        shown = line.groups() if line else ("no", "-", "-", "-", "-")
        print(f"set of {self.args.seconds:g} s: {shown[0]} pictures shown, {missed} missed ({without} without a cause), "
              f"{self.last['dropped'] - self.first['dropped']} skipped; RSS {third:.1f} -> {end:.1f} MiB "
              f"({grown:+.1f} %, in the second half {later:+.1f} %), descriptors {files.total()} -> {left.total()}; "
              f"frame {shown[1]} ms, p99 {shown[2]}; capture to screen {shown[3]} ms, p99 {shown[4]}")
        ended = self.process.returncode
        if ended not in (0, 130):
            print(f"  the program ended with {ended}: {log[-1500:]}")
        return bool(line) and not without and grown < 5 and left.total() <= files.total() + 4 and ended in (0, 130)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reverie")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--size", default="512x512")
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--budget", type=float, default=0)
    parser.add_argument("--log", help="keeps what the program says in this file")
    args, args.options = parser.parse_known_args()
    place = Place()
    show = Set(args, place)
    stop_by_signal()
    try:
        show.prepare()
        show.begin()
        whole = show.play_on()
        show.stop()
        good = show.report() and whole
    finally:
        show.stop()
        place.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
