#!/usr/bin/env python3
"""A render that is killed at any moment and gone on with is the one that nobody killed.

    resume_kills.py REVERIE [MOMENTS [NAME...]]

Renders a clip with sound, once in one go and then MOMENTS times with SIGKILL after so many frames that the moments are
spread over the whole render; some are killed again on their way. What --resume completes is compared with the whole
render: FFV1 by the hash of each picture, H.264 by its pictures' number and times, and both by the sound's packets. Of
shards, which have no sound, the pictures in the manifests are compared. Half a file that a killed process left is
removed. NAME: outputs to try (all). One moment is late in the render; then --resume is also tried on another device
and with a damaged part."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FRAMES = 110
GOES_ON = "the render goes on from there"
LATE = 80  # pictures of which some are in a whole segment
# Name of the output: what encodes it, and if its pictures are compared by hash.
OUTPUTS = {"a.mkv": ("ffv1", True), "b.mp4": ("libx264", False), "c.mov": ("libx264", False), "d.nut": ("ffv1", True),
           "e.ts": ("libx264", False), "f.webm": ("libvpx-vp9", False), "g.mkv.shard-2-of-3": ("ffv1", True),
           "h.mp4.shard-2-of-3": ("libx264", False)}
SHARD = ".shard-2-of-3"
LATE_SHARD = 25
LEFT = ".reverie-settling-"
SOUND = {"f.webm": "libopus"}


def run(*arguments, **more):
    return subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL, **more)


def printed(*arguments):
    return run(*arguments, stdout=subprocess.PIPE).stdout.decode()


def make_clip(path, codec):
    """30000/1001 frames a second, of which some are left out, so that times are uneven; B frames; sound."""
    run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=30000/1001", "-f", "lavfi", "-i",
        "sine=d=5:r=48000", "-frames:v", str(FRAMES), "-t", "5", "-vf", "select='not(eq(mod(n\\,7)\\,3))'", "-fps_mode",
        "passthrough", "-c:v", "libx264", "-bf", "2", "-g", "20", "-c:a", codec, "-shortest", str(path))


def pictures(path, hashes):
    """A line for each picture: its time, and its hash."""
    times = printed("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts_time", "-of",
                    "csv=p=0", str(path)).split()
    lines = ["%.4f" % float(line.strip(",")) for line in times]
    if hashes:
        md5 = printed("ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v:0", "-f", "framemd5", "-")
        lines += [line.split(",")[-1] for line in md5.splitlines() if not line.startswith("#")]
    return lines


def sound(path):
    lines = printed("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pts_time,size", "-of",
                    "csv=p=0", str(path)).splitlines()
    return [("%.3f" % float(line.split(",")[0]), line.split(",")[1]) for line in lines if line.strip()]


def made(out):
    """How many pictures the manifests of the part tell."""
    return max([path.read_bytes().count(b'"picture"') for path in out.parent.glob(out.name + ".part*.json")] + [0])


class Job:
    def __init__(self, reverie, folder, clip, name):
        self.reverie, self.folder, self.clip, self.name = reverie, folder, clip, name
        self.options = ["--size", "64x64", "--codec", OUTPUTS[name][0], "--seed-walk", "0.5"]
        self.shard = name.endswith(SHARD)
        self.late = LATE_SHARD if self.shard else LATE
        if self.shard:
            self.options += ["--shard", "2/3", "--encoder-options", "g=8"]

    def start(self, out, *more):
        name = str(out).removesuffix(SHARD)
        return subprocess.Popen([self.reverie, "render", str(self.clip), name, *self.options, *more],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def ended(self, out, *more, status=0):
        """Returns what the program said."""
        process = self.start(out, *more)
        said = process.communicate()[1].decode()
        if process.returncode != status:
            sys.exit(f"{out.name} {' '.join(more)}: status {process.returncode}, not {status}: {said}")
        return said

    def resumed(self, out, *more):
        said = self.ended(out, "--resume", *more)
        return GOES_ON in said

    def killed(self, out, after, *more):
        """True if it was killed after so many frames, and False if it came to its end before."""
        process = self.start(out, *more)
        while process.poll() is None and made(out) < after:
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def unnamed(self, out, *more):
        """Leaves a part with all its pictures, because something else takes the output's name meanwhile."""
        process = self.start(out, *more)
        while process.poll() is None and not made(out):
            time.sleep(0.01)
        out.touch()
        said = process.communicate()[1].decode()
        if process.returncode != 6 or out.stat().st_size:
            sys.exit(f"{out.name}: status {process.returncode}, not 6: {said}")
        out.unlink()


def told(path):
    """The lines of a shard's manifest that tell pictures."""
    return [line for line in pathlib.Path(f"{path}.json").read_text().splitlines() if line.startswith('{"picture"')]


def compare(job, whole, out, after):
    hashes = OUTPUTS[job.name][1]
    second = ("manifest", told) if job.shard else ("sound", sound)
    for what, of in (("pictures", lambda path: pictures(path, hashes)), second):
        one, other = of(whole), of(out)
        if one != other or not one:
            at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            print(f"{job.name}, killed after {after} frames: {what} differ: {len(one)} and {len(other)}; number {at}: "
                  f"{one[at:at + 1]}, {other[at:at + 1]}")
            return False
    rest = [path.name for path in [*out.parent.glob(out.name + "*"), *out.parent.glob(LEFT + "*")]
            if path != out and not (job.shard and path.name == out.name + ".json")]
    if rest:
        print(f"{job.name}: left behind: {rest}")
    return not rest


def refuse(job, out):
    """A part goes on only on the device on which it was begun; one that cannot be read is a failed input."""
    part = out.parent / (out.name + ".part")
    said = job.ended(out, "--resume", "--device", "cpu:plain", status=2)
    if "go on where it was begun, or begin it anew with -y" not in said:
        sys.exit(f"{out.name} on another device: {said}")
    whole = part.read_bytes()
    part.write_bytes(bytes(range(256)) * 20)
    said = job.ended(out, "--resume", status=3)
    if f"{part}: cannot be read again" not in said:
        sys.exit(f"{out.name}, damaged: {said}")
    part.write_bytes(whole)


def try_output(reverie, folder, name, moments):
    clip = folder / ("in-" + name.split(".")[0] + ".mkv")
    make_clip(clip, SOUND.get(name, "aac"))
    job = Job(reverie, folder, clip, name)
    whole = folder / ("whole-" + name)
    job.ended(whole)
    frames, same = len(pictures(whole, False)), 0
    for moment in range(moments):
        out = folder / f"{moment}-{name}"
        after = 1 + (frames - 1) * moment // (moments - 1) if moments > 1 else frames * 9 // 10
        killed = job.killed(out, after)
        if moment % 3 == 1:  # and once more, on its way
            job.killed(out, min(after + 10, frames), "--resume")
        if moments == 1 and killed and not out.exists():
            refuse(job, out)
        (folder / (LEFT + "aBcD12")).touch()  # as a process leaves it that is killed while it settles a file
        if out.exists():
            (folder / (LEFT + "aBcD12")).unlink()
        elif not job.resumed(out) and killed and after > job.late:
            print(f"{name}, killed after {after} frames: began anew")
            continue
        same += compare(job, whole, out, after)
    print(f"{name}: {same} of {moments} as if nobody had killed it")
    return same == moments


def try_unnamed(reverie, folder, name):
    """A part to which only its name is missing: it is completed, but not as a render with other values."""
    job = Job(reverie, folder, folder / ("in-" + name.split(".")[0] + ".mkv"), name)
    whole, out, few = folder / ("few-" + name), folder / ("unnamed-" + name), ["--frames", "25"]
    job.ended(whole, *few)
    job.unnamed(out, *few)
    said = job.ended(out, "--resume", "--seed", "7", *few, status=2)
    if "seed differs" not in said:
        sys.exit(f"{out.name}: {said}")
    return job.resumed(out, *few) and compare(job, whole, out, 25)


def main():
    if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
        return 77
    reverie, moments = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    names = sys.argv[3:] or list(OUTPUTS)
    with tempfile.TemporaryDirectory() as folder:
        results = [try_output(reverie, pathlib.Path(folder), name, moments) for name in names]
        results += [try_unnamed(reverie, pathlib.Path(folder), name) for name in names if not name.endswith(SHARD)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
