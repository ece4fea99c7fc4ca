#!/usr/bin/env python3
"""Runs each way of gpu_frame once on small models: the commands that cuda/MEASURED.md and FIDELITY.md are measured with.

    test_gpu_frame.py GPU_FRAME GOLDENS [MODEL_OF_FRAMES]

Every way has to end well, what it writes has to be finite, and each time that it prints has to be more than nothing. The
figures themselves are judged by the scripts in tests/peers. MODEL_OF_FRAMES is the model whose frames are timed (default:
a golden). Exits with 77 where there is no GPU."""
import array
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
INPUTS = ["text", "text2", "pooled", "encode", "unet", "decode", "depth", "vision", "noise", "noises"]
FLOATS = 1 << 20  # more than any of the inputs holds: what is behind its end is not read
PROGRAM, GOLDENS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MODEL = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else GOLDENS / "turbo"
del sys.argv[1:]


def name_of_input(name):
    return f"{name}.f32" if name.startswith("noise") else f"{name}.in.f32"


def call(folder, *words, **environment):
    command = [PROGRAM, *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


class Ways(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        generator = random.Random(40)
        values = array.array("f", (generator.gauss(0, 1) for _ in range(1 << 12)))
        (self.folder / "values").write_bytes(values.tobytes() * (FLOATS >> 12))
        for name in INPUTS:
            (self.folder / name_of_input(name)).symlink_to("values")
        (self.folder / "picture.in.rgba").write_bytes(generator.randbytes(FLOATS))
        (self.folder / "tokens.i32").write_bytes(array.array("i", (i % 50 for i in range(77))).tobytes())

    def run_way(self, *words, **environment):
        done = call(self.folder, *words, **environment)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def check_times(self, said):
        times = [float(time) for time in re.findall(r"median +([0-9.]+)", said)]
        self.assertTrue(times, said)
        self.assertTrue(all(time > 0 for time in times), said)

    def check_floats(self, *names):
        for name in names:
            values = array.array("f", (self.folder / f"{name}.out.f32").read_bytes())
            self.assertTrue(values, name)
            self.assertTrue(all(map(math.isfinite, values)), name)
            self.assertTrue(any(values), name)

    def check_file(self, name):
        self.assertTrue((self.folder / name).read_bytes(), name)

    def test_networks(self):
        for model, names in {"turbo": [], "sdxl": ["text2", "pooled"]}.items():
            self.run_way(GOLDENS / model, "networks", self.folder)
            self.check_floats("text", "encode", "unet", "decode", *names)

    def test_networks_with_an_adapter(self):
        self.run_way(GOLDENS / "sd15", "networks", self.folder, GOLDENS / "adapters/kohya.safetensors")
        self.check_file("merged.f32")
        self.check_file("merged.txt")

    def test_picture(self):
        for words in (["1"], ["4"], ["2", "lcm"]):
            self.run_way(GOLDENS / "turbo", "picture", self.folder, *words)
            self.check_file("picture.out.rgba")
            self.check_file("steps.txt")

    def test_picture_with_a_control_and_a_style(self):
        styles = GOLDENS / "styles"
        self.run_way(GOLDENS / "turbo", "picture", self.folder, "2", CONTROLS=str(GOLDENS / "controls/first"), MAP="canny")
        self.check_file("picture.out.rgba")
        self.run_way(GOLDENS / "sd15", "picture", self.folder, "2",
                     STYLE=f"{styles}/sd15-linear.safetensors,{styles}/encoder80")
        self.check_file("picture.out.rgba")

    def test_frames(self):
        for size in ([], [64, 64], [64, 64, 2]):
            self.check_times(self.run_way(MODEL, "time", 20, *size))
        self.check_times(self.run_way(MODEL, "time", 20, 64, 64, BATCH="2"))
        self.check_times(self.run_way(MODEL, "replay", 100, 64, 64))
        self.assertIn("clocks", self.run_way(MODEL, "clocks", 100, 64, 64))

    def test_launches_of_frames(self):
        for way in ("profile", "parts", "launches"):
            self.run_way(MODEL, way, f"{way}.txt", 64, 64)
            self.check_file(f"{way}.txt")

    def test_autoencoders(self):
        for model in ("kl", "turbo"):
            for way in ("encode", "decode"):
                self.check_times(self.run_way(GOLDENS / model / "vae", way, self.folder, 64, 64, 5))
                self.check_floats(way)
                self.check_file(f"{way}.launches.txt")

    def test_depth(self):
        said = self.run_way(GOLDENS / "depth", "depth", self.folder, 56, 56, 5)
        self.check_times(said)
        self.assertEqual(len(re.findall("median", said)), 2, said)
        self.check_floats("depth")

    def test_vision(self):
        self.run_way(GOLDENS / "styles/sd15-linear.safetensors", "vision", self.folder, GOLDENS / "styles/encoder80")
        self.check_floats("embedding", "tokens")


if __name__ == "__main__":
    first = call(".", GOLDENS / "turbo", "time", 1, 64, 64)
    if first.returncode == SKIPPED:
        print(first.stdout, end="")
        sys.exit(SKIPPED)
    unittest.main()
