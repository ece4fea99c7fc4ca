#!/usr/bin/env python3
"""What everything of a show costs a frame: `bench --live` with nothing of it, with groups of it, and with all of it, in
turn.

    stage_bench.py REVERIE MODEL [--seconds 30] [--rounds 3] [--limit S] [--size 512x512] [--fps 60] [--parts GROUP,...]
                   [BENCH OPTIONS...]

The parts: the operator's window, the web page with a client that fetches its picture, a MIDI clock and a fader through a
named pipe, OSC 100 times a second, sound analysis that moves the strength, LFOs of two numbers (which need no work of the
device but other numbers), and LFOs of a blend of prompts and of the noise's place, for which the device blends texts and
noise anew for each frame. None changes size or steps.

--parts is a list of groups, each a part, several joined by +, or one of the words below; each group is measured by
itself. --limit: no round begins that would not end within so many seconds. Prints a line a run, and the medians of each
group with what it adds to nothing. Drawn by SDL's offscreen driver unless SDL_VIDEODRIVER names another one. Exits with
1 if the last group missed a picture, or if its p99 is more than 0.1 ms later than that of nothing.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

from stage_rig import MidiClock, Osc, Page, Place, Stopped, free_port, make_sound, stop_by_signal

NUMBERS = ["strength=sine*0.1@2s", "mix=triangle*0.1@1s"]
BLENDS = ["seed-position=saw*0.2@4s", "blend[2]=sine*0.3@3s"]
WORDS = {"off": "", "clients": "web+midi+osc+sound", "lfo": "numbers+blends",
         "all": "operator+web+midi+osc+sound+numbers+blends"}
COLUMNS = [("pictures", "{:8.0f}"), ("missed", "{:6.0f}"), ("skipped", "{:7.0f}"), ("latency median ms", "{:17.3f}"),
           ("latency p99 ms", "{:14.3f}"), ("engine ms", "{:9.3f}"), ("engine's thread us", "{:18.1f}"),
           ("window's thread us", "{:18.1f}"), ("uploaded", "{:8.0f}")]
PATIENCE_S = 120  # for a run, beside three times its seconds


def waves(lfos):
    return [word for lfo in lfos for word in ("--lfo", lfo)]


def parts_of(group):
    return [part for part in WORDS.get(group, group).split("+") if part]


def run_bench(args, place, name, group):
    path, frames = place.path(name), round(args.seconds * args.fps)
    command = [args.reverie, "bench", "--live", "--model", args.model, "--size", args.size, "--input-fps", str(args.fps),
               "--duration", str(args.seconds), "--frames", str(frames), "--prompt", "neon", "--prompt", "ink",
               "--blend", "1:1,2:0.5", "--json", path + ".json", "-y", *args.options]
    clients, osc, web = [], free_port(), free_port()
    for part in parts_of(group):
        command += {"operator": ["--operator"], "web": [f"--web=127.0.0.1:{web}"], "midi": ["--midi=" + path + ".midi"],
                    "osc": ["--osc", str(osc)], "numbers": waves(NUMBERS), "blends": waves(BLENDS),
                    "sound": ["--sound", place.path("clicks.wav"), "--modulate", "strength=bass*0.05"]}[part]
        clients += {"web": [Page(web)], "osc": [Osc(osc, "/reverie/mix")]}.get(part, [])
        clients += [MidiClock(path + ".midi", 120)] if part == "midi" else []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for client in clients:
        client.start()
    try:
        said = process.communicate(timeout=PATIENCE_S + 3 * args.seconds)[0]
    except (subprocess.TimeoutExpired, Stopped):
        process.kill()
        raise
    finally:
        for client in clients:
            client.ends.set()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: {process.returncode}\n{said[-2000:]}")
    for client in clients:
        if not (client.pictures if isinstance(client, Page) else client.count):
            raise SystemExit(f"{type(client).__name__} did not get through\n{said[-2000:]}")
    report = json.loads(pathlib.Path(path + ".json").read_text())
    rows, live = {row["name"]: row for row in report["rows"]}, report["live"]
    latency = rows["capture to presented"]
    return [live["presented"], live["missed"], live["dropped"], latency["median_ms"], latency["p99_ms"],
            rows["engine, in the window"]["median_ms"], live["engine_cpu_us"], live["window_cpu_us"], live["uploaded"]]


def line(name, values):
    return f"{name:10} " + " ".join(form.format(value) for (_, form), value in zip(COLUMNS, values))


def report(groups, runs):
    """Prints the medians of each group. Returns True if the last one missed nothing and was not late."""
    middle = {group: [statistics.median(column) for column in zip(*runs[group])] for group in groups}
    nothing, good = middle["off"], True
    for group in groups:
        print(line(group, middle[group]))
    for group in groups[1:]:
        missed, later = sum(values[1] for values in runs[group]), middle[group][4] - nothing[4]
        good = not missed and later <= 0.1
        print(f"{group}: {missed} missed, median {middle[group][3] - nothing[3]:+.3f} ms, p99 {later:+.3f} ms, engine "
              f"{middle[group][5] - nothing[5]:+.3f} ms, engine's thread {middle[group][6] - nothing[6]:+.1f} us, window's "
              f"thread {middle[group][7] - nothing[7]:+.1f} us a picture")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reverie")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--size", default="512x512")
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--parts", default="clients,operator,numbers,blends,all")
    args, args.options = parser.parse_known_args()
    place, groups, begun, longest = Place(), ["off", *args.parts.split(",")], time.monotonic(), 0
    whole = True
    runs = {group: [] for group in groups}
    stop_by_signal()
    try:
        make_sound(place.path("clicks.wav"), 120, 10)
        print(f"{'':10} " + " ".join(name for name, _ in COLUMNS), flush=True)
        for number in range(args.rounds):
            since = time.monotonic()
            if since - begun + longest > args.limit:
                break
            for group in groups:
                runs[group].append(run_bench(args, place, f"{number}{groups.index(group)}", group))
                print(line(group, runs[group][-1]), flush=True)
            longest = max(longest, time.monotonic() - since)
    except (subprocess.TimeoutExpired, Stopped, SystemExit) as error:
        whole = False
        print(f"ended early: {error}")
    finally:
        place.close()
    if not runs["off"]:
        raise SystemExit("stage: nothing was measured")
    sys.exit(0 if report([group for group in groups if runs[group]], runs) and whole else 1)


if __name__ == "__main__":
    main()
