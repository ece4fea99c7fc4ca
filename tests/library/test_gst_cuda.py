#!/usr/bin/env python3
"""The element reverierestyle with CUDA memory on one or both sides, in pipelines of gst-launch with the elements
cudaupload and cudadownload: the pictures are those of the host's memory.

    test_gst_cuda.py PLUGIN [FRAMES]

prints a line. Skipped (77) where GStreamer's plug-in nvcodec or a GPU is not there."""
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED, AT_ONCE = 77, 4
FORMATS = ("RGBA", "NV12", "I420", "P010_10LE")
ON_GPU, ON_HOST = "video/x-raw(memory:CUDAMemory)", "video/x-raw"
UP, DOWN = "cudaupload", f"cudadownload ! {ON_HOST}"
WAYS = {"CUDA to CUDA": ([UP], [ON_GPU, DOWN]), "CUDA to host": ([UP], [ON_HOST]), "host to CUDA": ([], [ON_GPU, DOWN]),
        "CUDA to what comes": ([UP], [DOWN]),
        "CUDA to CUDA in threads": ([UP, "queue"], [ON_GPU, "queue", DOWN])}


class Pipelines:
    def __init__(self, plugin, frames, folder):
        self.folder, self.frames = pathlib.Path(folder), frames
        path = os.pathsep.join(filter(None, (os.path.dirname(os.path.abspath(plugin)),
                                             os.environ.get("GST_PLUGIN_PATH"))))
        self.environment = {"XDG_CACHE_HOME": folder, "GST_REGISTRY": folder + "/registry", "GST_REGISTRY_FORK": "no",
                            **os.environ, "GST_PLUGIN_PATH": path, "GST_DEBUG": "reverierestyle:5",
                            "GST_DEBUG_NO_COLOR": "1"}

    def has(self, element):
        return subprocess.run(["gst-inspect-1.0", "--exists", element], env=self.environment).returncode == 0

    def run(self, frame_format, in_flight=1, name="host", before=(), after=()):
        """Returns the hash of the pictures, and whether frames in CUDA memory were copied to the host."""
        out = self.folder / f"{frame_format}-{in_flight}-{name.replace(' ', '-')}"
        elements = [f"videotestsrc num-buffers={self.frames} pattern=ball",
                    f"video/x-raw,format={frame_format},width=256,height=192,framerate=30/1" +
                    ("" if frame_format == "RGBA" else ",colorimetry=bt709"), *before,
                    f"reverierestyle device=cuda prompt-1=neon size=256x256 in-flight={in_flight}", *after,
                    f"filesink location={out}"]
        words = " ! ".join(elements).split(" ")
        result = subprocess.run(["gst-launch-1.0", "-q", *words], capture_output=True, text=True,
                                env={**self.environment, "GST_DEBUG_FILE": f"{out}.log"})
        if result.returncode:
            raise RuntimeError(f"{' ! '.join(elements)}: {result.stderr}")
        copied = "through the host" in out.with_suffix(".log").read_text()
        return hashlib.md5(out.read_bytes()).hexdigest(), copied


def main(plugin, frames=60):
    with tempfile.TemporaryDirectory() as folder:
        pipelines = Pipelines(plugin, int(frames), folder)
        if not (shutil.which("gst-launch-1.0") and pipelines.has("cudaupload") and pipelines.has("cudadownload")):
            print("skipped: GStreamer has no element cudaupload")
            return SKIPPED
        expected = {name: pipelines.run(name)[0] for name in FORMATS}  # chooses the kernels that all others use
        todo = [(frame_format, in_flight, name, *WAYS[name]) for frame_format in FORMATS for name in WAYS
                for in_flight in ((1, 2) if name == "CUDA to CUDA" else (2,))]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda way: pipelines.run(*way), todo))
    wrong = [f"\n  {way[0]}, {way[2]}, {way[1]} in flight{': copied to the host' if copied else ''}"
             for way, (made, copied) in zip(todo, done) if made != expected[way[0]] or copied]
    print(f"{len(todo)} pipelines of {frames} frames: {len(wrong)} differ from the host's memory{''.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
