#!/usr/bin/env python3
"""The shapes of Depth Anything V2 Small with seeded random weights: transformers on this GPU beside reverie's CUDA device,
the same picture in.

    depth_shapes.py GPU_FRAME WORK [WIDTH HEIGHT]...

GPU_FRAME is the program built from tests/gpu/gpu_frame.c; WORK is a folder for the checkpoint (50 MB). Pictures are of
512x512 where no sizes are given. Needs torch, transformers and a GPU. Prints for each size the relative errors against
FP32, of transformers in FP16 and of reverie, and the times of transformers' network as a CUDA graph and of reverie's.
Exits with 1 where reverie's error is more than twice that of transformers.
"""
import os
import pathlib
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

from clock import call_times

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RUNS = 200


def make(folder):
    torch.manual_seed(3)
    backbone = Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=518, out_indices=[3, 6, 9, 12],
                            reshape_hidden_states=False)
    model = DepthAnythingForDepthEstimation(DepthAnythingConfig(backbone_config=backbone)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "layer_scale" in name:
                p.uniform_(-0.5, 0.5)
            elif "position" in name or "token" in name:
                p.normal_(0, 0.3)
            elif "norm" in name:
                p.normal_(1.0 if name.endswith("weight") else 0.0, 0.1)
            elif p.dim() > 1:
                p.normal_(0, 1.4 / (p.shape[0] if "resize" in name and p.shape[-1] != 3 else p[0].numel())**0.5)
            else:
                p.normal_(0, 0.1)
        model.head.conv3.weight.abs_()  # depths above 0
    model = model.half()
    model.save_pretrained(folder)
    return model.float().to(DEVICE)  # FP32 sums of the FP16 weights that the file holds


def network_input(picture):
    _, _, height, width = picture.shape
    long = min(max(int(max(width, height) / min(width, height) * 37 + 0.5), 37), 148)
    rows, columns = (37, long) if width > height else (long, 37)
    resized = F.interpolate(picture, size=(14 * rows, 14 * columns), mode="bicubic", align_corners=False)
    return (resized - torch.tensor(MEAN, device=DEVICE)[:, None, None]) / torch.tensor(STD, device=DEVICE)[:, None, None]


def graph_time(model, pixels):
    for _ in range(3):
        model(pixels)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(pixels)
    return sorted(call_times(graph.replay, RUNS))[RUNS // 2]


def distance(a, b):
    """Of what differs from pixel to pixel: a network's own mean is no error's measure."""
    return ((a - b).norm() / (b - b.mean()).norm()).item()


@torch.no_grad()
def main():
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        sys.exit(__doc__)
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    sizes = [(int(w), int(h)) for w, h in zip(sys.argv[3::2], sys.argv[4::2])] or [(512, 512)]
    folder = work / "depth-shapes"
    folder.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model, worse = make(folder), False
    half = DepthAnythingForDepthEstimation.from_pretrained(folder, dtype=torch.float16).eval().to(DEVICE)
    for width, height in sizes:
        coarse = torch.rand(1, 3, 12, 12, device=DEVICE)
        picture = F.interpolate(coarse, size=(height, width), mode="bilinear")
        picture = (picture + 0.1 * torch.rand_like(picture)).clamp(0, 1)
        picture.half().float().permute(0, 2, 3, 1).cpu().numpy().tofile(folder / "depth.in.f32")
        pixels = network_input(picture.half().float())
        expected = model(pixels).predicted_depth
        theirs = half(pixels.half()).predicted_depth.float()
        time = graph_time(half, pixels.half()) if DEVICE == "cuda" else 0
        run = subprocess.run([program, folder, "depth", folder, str(width), str(height), str(RUNS)], text=True,
                             capture_output=True, env=os.environ)
        print(run.stdout + run.stderr, end="")
        if run.returncode:
            sys.exit(run.returncode)
        got = torch.from_numpy(np.fromfile(folder / "depth.out.f32", np.float32)).to(DEVICE).reshape(expected.shape)
        ours, peer = distance(got, expected), distance(theirs, expected)
        worse |= not ours <= 2 * peer
        print(f"{width}x{height} as {pixels.shape[3]}x{pixels.shape[2]}: error {ours:.2e}, transformers in FP16 "
              f"{peer:.2e}; transformers as a CUDA graph {time:.3f} ms")
        print("".join((folder / "depth.launches.txt").read_text().splitlines(True)[:45]))
    sys.exit(worse)


if __name__ == "__main__":
    main()
