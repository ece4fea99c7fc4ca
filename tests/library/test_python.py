#!/usr/bin/env python3
"""assets/python/reverie.py: its pictures are those of a C program, and its arrays live as long as they are used.

    test_python.py SOURCE_ROOT LIBRARY PICTURES

Skipped where Python has no cffi or no numpy. Those of the distribution are for the distribution's Python."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

SYSTEM = "/usr/bin/python3"
if not all(importlib.util.find_spec(name) for name in ("cffi", "numpy")):
    if sys.executable != SYSTEM and os.path.exists(SYSTEM) and "REVERIE_AGAIN" not in os.environ:
        os.execve(SYSTEM, [SYSTEM, "-B", *sys.argv], {**os.environ, "REVERIE_AGAIN": "1"})
    print("Skipped: Python has no cffi or no numpy.")
    sys.exit(77)

ROOT, LIBRARY, PICTURES = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:]
os.environ["REVERIE_LIBRARY"] = LIBRARY
sys.path.insert(0, ROOT + "/assets/python")
import numpy  # noqa: E402
import reverie  # noqa: E402

SIDE = 64


def a_frame(number=0):
    y, x, c = numpy.mgrid[0:SIDE, 0:SIDE, 0:3]
    return ((x * (c + 1) * 2 + y * 3 + 40 * number) % 256).astype(numpy.uint8)


class Python(unittest.TestCase):
    def test_pictures_are_those_of_a_c_program(self):
        frames = [a_frame(number) for number in range(3)]
        data = b"".join(numpy.dstack([frame, numpy.full((SIDE, SIDE), 255, numpy.uint8)]).tobytes() for frame in frames)
        expected = subprocess.run([PICTURES, "64x64", "rgba", "rgba", "prompt[1]=blueprint"], input=data,
                                  capture_output=True, check=True).stdout
        with reverie.Reverie(prompt="blueprint", size="64x64") as engine:
            engine.submit(frames[0])
            engine.submit(frames[1], time_ns=1)
            self.assertEqual(engine.in_flight, 2)
            pictures = [engine.collect(), engine.collect(), engine.restyle(numpy.flipud(numpy.flipud(frames[2])))]
        self.assertEqual(b"".join(picture.tobytes() for picture in pictures), expected)
        self.assertFalse(pictures[0].flags.writeable)
        self.assertEqual(pictures[0].shape, (SIDE, SIDE, 4))

    def test_values(self):
        lines = []
        with reverie.Reverie({"prompt[2]": "neon"}, prompt="qwerty", size="64x64", strength=0.5, lora_lenient=True,
                             log=lambda level, line: lines.append((level, line))) as engine:
            first = engine.restyle(a_frame())
            self.assertTrue(any(level == 0 and "qwerty" in line for level, line in lines))
            self.assertEqual((engine.get("strength"), engine.get("prompt[2]")), ("0.5", "neon"))
            engine.set("strength", None)
            self.assertFalse((engine.restyle(a_frame()) == first).all())
            self.assertEqual((engine.info()["model"], engine.info()["width"]), ("mini", SIDE))
            with self.assertRaisesRegex(reverie.Error, "strength 7: a number from 0 to 1") as caught:
                engine.set("strength", 7)
            self.assertEqual(caught.exception.status, 2)
            with self.assertRaisesRegex(ValueError, "bytes are needed"):
                engine.submit(numpy.zeros((SIDE, SIDE, 3)))
        with self.assertRaisesRegex(ValueError, "closed"):
            engine.restyle(a_frame())
        with self.assertRaisesRegex(reverie.Error, "/nowhere"):
            reverie.Reverie(model="/nowhere")

    def test_parameters(self):
        rows = {row["name"]: row for row in reverie.parameters()}
        self.assertEqual((rows["strength"]["least"], rows["strength"]["most"]), (0, 1))
        self.assertEqual(rows["prompt[]"]["instances"], 9)
        self.assertTrue(all(row["help"] for row in rows.values()))

    def test_version(self):
        project = (pathlib.Path(ROOT) / "assets/python/pyproject.toml").read_text()
        self.assertEqual(re.search(r'(?m)^version = "(.*)"$', project)[1], reverie.version())


if __name__ == "__main__":
    unittest.main()
