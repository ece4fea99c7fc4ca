#!/usr/bin/env python3
"""A frame of mini on the CPU: OpenVINO beside reverie, by turns on the same cores.

    mini_openvino.py REVERIE [--model FOLDER] [--cores N] [--turns N] [--frames N] [--size N...] [--nice N]
                     [--precision f32|bf16...]

REVERIE is the built program. diffusers loads mini's U-Net and autoencoder, and OpenVINO gets both as one graph, from
picture to picture: encoder, one step, decoder. Noise, text and time stay the same from frame to frame: they are
constants of that graph. A frame of reverie also converts the pixels of its input and its output; one of OpenVINO does
not. bf16 is OpenVINO's hint and reverie's --precision.

A turn is a `reverie bench` and then as many frames by OpenVINO. For each size and precision the script prints, in
milliseconds a frame:

    median, p99   the median over all turns of each turn's median, and of its 99th percentile
    CPU           user and system time of all threads, the least and the median of all turns; with --cores 1 other
                  programs on the machine change it little, with more cores threads that wait for others count, too
    ratio         OpenVINO's figure divided by reverie's

Before the turns, both make a picture from the same input and the same noise. The script fails where these two pictures,
or one of them and diffusers' own in FP32, are further apart than PSNR_LEAST says: the two programs would not do the
same work. Needs openvino, torch, diffusers, transformers, Pillow and a C compiler. Run from the root of the source
tree."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import diffusers
import numpy as np
import openvino
import PIL.Image
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "goldens"))
from checkpoints import as_tensor, decoded, own_latent, picture  # noqa: E402
from models import Noise, encode, load, make_scheduler, psnr  # noqa: E402

PROMPT, SEED = "oil painting", 11
# The least PSNR in dB, for each precision. Measured: 92 or more in FP32, where single values differ by 1 of 255; 49 or
# more in BF16.
PSNR_LEAST = {"f32": 70, "bf16": 40}
WARM = 3  # how many frames OpenVINO makes at the beginning of a turn that are not timed


class Frame(torch.nn.Module):
    """Picture to picture, both [1,3,height,width] in 0..1: one Euler step of diffusers' InstructPix2Pix pipeline."""

    def __init__(self, parts, model, noise, size):
        super().__init__()
        self.unet, self.vae = parts["unet"], parts["vae"]
        scheduler = make_scheduler(model)
        scheduler.set_timesteps(1)
        sigma, self.time = float(scheduler.sigmas[0]), float(scheduler.timesteps[0])
        self.share = 1 / (sigma**2 + 1)  # v-prediction: the picture is share * sample - factor * prediction
        self.factor = sigma * self.share**0.5
        unit = noise.make(SEED, 0, (1, self.vae.config.latent_channels, size // 8, size // 8))
        self.register_buffer("sample", unit * float(scheduler.init_noise_sigma))
        self.register_buffer("text", encode(parts, PROMPT)[1][0].detach())

    def forward(self, image):
        seen = torch.cat([self.sample * self.share**0.5, own_latent(self.vae, image)], 1)
        predicted = self.unet(seen, self.time, self.text, return_dict=False)[0]
        return decoded(self.vae, self.share * self.sample - self.factor * predicted).clamp(0, 1)


def compiled(frame, size, precision, cores):
    shape = [1, 3, size, size]
    graph = openvino.convert_model(frame, example_input=torch.rand(shape), input=[shape])
    # LATENCY is OpenVINO's hint for the least time of one frame; its other hint runs several frames at once.
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": cores}
    return openvino.Core().compile_model(graph, "CPU", settings).create_infer_request()


def pixels(image):
    return np.rint(image[0].transpose(1, 2, 0) * 255).astype(np.uint8)


def rendered(options, image, size, precision):
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "in.png"), os.path.join(folder, "out.png")
        PIL.Image.fromarray(image).save(before)
        subprocess.run([options.reverie, "render", before, after, "-y", "-q", "--prompt", PROMPT, "--seed", str(SEED),
                        *common(options, size, precision)], check=True)
        return np.asarray(PIL.Image.open(after).convert("RGB"))


def common(options, size, precision):
    return ["--model", str(options.model), "--device", "cpu", "--size", f"{size}x{size}", "--steps", "1",
            "--precision", precision, "--threads", str(options.cores)]


def spent(who):
    usage = resource.getrusage(who)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def bench(options, size, precision, frames):
    """What `reverie bench` says, and the CPU time that the whole program took."""
    before = spent(resource.RUSAGE_CHILDREN)
    command = [options.reverie, "bench", "--frames", str(frames), "--json", "-", *common(options, size, precision)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out), spent(resource.RUSAGE_CHILDREN) - before


def turn_of_reverie(options, size, precision):
    """The CPU time of a frame comes from the difference of two benches, which leaves out start-up. Each row of a bench
    has all its frames."""
    few = max(1, options.frames // 8)
    short = bench(options, size, precision, few)[1]
    report, long = bench(options, size, precision, options.frames)
    row = report["rows"][0]
    assert row["name"] == "compute only", row
    return {"median": row["median_ms"], "p99": row["p99_ms"],
            "CPU": (long - short) / (len(report["rows"]) * (options.frames - few))}


def turn_of_openvino(options, request, image):
    for _ in range(WARM):
        request.infer([image])
    times, before = [], spent(resource.RUSAGE_SELF)
    for _ in range(options.frames):
        begin = time.perf_counter()
        request.infer([image])
        times.append(1000 * (time.perf_counter() - begin))
    return {"median": statistics.median(times), "p99": float(np.percentile(times, 99)),
            "CPU": (spent(resource.RUSAGE_SELF) - before) / options.frames}


@torch.no_grad()
def compare(options, parts, noise, size, precision):
    image = picture(size, size, 1)
    frame = Frame(parts, options.model, noise, size)
    request = compiled(frame, size, precision, options.cores)
    tensor = as_tensor(image)
    exact = pixels(frame(tensor).numpy())
    theirs = pixels(request.infer([tensor.numpy()])[0])
    ours = rendered(options, image, size, precision)
    distance = [psnr(ours, theirs), psnr(ours, exact), psnr(theirs, exact)]
    turns = [(turn_of_reverie(options, size, precision), turn_of_openvino(options, request, tensor.numpy()))
             for _ in range(options.turns)]
    show(f"{size}x{size} {precision}", turns, distance)
    return min(distance) >= PSNR_LEAST[precision]


def show(name, turns, distance):
    middle = lambda who, what: statistics.median(turn[who][what] for turn in turns)
    least = [min(turn[who]["CPU"] for turn in turns) for who in (0, 1)]
    for who, program in enumerate(("reverie", "OpenVINO")):
        print(f"{name:<14}{program:<10}{middle(who, 'median'):>9.2f}{middle(who, 'p99'):>9.2f}{least[who]:>11.2f}"
              f"{middle(who, 'CPU'):>9.2f}")
    ratio = lambda what: middle(1, what) / middle(0, what)
    print(f"{'':<14}{'ratio':<10}{ratio('median'):>9.2f}{ratio('p99'):>9.2f}{least[1] / least[0]:>11.2f}"
          f"{ratio('CPU'):>9.2f}   PSNR {distance[0]:.1f} dB; from FP32 {distance[1]:.1f} and {distance[2]:.1f}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reverie", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path("assets/mini/model"))
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--size", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--precision", nargs="+", choices=PSNR_LEAST, default=list(PSNR_LEAST))
    parser.add_argument("--nice", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    os.nice(options.nice)
    about = bench(options, 256, "f32", 1)[0]
    print(f"{about['device']}, {about['device_detail'].rpartition(',')[0]}; "
          f"OpenVINO {openvino.__version__.split('-')[0]}; {options.turns} turns of {options.frames} frames")
    print(f"{'mini':<24}{'median':>9}{'p99':>9}{'CPU least':>11}{'median':>9}  (ms a frame)", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        noise, parts = Noise(pathlib.Path(scratch)), load(options.model)
        same = [compare(options, parts, noise, size, p) for size in options.size for p in options.precision]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
