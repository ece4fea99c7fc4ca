#!/usr/bin/env python3
"""Renders on 1, 2, 4 and 8 GPUs of one machine, as many as are there, and prints a table: frames a second and how they
grow, how busy decoder, engines and encoder were, the 99th percentile of the engines' time a frame, processor time, and
whether the pictures are those of one GPU to the bit.

    several_gpus.py FOLDER [--frames N] [--counts 1,2] [--device cuda|cpu] [--size WxH] [--rows WORD,...] MODEL...

FOLDER has what was built elsewhere, as for tests/gpu.sh: app/reverie; in lib what it loads, in bin ffmpeg, if there is
one. MODEL is a folder such as sd_shapes.py --make turbo makes, or "mini". Rows: "null" (raw video to null:, an input
that keeps up), "h264" (raw video to H.264), "nvdec" (1080p H.264, decoded on the first GPU, to H.264; needs
ffmpeg with libx264), "hash" (pictures of raw video are compared). Default: all of them, 1000 frames a GPU, 512x512. Logs and the
clips go to $WORK (default: a folder that is removed), the table also to $OUT/several_gpus.txt. Exits with 1 if pictures
differ or a render fails. --device cpu tries the script without a GPU, with one thread an engine.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

LINE = re.compile(r"(\d+) frames?, (\d+x\d+), ([\d.]+) fps, median ([\d.]+) ms, p99 ([\d.]+) ms, .*busy: decoder (\d+) %"
                  r".*?, engines? (\d+) %.*?, encoder (\d+) %")


def make_raw(path, size, frames):
    """Writes frames that all differ: a soft pattern that moves, in Y4M, which costs next to nothing to decode."""
    width, height = size
    noise = random.Random(1)
    row = bytes(128 + noise.randrange(-60, 60) for _ in range(width // 16 + height // 16 + 512))
    wide = bytes(value for value in row for _ in range(16))
    chroma = bytes([110]) * (width // 2 * (height // 2)) + bytes([140]) * (width // 2 * (height // 2))
    with open(path, "wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F60:1 Ip A1:1 C420mpeg2\n".encode())
        for frame in range(frames):
            begin = frame * 3 % 4096
            band = b"".join(wide[begin + 16 * (y // 16):begin + 16 * (y // 16) + width] for y in range(height))
            out.write(b"FRAME\n" + band + chroma)


def count_gpus(device):
    if device == "cpu":
        return 8
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def names(device, count):
    return ",".join("cpu" if device == "cpu" else f"cuda:{i}" for i in range(count))


class Bench:
    def __init__(self, args, work):
        self.args, self.work, self.failed = args, work, False
        folder = pathlib.Path(args.folder).resolve()
        self.program = folder / "app" / "reverie"
        libraries = f"{folder / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        self.environment = os.environ | {"XDG_CACHE_HOME": str(work / "cache"), "LD_LIBRARY_PATH": libraries,
                                         "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                                         "REVERIE_DATA_DIR": str(pathlib.Path(__file__).resolve().parents[2] / "assets")}
        self.rows = []

    def render(self, source, target, model, count, frames, more=()):
        """Renders; returns the last line's figures and the processor seconds, or None."""
        command = [str(self.program), "render", str(source), str(target), "-y", "--no-sound", "--prompt", "neon",
                   "--size", self.args.size, "--device", names(self.args.device, count), "--frames", str(frames), *more]
        command += [] if model == "mini" else ["--model", model]
        command += ["--threads", "1"] if self.args.device == "cpu" else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.work / "log.txt", "a") as log:
            log.write(f"{' '.join(command)}\n{done.stderr}\n")
        found = LINE.search(done.stderr)
        if done.returncode or not found or int(found[1]) != frames:
            print(f"FAILED ({done.returncode}): {' '.join(command)}\n{done.stderr}", flush=True)
            self.failed = True
            return None
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return dict(fps=float(found[3]), p99=float(found[5]), busy=[int(found[i]) for i in (6, 7, 8)], processor=seconds)

    def add(self, text):
        print(text, flush=True)
        self.rows.append(text)

    def measure(self, what, source, target, model, more=()):
        """Adds a row for each number of devices. The first run is warm: tuning was done before."""
        one = None
        for count in self.args.counts:
            frames = self.args.frames * count
            got = self.render(source, target, model, count, frames, more)
            if not got:
                continue
            one = one or got["fps"] / count
            decoder, engines, encoder = got["busy"]
            limit = ["decoder", "engines", "encoder"][max(range(3), key=lambda i: (got["busy"][i], i == 1))]
            self.add(f"{pathlib.Path(model).name:14} {what:6} {count:4} {got['fps']:9.1f} {got['fps'] / one:6.2f} "
                     f"{got['fps'] / one / count:6.3f} {decoder:5} {engines:5} {encoder:5}  {limit:8} {got['p99']:7.2f} "
                     f"{1000 * got['processor'] / frames:7.2f}")

    def compare(self, source, model):
        """Compares the pictures' hashes with those of one device."""
        frames = min(self.args.frames, 203)  # no multiple of a run
        hashes = {}
        for count in self.args.counts:
            path = self.work / f"hash{count}.txt"
            if self.render(source, f"hash:{path}", model, count, frames):
                hashes[count] = path.read_bytes()
        equal = len(set(hashes.values())) == 1 and len(hashes) == len(self.args.counts)
        self.failed |= not equal
        self.add(f"{pathlib.Path(model).name:14} hash   {frames} pictures on {', '.join(map(str, hashes))}: "
                 f"{'equal' if equal else 'DIFFERENT'}")


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--counts", default="1,2,4,8")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--size", default="512x512")
    parser.add_argument("--rows", default="null,h264,nvdec,hash")
    args = parser.parse_args()
    there = count_gpus(args.device)
    args.counts = [count for count in map(int, args.counts.split(",")) if count <= there]
    return args


def make_film(bench, frames):
    """Makes the film for NVDEC: a second of 1080p again and again. Returns its path; None: there is no such ffmpeg."""
    film = bench.work / "film.mp4"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=s=1920x1080:r=60:d={frames / 60 + 1}",
               "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-b:v", "12M", "-g", "60", str(film)]
    try:
        done = subprocess.run(command, env=bench.environment, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return film if done.returncode == 0 else None


def main():
    args = read_arguments()
    if not args.counts:
        print("skipped: there is no GPU")
        return 77
    work = pathlib.Path(os.environ.get("WORK") or tempfile.mkdtemp(prefix="reverie-several-"))
    work.mkdir(parents=True, exist_ok=True)
    bench = Bench(args, work)
    rows = args.rows.split(",")
    most = args.frames * max(args.counts)
    raw = work / "raw.y4m"
    begin = time.time()
    make_raw(raw, tuple(map(int, args.size.split("x"))), most)
    film = make_film(bench, most) if "nvdec" in rows else None
    print(f"clips made in {time.time() - begin:.0f} s", flush=True)
    bench.add(f"{'model':14} {'to':6} {'GPUs':>4} {'fps':>9} {'x one':>6} {'of N':>6} {'dec %':>5} {'eng %':>5} "
              f"{'enc %':>5}  {'limit':8} {'p99 ms':>7} {'cpu ms':>7}")
    for model in args.models:
        bench.render(raw, "null:", model, 1, min(20, args.frames))  # tunes
        if "hash" in rows:
            bench.compare(raw, model)
        if "null" in rows:
            bench.measure("null:", raw, "null:", model)
        if "h264" in rows:
            bench.measure("h264", raw, work / "out.mp4", model)
        if film:
            bench.measure("nvdec", film, work / "out.mp4", model)
        elif "nvdec" in rows:
            bench.add(f"{pathlib.Path(model).name:14} nvdec  left out: there is no ffmpeg with libx264")
    out = os.environ.get("OUT")
    if out:
        pathlib.Path(out, "several_gpus.txt").write_text("\n".join(bench.rows) + "\n")
        shutil.copy(work / "log.txt", pathlib.Path(out, "several_gpus.log"))
    if not os.environ.get("WORK"):
        shutil.rmtree(work)
    return 1 if bench.failed else 0


sys.exit(main())
