#!/usr/bin/env python3
"""What everything of a show costs a frame: `bench --live` with all of it on beside all of it off, in turn.

    stage_bench.py REVERIE MODEL [--seconds 30] [--rounds 3] [--size 512x512] [--fps 60] [--parts PART,...] [BENCH OPTIONS...]

On are: the operator's window, the web page with a client that fetches its picture, a MIDI clock and a fader through a
named pipe, OSC 100 times a second, LFOs on four parameters, and sound analysis that moves one of them. Prints a table,
a line a run, and one with the medians of both. Drawn by SDL's offscreen driver unless SDL_VIDEODRIVER names another one.
The four parameters act on pictures and change neither size nor steps. --parts takes some of it alone: operator, web, midi,
osc, lfo, sound.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from stage_rig import MidiClock, Osc, Page, Place, free_port, make_sound

LFOS = ["strength=sine*0.1@4b", "mix=triangle*0.1@2b", "seed-position=saw*0.2@8b", "blend[2]=sine*0.3@3s"]
COLUMNS = [("pictures", "{:8.0f}"), ("missed", "{:6.0f}"), ("skipped", "{:7.0f}"), ("latency median ms", "{:17.3f}"),
           ("latency p99 ms", "{:14.3f}"), ("engine ms", "{:9.3f}"), ("engine's thread us", "{:18.1f}"),
           ("window's thread us", "{:18.1f}")]


def run_bench(args, place, name, on):
    path = place.path(name)
    command = [args.reverie, "bench", "--live", "--model", args.model, "--size", args.size, "--input-fps", str(args.fps),
               "--duration", str(args.seconds), "--prompt", "neon", "--prompt", "ink", "--blend", "1:1,2:0.5", "--json", path + ".json", "-y", *args.options]
    clients, osc, web = [], free_port(), free_port()
    for part in args.parts.split(",") if on else []:
        command += {"operator": ["--operator"], "web": [f"--web=127.0.0.1:{web}"], "midi": ["--midi=" + path + ".midi"],
                    "osc": ["--osc", str(osc)], "lfo": [word for lfo in LFOS for word in ("--lfo", lfo)],
                    "sound": ["--sound", place.path("clicks.wav"), "--modulate", "strength=bass*0.05"]}[part]
        clients += {"web": [Page(web)], "osc": [Osc(osc, "/reverie/mix")]}.get(part, [])
        clients += [MidiClock(path + ".midi", 120)] if part == "midi" else []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for client in clients:
        client.start()
    said = process.communicate()[0]
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
            rows["engine, in the window"]["median_ms"], live["engine_cpu_us"], live["window_cpu_us"]]


def line(name, values):
    return f"{name:10} " + " ".join(form.format(value) for (_, form), value in zip(COLUMNS, values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reverie")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="512x512")
    parser.add_argument("--fps", type=int, default=60)
    parser.add_argument("--parts", default="operator,web,midi,osc,lfo,sound")
    args, args.options = parser.parse_known_args()
    place, runs = Place(), {False: [], True: []}
    try:
        make_sound(place.path("clicks.wav"), 120, 10)
        print(f"{'':10} " + " ".join(name for name, _ in COLUMNS), flush=True)
        for number in range(args.rounds):
            for on in (False, True):
                values = run_bench(args, place, f"{number}{'on' if on else 'off'}", on)
                runs[on].append(values)
                print(line(f"{number + 1} {'on' if on else 'off'}", values), flush=True)
    finally:
        place.close()
    middle = {on: [statistics.median(column) for column in zip(*runs[on])] for on in runs}
    for on in (False, True):
        print(line(f"median {'on' if on else 'off'}", middle[on]))
    later = middle[True][4] - middle[False][4]
    missed = sum(values[1] for values in runs[True])
    print(f"everything on: {missed} missed, p99 {later:+.3f} ms, engine's thread "
          f"{middle[True][6] - middle[False][6]:+.1f} us a picture")
    sys.exit(0 if not missed and later <= 0.1 else 1)


if __name__ == "__main__":
    main()
