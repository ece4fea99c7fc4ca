#!/usr/bin/env python3
"""The element reverierestyle in a pipeline of gst-launch: the pictures of PNGs are `render`'s, and there is a property
for each parameter of the library.

    test_gstreamer.py SOURCE_ROOT PLUGIN REVERIE

Skipped where GStreamer's tools or its decoder of PNGs are not installed."""
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT, PLUGIN, REVERIE = sys.argv[1:4]
del sys.argv[1:]
SIDE, PROMPT = 64, "ink drawing"


def png(pixels):
    """A PNG of these rows of RGB."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + pixels[at:at + 3 * SIDE] for at in range(0, len(pixels), 3 * SIDE))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def frame(number):
    return bytes((3 * x + 20 * number) % 256 if c == 0 else 4 * y % 256 if c == 1 else (x * y + number) % 256
                 for y in range(SIDE) for x in range(SIDE) for c in range(3))


class GStreamer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def run_tool(self, *command):
        environment = {**os.environ, "GST_PLUGIN_PATH": os.path.dirname(PLUGIN),
                       "GST_REGISTRY": str(self.path / "registry"), "GST_REGISTRY_FORK": "no"}
        result = subprocess.run(command, capture_output=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def test_pictures_are_those_of_render(self):
        """As a live pipeline makes them, with two frames in flight."""
        for number in range(3):
            (self.path / f"{number}.png").write_bytes(png(frame(number)))
        rendered = subprocess.run([REVERIE, "render", f"{self.path}/%d.png", "hash:-", "--size", f"{SIDE}x{SIDE}",
                                   "--prompt", PROMPT], capture_output=True).stdout.decode()
        expected = re.findall(r"(?m)^\d+ \d+ ([0-9a-f]{32})$", rendered)
        self.assertEqual(len(set(expected)), 3)
        self.run_tool("gst-launch-1.0", "-q", "multifilesrc", f"location={self.path}/%d.png",
                      "caps=image/png,framerate=25/1", "!", "pngdec", "!", "videoconvert", "!", "reverierestyle",
                      f"prompt-1={PROMPT}", f"size={SIDE}x{SIDE}", "in-flight=2", "!", "video/x-raw,format=I420", "!",
                      "filesink", f"location={self.path}/out.yuv")
        made = (self.path / "out.yuv").read_bytes()
        size = SIDE * SIDE * 3 // 2
        self.assertEqual([hashlib.md5(made[at:at + size]).hexdigest() for at in range(0, len(made), size)], expected)

    def test_properties(self):
        text = self.run_tool("gst-inspect-1.0", "reverierestyle")
        properties = set(re.findall(r"(?m)^  ([a-z][a-z0-9-]*) +: ", text))
        stored = (pathlib.Path(ROOT) / "tests/library/reverie.abi").read_text()
        for name, count in re.findall(r"(?m)^parameter (\S+) .* instances (\d+)", stored):
            for instance in range(1, max(int(count), 1) + 1):
                with self.subTest(name=name, instance=instance):
                    self.assertIn(name.replace("[]", f"-{instance}").replace(".", "-"), properties)
        self.assertLess({"device", "threads", "in-flight", "smooth", "qos"}, properties)


if __name__ == "__main__":
    if not (shutil.which("gst-launch-1.0") and
            subprocess.run(["gst-inspect-1.0", "--exists", "pngdec"], capture_output=True).returncode == 0):
        print("Skipped: gst-launch-1.0 or its element pngdec is not installed.")
        sys.exit(77)
    unittest.main()
