#!/usr/bin/env python3
"""The library, from outside: its interface is the one that is written down, its pictures are `render`'s, programs and
libraries of two versions go together, and the page shows the examples.

    test_library.py SOURCE_ROOT PICTURES APPENDED APPENDED_LIBRARY LIBRARY REVERIE|- EXAMPLE...

PICTURES is the program pictures.c, APPENDED the same for a header whose structs have more fields, APPENDED_LIBRARY the
library of that header."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, PICTURES, APPENDED, APPENDED_LIBRARY, LIBRARY, REVERIE = sys.argv[1:7]
EXAMPLES = [os.path.abspath(path) for path in sys.argv[7:]]
del sys.argv[1:]
ROOT = pathlib.Path(ROOT)
STORED = ROOT / "tests/library/reverie.abi"
SIDE, PROMPT = 64, "ink drawing"


def run(*command, data=b"", library=None):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(library or LIBRARY).parent)}
    return subprocess.run(command, input=data, capture_output=True, env=environment)


def symbols():
    """What the library defines for others, and of which version."""
    lines = run("nm", "-D", "--defined-only", LIBRARY).stdout.decode().split("\n")
    return sorted(line.split()[-1] for line in lines if line and " A " not in line)


def interface():
    return "".join(f"symbol {name}\n" for name in symbols()) + run(PICTURES, "abi").stdout.decode()


def frames(count):
    return [bytes((3 * x + 20 * n) % 256 if c == 0 else 4 * y % 256 if c == 1 else (x * y + n) % 256
                  for y in range(SIDE) for x in range(SIDE) for c in range(3)) for n in range(count)]


def rgba(pictures):
    return b"".join(p[i:i + 3] + b"\xff" for p in pictures for i in range(0, len(p), 3))


def hashes(data):
    size = SIDE * SIDE * 3 // 2
    return [hashlib.md5(data[at:at + size]).hexdigest() for at in range(0, len(data), size)]


def rendered(*arguments):
    """The hashes that `render` gives."""
    result = run(REVERIE, "render", *arguments, "hash:-", "--size", f"{SIDE}x{SIDE}", "--prompt", PROMPT)
    return re.findall(r"(?m)^\d+ \d+ ([0-9a-f]{32})$", result.stdout.decode())


class Library(unittest.TestCase):
    def pictures(self, form, data, out="i420", program=PICTURES, library=None):
        result = run(program, f"{SIDE}x{SIDE}", form, out, f"prompt[1]={PROMPT}", data=data, library=library)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    def test_interface_is_the_stored_one(self):
        """What is there stays as it is. Lines of what is new are added to the file by hand."""
        self.assertEqual(interface().splitlines(), STORED.read_text().splitlines())

    def test_package_lists_the_symbols(self):
        listed = re.findall(r"(?m)^ (reverie_\w+)@REVERIE_0 ", (ROOT / "debian/libreverie0.symbols").read_text())
        self.assertEqual(sorted(listed), [name.split("@")[0] for name in symbols()])

    def test_nothing_else_is_linked(self):
        needed = run("readelf", "-d", LIBRARY).stdout.decode()
        self.assertIn("libdnnl" if "libdnnl" in needed else "libc.so", needed)
        self.assertIsNone(re.search(r"NEEDED.*(libav|libsw|SDL|epoxy|libGL|curl)", needed))
        self.assertIn("[libreverie.so.0]", needed)

    @unittest.skipIf(REVERIE == "-", "no program")
    def test_pictures_are_those_of_render(self):
        """Of pictures, and of a film with ten bits."""
        with tempfile.TemporaryDirectory() as folder:
            for number, pixels in enumerate(frames(3)):
                (pathlib.Path(folder) / f"{number}.ppm").write_bytes(b"P6\n%d %d\n255\n" % (SIDE, SIDE) + pixels)
            expected = rendered(f"{folder}/%d.ppm")
            self.assertEqual(len(set(expected)), 3)
            self.assertEqual(hashes(self.pictures("rgba", rgba(frames(3)))), expected)
            film = pathlib.Path(folder) / "film.yuv"
            film.write_bytes(b"".join(bytes((64 * (i % 4), 20 + (i * 7 + i // SIDE) % 200))
                                      for i in range(SIDE * SIDE * 3 // 2)))
            expected = rendered(str(film), "--input-format", "rawvideo", "--input-options",
                                f"pixel_format=p010le:video_size={SIDE}x{SIDE}")
            self.assertEqual(hashes(self.pictures("p010", film.read_bytes())), expected)
            self.assertEqual(len(expected), 1)

    @unittest.skipIf(REVERIE == "-", "no program")
    def test_version_lists_what_was_built_in(self):
        """What the program says that it has is what it is linked with."""
        self.assertEqual(len(run(REVERIE, "--version").stdout.splitlines()), 1)
        first, *others = run(REVERIE, "--version", "-v").stdout.decode().splitlines()
        lines = dict(line.split(": ", 1) for line in others)
        needed = run("readelf", "-d", REVERIE).stdout.decode()
        for part, library in (("oneDNN", "libdnnl"), ("fetch", "libcurl"), ("OSC", "liblo."), ("MIDI", "libasound"),
                              ("web page", "libmicrohttpd"), ("X11", "libXrandr"), ("fontconfig", "libfontconfig")):
            with self.subTest(part=part):
                self.assertIn(part, lines["built with" if library in needed else "built without"])
                self.assertNotIn(part, lines["built without" if library in needed else "built with"])
        self.assertRegex(lines["running with"], r"libavformat \d+\.\d+\.\d+ ")
        version = re.match(r"reverie (\d+\.\d+\.\d+)$", first)[1]
        self.assertRegex((ROOT / "debian/changelog").read_text(), rf"^reverie \({re.escape(version)}-\d+\) ")
        self.assertIn(f"\n## {version}", (ROOT / "CHANGELOG.md").read_text())

    def test_formats(self):
        """The same picture in other formats, in and out."""
        luma = SIDE * SIDE
        i420 = bytes(20 + (i * 7 + i // SIDE) % 200 for i in range(luma * 3 // 2))
        u, v = i420[luma:luma * 5 // 4], i420[luma * 5 // 4:]
        nv12 = i420[:luma] + bytes(b for pair in zip(u, v) for b in pair)
        expected = self.pictures("i420", i420)
        u, v = expected[luma:luma * 5 // 4], expected[luma * 5 // 4:]
        self.assertEqual(self.pictures("nv12", nv12, "nv12"),
                         expected[:luma] + bytes(b for pair in zip(u, v) for b in pair))
        red = self.pictures("i420", i420, "rgba")
        blue = self.pictures("i420", i420, "bgra")
        self.assertEqual(red[0::4] + red[2::4], blue[2::4] + blue[0::4])
        self.assertEqual(set(red[3::4]), {255})
        ten = self.pictures("i420", i420, "p010")
        self.assertEqual(len(ten), 2 * len(expected))
        self.assertLessEqual(max(abs(ten[2 * i + 1] - expected[i]) for i in range(luma)), 1)

    def test_versions_go_together(self):
        """A program and a library, of which the one or the other has longer structs."""
        data = rgba(frames(2))
        expected = self.pictures("rgba", data)
        self.assertEqual(self.pictures("rgba", data, program=APPENDED), expected)
        self.assertEqual(self.pictures("rgba", data, library=APPENDED_LIBRARY), expected)
        self.assertEqual(run(APPENDED, "abi").returncode, 0)
        longer = run(APPENDED, "abi").stdout.decode()
        self.assertEqual(len(re.findall(r"(?m)^struct ", longer)), 6)
        self.assertFalse(set(re.findall(r"(?m)^struct .*", longer)) & set(re.findall(r"(?m)^struct .*", interface())))

    def test_errors(self):
        for status, words, values in ((2, "strength 7: a number from 0 to 1 is needed", ["strength=7"]),
                                      (2, "no-such: there is no parameter of that name", ["no-such=1"]),
                                      (2, "fullscreen: belongs to the program reverie", ["fullscreen=on"]),
                                      (2, "style[1]: is given as a picture", ["style[1]=x.png"]),
                                      (2, "lora[2]: there is no lora[1]", ["lora[2]=x.safetensors"]),
                                      (4, "nobody-has-this: no file or folder", ["model=nobody-has-this"])):
            with self.subTest(values=values):
                result = run(PICTURES, "64x64", "rgba", "rgba", *values)
                self.assertEqual(result.returncode, status)
                self.assertIn(words, result.stderr.decode())
                self.assertEqual(result.stderr.count(b"\n"), 1)

    @unittest.skipUnless(shutil.which("c++"), "no compiler for C++")
    def test_header_is_taken_by_cpp(self):
        result = run("c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c++",
                     "-", "-I", str(ROOT / "app/library"), data=b"#include <reverie.h>\n")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_examples_run(self):
        with tempfile.TemporaryDirectory() as folder:
            for example in EXAMPLES:
                with self.subTest(example=example):
                    result = subprocess.run([example], cwd=folder, capture_output=True, text=True)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertTrue(result.stdout)
            picture = (pathlib.Path(folder) / "picture.ppm").read_bytes()
            self.assertTrue(picture.startswith(b"P6\n256 256\n255\n"))
            self.assertGreater(len(set(picture[15:])), 100)

    def test_page_shows_the_examples(self):
        page = (ROOT / "LIBRARY.md").read_text()
        shown = re.findall(r"(?ms)^```c\n(.*?)^```$", page)
        files = sorted((ROOT / "assets/examples").glob("*.c"))
        self.assertEqual(len(files), len(EXAMPLES))
        for path in files:
            with self.subTest(path=path.name):
                self.assertIn(path.read_text(), shown)
                self.assertIn(f"assets/examples/{path.name}", page)


if __name__ == "__main__":
    unittest.main()
