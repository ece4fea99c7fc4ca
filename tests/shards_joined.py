#!/usr/bin/env python3
"""Shards that are joined are the one render.

    shards_joined.py REVERIE [SHARDS [NAME...]]

Renders a clip of 30000/1001 frames a second, some of which are left out, and one of uneven times, with a script and a
walk of the seed: once in one go, and once as SHARDS shards (4) that run at the same time and are joined. FFV1 is compared
by the hash of each picture, other codecs by number and times, and all by the sound's packets. The clock of a transport
stream begins anywhere, so that its times are compared from the first picture on. NAME: outputs to try (all)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from resume_kills import make_clip, pictures, run, sound

# Name of the output: what encodes it, and what the clip's sound is, which is copied.
OUTPUTS = {"a.mkv": ("ffv1", "aac"), "b.mp4": ("libx264", "aac"), "c.mov": ("libx264", "aac"), "d.nut": ("ffv1", "aac"),
           "e.ts": ("libx264", "aac"), "f.webm": ("libvpx-vp9", "libopus"), "g.mp4": ("libx265", "aac")}
SCRIPT = """{"time": 0, "parameter": "strength", "value": 0.4}
{"time": 1, "parameter": "prompt[1]", "value": "neon"}
{"time": 3, "parameter": "strength", "value": 0.9, "ease": "smooth"}
"""


def make_uneven(path, codec):
    """Pictures that stand for 17 to 78 ms, in a container that rounds their times to milliseconds."""
    run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=4", "-f", "lavfi", "-i",
        "sine=d=4.8:r=48000", "-vf", "settb=1/1000,setpts='if(N,PREV_OUTPTS+17+mod(N*37,62),21)'", "-fps_mode",
        "passthrough", "-enc_time_base", "1/1000", "-c:v", "libx264", "-bf", "2", "-g", "20", "-c:a", codec, str(path))


def content(path, hashes):
    shown, heard = pictures(path, hashes), sound(path)
    if path.suffix != ".ts":
        return shown, heard
    begin = float(shown[0])
    return [f"{float(time) - begin:.3f}" for time in shown], [(f"{float(at) - begin:.3f}", size) for at, size in heard]


def compare(what, whole, joined, hashes):
    for name, one, other in zip(("pictures", "sound"), content(whole, hashes), content(joined, hashes)):
        if one != other or not one:
            at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            print(f"{what}: {name} differ: {len(one)} and {len(other)}; number {at}: {one[at:at + 1]}, "
                  f"{other[at:at + 1]}")
            return False
    print(f"{what}: equal")
    return True


def try_clip(reverie, folder, name, make, shards):
    codec, of_sound = OUTPUTS[name]
    what = f"{make.__name__.removeprefix('make_')}, {name}"
    clip, whole, out = folder / "in.mkv", folder / ("whole-" + name), folder / name
    for path in folder.glob("*" + name + "*"):
        path.unlink()
    make(clip, of_sound)
    options = ["-q", "--size", "64x64", "--codec", codec, "--seed-walk", "0.5", "--script", str(folder / "show.jsonl")]
    run(reverie, "render", str(clip), str(whole), *options)
    parts = [subprocess.Popen([reverie, "render", str(clip), str(out), *options, "--shard", f"{i}/{shards}"],
                              stdin=subprocess.DEVNULL) for i in range(1, shards + 1)]
    if any([part.wait() for part in parts]):
        return False
    run(reverie, "join", "-q", str(out))
    return compare(what, whole, out, codec == "ffv1")


def main():
    if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
        return 77
    reverie, shards = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "show.jsonl").write_text(SCRIPT)
        results = [try_clip(reverie, folder, output, make, shards) for output in sys.argv[3:] or OUTPUTS
                   for make in (make_clip, make_uneven)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
