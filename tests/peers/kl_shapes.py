#!/usr/bin/env python3
"""AutoencoderKL of Stable Diffusion at 512x512 and of SDXL at 1024x1024 with seeded random weights: diffusers on this
GPU beside reverie's CUDA device, the same numbers in.

    kl_shapes.py GPU_FRAME WORK [--json FILE] [MODEL...]

MODEL is sd-512, sdxl-1024 or wide (default: all). GPU_FRAME is the program built from tests/gpu/gpu_frame.c; WORK is a
folder for the weights (160 MB each). Needs torch, diffusers and a GPU. Prints for each half of a model: relative errors
against FP32 of diffusers in FP16 and of reverie, the times of diffusers' FP16 as one CUDA graph, in the faster of its two
memory formats, and of reverie, and memory. "wide" has inner values that FP16 cannot hold, as SDXL's trained weights have
them. --json also writes the rows for page.py. Exits with 1 when reverie's error exceeds twice that of diffusers, or its decoder takes more than 0.6 of its time.
"""
import argparse
import copy
import pathlib
import re
import subprocess
import sys

import diffusers
import numpy as np
import torch
from safetensors.torch import save_file

from clock import call_times
from rows import Rows

CONFIG = {"block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "norm_num_groups": 32,
          "down_block_types": ["DownEncoderBlock2D"] * 4, "up_block_types": ["UpDecoderBlock2D"] * 4}
MODELS = {"sd-512": (512, CONFIG | {"scaling_factor": 0.18215}), "sdxl-1024": (1024, CONFIG | {"scaling_factor": 0.13025})}
TITLES = {"sd-512": "AutoencoderKL of SD, 512x512", "sdxl-1024": "AutoencoderKL of SDXL, 1024x1024"}
RUNS = 30


def make(config, widened=1.0):
    """The network in FP32 with weights that FP16 holds."""
    torch.manual_seed(7)
    with torch.device("cuda"):
        vae = diffusers.AutoencoderKL(**config)
    vae = vae.half().float().eval().requires_grad_(False)
    for name, layer in vae.named_modules():  # the stream of residuals, which every norm takes back
        if name.endswith(("conv_in", "conv2", "to_out.0")):
            layer.weight.data *= widened
        if name.endswith(("conv_in", "conv2", "to_out.0", "conv_shortcut", "samplers.0.conv")):
            layer.bias.data *= widened
    return vae


def save(vae, folder):
    folder.mkdir(parents=True, exist_ok=True)
    vae.save_config(folder)
    save_file({k: v.half().contiguous() for k, v in vae.state_dict().items()},
              folder / "diffusion_pytorch_model.safetensors", {"format": "pt"})


def nhwc(t):
    return t.permute(0, 2, 3, 1).contiguous()


def encode(vae, x):
    return vae.encode(x).latent_dist.mode()


def decode(vae, x):
    return vae.decode(x).sample


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def graph_time(run, vae, x, memory_format):
    """Median milliseconds of a CUDA graph's replay, and megabytes."""
    vae, x = vae.to(memory_format=memory_format), x.to(memory_format=memory_format)
    torch.backends.cudnn.benchmark = True
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run(vae, x)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.reset_peak_memory_stats()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(vae, x)
    return float(np.median(call_times(graph.replay, RUNS))), torch.cuda.max_memory_allocated() / 1e6


def ours(program, folder, way, x, size, shape):
    """reverie's result, milliseconds and what else it says."""
    nhwc(x).float().cpu().numpy().tofile(folder / f"{way}.in.f32")
    done = subprocess.run([program, folder, way, folder, str(size), str(size), str(RUNS)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    out = torch.from_numpy(np.fromfile(folder / f"{way}.out.f32", np.float32)).reshape(shape)
    return out.cuda(), float(re.search(r"median +([0-9.]+)", done.stdout)[1]), done.stdout


@torch.no_grad()
def compare(name, program, work, rows):
    size, config = MODELS[name]
    folder, vae = work / name, make(config)
    save(vae, folder)
    torch.manual_seed(8)
    pixels = torch.nn.functional.interpolate(torch.rand(1, 3, 32, 32), (size, size), mode="bicubic").clamp(0, 1)
    inputs = {"encode": (pixels * 2 - 1).half().float().cuda(),
              "decode": torch.randn(1, 4, size // 8, size // 8, device="cuda").half().float() / config["scaling_factor"]}
    inputs["decode"] = inputs["decode"].half().float()
    failed = False
    for way, run in (("encode", encode), ("decode", decode)):
        x = inputs[way]
        torch.backends.cudnn.benchmark = False
        exact = nhwc(run(vae, x))
        half = copy.deepcopy(vae).half()
        theirs = relative(nhwc(run(half, x.half())), exact)
        plain, memory = graph_time(run, half, x.half(), torch.contiguous_format)
        last, _ = graph_time(run, half, x.half(), torch.channels_last)
        time = min(plain, last)
        del half
        torch.cuda.empty_cache()
        out, mine, said = ours(program, folder, way, x, size, exact.shape)
        error = relative(out, exact)
        good = error <= 2 * theirs and (way == "encode" or mine <= 0.6 * time)
        failed |= not good
        rows.add("autoencoders", TITLES[name], way, theirs, error)
        rows.add("times", TITLES[name], way, time, mine)
        print(f"{name:10} {way:7} error {theirs:9.2e} {error:9.2e}   time {time:7.3f} {mine:7.3f} ms  {mine / time:5.2f}"
              f"   memory {memory:.0f} MB; {'' if good else 'FAIL'}"
              f"   (channels last {last:.3f} ms)")
        print("    " + "\n    ".join(said.splitlines()[1:]), flush=True)
    print("    slowest of decode:\n" + "".join((folder / "decode.launches.txt").read_text().splitlines(True)[:24]))
    return failed


@torch.no_grad()
def compare_wide(name, program, work, rows):
    """Widened until diffusers' FP16 overflows in both halves."""
    size, config = MODELS[name]
    size //= 2
    inputs = {"encode": torch.rand(1, 3, size, size, device="cuda") * 2 - 1,
              "decode": torch.randn(1, 4, size // 8, size // 8, device="cuda") / config["scaling_factor"]}
    inputs = {k: v.half().float() for k, v in inputs.items()}
    runs, failed, finite = {"encode": encode, "decode": decode}, False, {}
    vae = make(config)
    narrow = {k: relative(nhwc(run(copy.deepcopy(vae).half(), inputs[k].half())), nhwc(run(vae, inputs[k])))
              for k, run in runs.items()}
    for exponent in range(14, 24):
        vae = make(config, 2.0**exponent)
        half = copy.deepcopy(vae).half()
        finite = {k: bool(run(half, inputs[k].half()).isfinite().all()) for k, run in runs.items()}
        if not any(finite.values()):
            break
    folder = work / f"{name}-wide"
    save(vae, folder)
    for way, run in runs.items():
        exact = nhwc(run(vae, inputs[way]))
        out, _, _ = ours(program, folder, way, inputs[way], size, exact.shape)
        error = relative(out, exact) if out.isfinite().all() else float("inf")
        good = error <= 2 * narrow[way]
        failed |= not good
        rows.add("range", "AutoencoderKL of SDXL", f"{way}: stream of residuals, times 2^{exponent}",
                 relative(nhwc(run(half, inputs[way].half())), exact) if finite[way] else float("inf"), error)
        print(f"{name} times 2^{exponent}: {way}: diffusers FP16 {'finite' if finite[way] else 'overflows'}, reverie's "
              f"error {error:.2e}, diffusers' before {narrow[way]:.2e} {'' if good else 'FAIL'}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=[*MODELS, "wide"], metavar="MODEL")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_intermixed_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print("columns: diffusers FP16, reverie")
    rows = Rows()
    failed = [compare_wide("sdxl-1024", options.program, options.work, rows) if name == "wide" else
              compare(name, options.program, options.work, rows) for name in options.models]
    rows.write(options.json)
    sys.exit(any(failed))


if __name__ == "__main__":
    main()
