#!/usr/bin/env python3
"""The frei0r filter, in its hosts: its pictures are those of the library, whose are `render`'s.

    test_frei0r.py PICTURES FILTER

With melt where that is installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PICTURES, FILTER = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:]
SIDE = 64
PROFILE = """description=small
frame_rate_num=25
frame_rate_den=1
width=64
height=64
progressive=1
sample_aspect_num=1
sample_aspect_den=1
display_aspect_num=1
display_aspect_den=1
colorspace=601
"""


def frames(count):
    return [bytes(255 if c == 3 else (x * (c + 1) * 2 + y * 3 + 40 * n) % 256
                  for y in range(SIDE) for x in range(SIDE) for c in range(4)) for n in range(count)]


def styled(data, prompt, *values):
    return subprocess.run([PICTURES, "64x64", "rgba", "rgba", f"prompt[1]={prompt}", *values], input=data,
                          capture_output=True, check=True).stdout


class Frei0r(unittest.TestCase):
    def run_host(self, *command, data=b""):
        environment = {**os.environ, "FREI0R_PATH": os.path.dirname(FILTER), "QT_QPA_PLATFORM": "offscreen",
                       "MLT_FREI0R_PLUGIN_PATH": os.path.dirname(FILTER)}
        result = subprocess.run(command, input=data, capture_output=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result

    def ffmpeg(self, data, chain, size="64x64"):
        return self.run_host("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", size, "-i", "-",
                             "-vf", chain, "-f", "rawvideo", "-pix_fmt", "rgba", "-", data=data)

    def test_pictures_in_ffmpeg(self):
        """Also of a prompt with the characters that FFmpeg's filters end values at."""
        data = b"".join(frames(2))
        self.assertEqual(self.ffmpeg(data, "frei0r=reverie:ink drawing").stdout, styled(data, "ink drawing"))
        self.assertEqual(self.ffmpeg(data, r"frei0r=reverie:'ink \\| lines\: at night|0.5|0.007'").stdout,
                         styled(data, "ink | lines: at night", "strength=0.5", "seed=7"))
        self.assertNotEqual(styled(data, "ink "), styled(data, "ink | lines: at night"))

    def test_other_sizes(self):
        """A frame that the model does not make as it is keeps its size and its alpha."""
        data = bytes(100 if i % 4 == 3 else i // 50 % 256 for i in range(4 * 128 * 72))
        made = self.ffmpeg(data, "frei0r=reverie:neon|1|0.001|0.03125", "128x72").stdout
        self.assertEqual(len(made), len(data))
        self.assertEqual(set(made[3::4]), {100})
        self.assertGreater(len(set(made[0::4])), 10)

    def test_a_frame_stays_where_nothing_can_be_made(self):
        data = b"".join(frames(3))
        result = self.ffmpeg(data, "frei0r=reverie:neon|1|0.001|0.25|/nowhere")
        self.assertEqual(result.stdout, data)
        self.assertEqual(len(re.findall(r"(?m)^reverie: /nowhere: ", result.stderr.decode())), 1)

    @unittest.skipUnless(shutil.which("melt"), "melt is not installed")
    def test_pictures_in_melt(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            picture = frames(1)[0]
            (folder / "profile").write_text(PROFILE)
            self.run_host("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", "64x64", "-i", "-",
                          str(folder / "in.png"), data=picture)
            self.run_host("melt", "-profile", str(folder / "profile"), str(folder / "in.png"), "out=2", "-attach",
                          "frei0r.reverie", "prompt=ink drawing", "-consumer", f"avformat:{folder}/out.nut",
                          "vcodec=rawvideo", "pix_fmt=rgba", "real_time=-2", "an=1")
            made = self.run_host("ffmpeg", "-v", "error", "-i", str(folder / "out.nut"), "-f", "rawvideo", "-pix_fmt",
                                 "rgba", "-").stdout
            self.assertEqual(made, 3 * styled(picture, "ink drawing"))


if __name__ == "__main__":
    unittest.main()
