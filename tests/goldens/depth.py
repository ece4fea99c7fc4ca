#!/usr/bin/env python3
"""Makes the golden that tests/test_depth.c compares with: a small random Depth Anything V2 in the layout of transformers,
and what transformers computes from it in FP32 on the CPU.

    depth.py tests/data/goldens

The pictures have odd sizes. What stands between picture and network is this project's own definition (op.h), made here
with torch: bicubic resizing that is not smoothed, as the authors' own code does it; the map is their bilinear one, in the
range that the means over patches span. "half" in golden.json bounds the CUDA device's errors: they may be twice as large
as those of the same network in FP16.

Needs torch and transformers.
"""
import argparse
import json
import pathlib

import torch
import torch.nn.functional as F
from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

import packed

MEAN, STD = (0.48, 0.45, 0.41), (0.23, 0.22, 0.225)
PATCH, SIDE, SHORTER = 14, 4, 42
# Widths and heights: of which the network sees 4 x 3, 3 x 5 and 3 x 3 patches, the table being of 4 x 4.
PICTURES = {"wide": (61, 45), "tall": (37, 63), "square": (30, 30)}


def random_model():
    torch.manual_seed(0)
    backbone = Dinov2Config(hidden_size=16, num_hidden_layers=5, num_attention_heads=2, mlp_ratio=2, patch_size=PATCH,
                            image_size=SIDE * PATCH, out_indices=[1, 2, 4, 5], reshape_hidden_states=False,
                            layer_norm_eps=1e-6)
    config = DepthAnythingConfig(backbone_config=backbone, patch_size=PATCH, reassemble_hidden_size=16,
                                 neck_hidden_sizes=[8, 16, 12, 20], fusion_hidden_size=8, head_hidden_size=8)
    model = DepthAnythingForDepthEstimation(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            fan = p[0].numel() if p.dim() > 1 else 0
            if "transposed" in name or "resize" in name and p.dim() == 4:
                fan = p.shape[0]
            if "layer_scale" in name:
                p.copy_(torch.empty_like(p).uniform_(-1, 1))
            elif "norm" in name:
                p.normal_(1.0 if name.endswith("weight") else 0.0, 0.2)
            elif "position" in name or "token" in name:
                p.normal_(0, 0.5)
            elif p.dim() > 1:
                p.normal_(0, 1.4 / fan**0.5)
            else:
                p.normal_(0, 0.1)
        model.head.conv3.weight.abs_().mul_(0.2)  # depths of which few are below 0
        model.head.conv3.bias.fill_(-0.3)
        for p in model.parameters():  # the file's type
            p.copy_(p.half().float())
    return model


def grid(width, height):
    short, ratio = SHORTER // PATCH, max(width, height) / min(width, height)
    long = min(max(int(ratio * SHORTER / PATCH + 0.5), short), 4 * short)
    return (short, long) if width > height else (long, short)


def as_map(depth, height, width):
    means = F.avg_pool2d(depth[None], PATCH)
    low, high = means.min(), means.max()
    resized = F.interpolate(depth[None], size=(height, width), mode="bilinear", align_corners=True)[0, 0]
    return ((resized - low) / (high - low)).clamp(0, 1)[..., None].expand(-1, -1, 3)


def compute(model, pixels, dtype):
    model = model.to(dtype)
    with torch.no_grad():
        features = model.backbone(pixels.to(dtype)).feature_maps
        depth = model(pixels.to(dtype)).predicted_depth
    model.float()
    return [f.float() for f in features], depth.float()


def distance(a, b):
    return ((a - b).norm() / b.norm()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("goldens", type=pathlib.Path)
    folder = parser.parse_args().goldens / "depth"
    folder.mkdir(parents=True, exist_ok=True)
    model = random_model()
    golden, half = {}, {}
    for name, (width, height) in PICTURES.items():
        rows, columns = grid(width, height)
        coarse = torch.rand(1, 3, 6, 5)
        picture = F.interpolate(coarse, size=(height, width), mode="bilinear")
        picture = ((picture + 0.1 * torch.rand_like(picture)) * 230).round().clamp(0, 255)
        resized = F.interpolate(picture / 255, size=(rows * PATCH, columns * PATCH), mode="bicubic", align_corners=False)
        pixels = (resized - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
        features, depth = compute(model, pixels, torch.float32)
        half_features, half_depth = compute(model, pixels, torch.float16)
        shown = as_map(depth, height, width)
        print(name, (height, width), (rows, columns), "depth", depth.min().item(), depth.max().item(),
              "zeros", (depth == 0).float().mean().item(), "half", distance(half_depth, depth))
        golden["input" if name == "wide" else f"{name}.picture"] = picture[0].permute(1, 2, 0).half().contiguous()
        golden[f"{name}.depth"] = depth[0].contiguous()
        golden[f"{name}.map"] = shown[..., 0].contiguous()
        half[f"{name}.depth"] = float(f"{distance(half_depth, depth):.3g}")
        half[f"{name}.map"] = float(f"{distance(as_map(half_depth, height, width), shown):.3g}")
        if name == "wide":
            patches = F.unfold(pixels, PATCH, stride=PATCH)[0].T.reshape(-1, 3, PATCH * PATCH).transpose(1, 2)
            golden["wide.patches"] = F.pad(patches.reshape(rows * columns, -1)[:3], (0, 4)).contiguous()
            for i, (f, h) in enumerate(zip(features, half_features)):
                golden[f"wide.feature.{i}"] = f[0].contiguous()
                half[f"wide.feature.{i}"] = float(f"{distance(h, f):.3g}")
    packed.save_tensors(golden, folder / "golden.safetensors")
    model.half().save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"do_normalize": True, "do_pad": False, "do_rescale": True, "do_resize": True, "ensure_multiple_of": PATCH,
         "image_mean": MEAN, "image_processor_type": "DPTImageProcessor", "image_std": STD, "keep_aspect_ratio": True,
         "resample": 3, "rescale_factor": 1 / 255, "size": {"height": SHORTER, "width": SHORTER},
         "size_divisor": None}, indent=1) + "\n")
    (folder / "golden.json").write_text(json.dumps({"half": half}, indent=1) + "\n")


if __name__ == "__main__":
    main()
