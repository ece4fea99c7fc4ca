#!/usr/bin/env python3
"""Style pictures at the shapes of Stable Diffusion 1.5 with IP-Adapter (or plus) and ViT-H, seeded random weights:
diffusers on this GPU beside reverie's CUDA device, the same numbers in.

    style_shapes.py GPU_FRAME GPU_STYLE WORK [--plus] [--json FILE] [--tiny]
    style_shapes.py GPU_FRAME GPU_STYLE WORK --encoder vit-h|bigg [--json FILE] [--tiny]

The programs are built from tests/gpu/gpu_frame.c and tests/gpu/gpu_style.c; WORK is a folder for the checkpoints (5 GB). Prints
the image encoder's relative error against FP32, of transformers in FP16 and of reverie; pictures after 1 and 4 steps at
strength 0.5 likewise, as PSNR; the times of diffusers' frame without and with a picture as a CUDA graph, then what
GPU_STYLE says. --encoder compares an image encoder alone: bigg is SDXL's. --json also writes the rows for page.py. --tiny
tries the script itself, without a GPU."""
import argparse
import copy
import os
import pathlib
import re
import subprocess
import sys

import torch
import transformers
from safetensors.torch import save_file

import sd_shapes
from rows import Rows

VIT_H = dict(hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=16, projection_dim=1024,
             image_size=224, patch_size=14, hidden_act="gelu")
BIG_G = VIT_H | dict(hidden_size=1664, intermediate_size=8192, num_hidden_layers=48, projection_dim=1280)
ENCODERS = {"vit-h": ("ViT-H of IP-Adapter", VIT_H, 768), "bigg": ("ViT-bigG of IP-Adapter", BIG_G, 2048)}
SMALL = dict(hidden_size=160, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
HEAD, SHOWS = 64, 128  # of what random layers say of a picture little is seen


def make_encoder(folder, sizes):
    """The network in FP32 with weights that FP16 holds."""
    config = transformers.CLIPVisionConfig(**sizes)
    with torch.device(sd_shapes.DEVICE):
        encoder = transformers.CLIPVisionModelWithProjection(config)
    encoder.half().float().eval().requires_grad_(False)
    config.save_pretrained(folder)
    save_file({k: v.half().contiguous() for k, v in encoder.state_dict().items() if "position_ids" not in k},
              folder / "model.safetensors", {"format": "pt"})
    return encoder


def make_picture(work, sizes):
    """A picture as an image encoder reads it, and its patches in the file vision.in.f32."""
    pixels = torch.nn.functional.interpolate(torch.randn(1, 3, 16, 16), (sizes["image_size"],) * 2, mode="bicubic")
    pixels = pixels.half().float().to(sd_shapes.DEVICE)
    patches = torch.nn.functional.unfold(pixels, sizes["patch_size"], stride=sizes["patch_size"])
    patches.transpose(1, 2).contiguous().cpu().numpy().tofile(work / "vision.in.f32")
    return pixels


def compare_encoder(encoder, pixels, program, adapter, folder, work, title, rows):
    exact, halves = sd_shapes.see(encoder, pixels), sd_shapes.see(sd_shapes.halved({"": encoder})[""], pixels)
    sd_shapes.call(program, adapter, "vision", work, folder)
    print(f"{title:10} {'transformers FP16':>15} {'reverie':>10}   relative error against FP32")
    return sd_shapes.compare_outputs(exact, halves, work, title, "networks", rows)


def linear(text, sizes):
    return {"proj.weight": (4 * text, sizes["projection_dim"]), "proj.bias": (4 * text,), "norm.weight": (text,),
            "norm.bias": (text,)}


def resampler(text, sizes):
    width, inner = text, max(text // HEAD, 1) * HEAD
    shapes = {"latents": (1, 16, width), "proj_in.weight": (width, sizes["hidden_size"]), "proj_in.bias": (width,),
              "proj_out.weight": (text, width), "proj_out.bias": (text,), "norm_out.weight": (text,), "norm_out.bias": (text,)}
    for i in range(4):
        for n in ("0.norm1", "0.norm2", "1.0"):
            shapes |= {f"layers.{i}.{n}.weight": (width,), f"layers.{i}.{n}.bias": (width,)}
        shapes |= {f"layers.{i}.0.to_q.weight": (inner, width), f"layers.{i}.0.to_kv.weight": (2 * inner, width),
                   f"layers.{i}.0.to_out.weight": (width, inner), f"layers.{i}.1.1.weight": (4 * width, width),
                   f"layers.{i}.1.3.weight": (width, 4 * width)}
    return shapes


def draw(shape):
    return (torch.randn(shape, device=sd_shapes.DEVICE) / shape[-1] ** 0.5).half()


def save_adapter(path, halves):
    save_file({f"{half}.{k}": v for half, state in halves.items() for k, v in state.items()}, path, {"format": "pt"})


def make_adapter(path, unet, shapes):
    """The file, and the same as diffusers takes it."""
    text = unet.config.cross_attention_dim
    halves = {"image_proj": {k: draw(s) for k, s in shapes.items()}, "ip_adapter": {}}
    names = [n.removesuffix(".processor") for n in unet.attn_processors if n.endswith("attn2.processor")]
    for i, name in enumerate(names):
        for way in "kv":
            width = unet.get_submodule(name).to_q.out_features
            halves["ip_adapter"][f"{2 * i + 1}.to_{way}_ip.weight"] = draw((width, text)) * (1 if way == "k" else SHOWS)
    save_adapter(path, halves)
    return halves


def compare_alone(options, rows):
    """An image encoder beside an adapter that has one layer."""
    title, sizes, text = ENCODERS[options.encoder]
    sizes = sizes | SMALL if options.tiny else sizes
    folder, path = options.work / f"encoder-{options.encoder}", options.work / "one-layer.safetensors"
    save_adapter(path, {"image_proj": {k: draw(s) for k, s in linear(text, sizes).items()},
                        "ip_adapter": {f"1.to_{way}_ip.weight": draw((320, text)) for way in "kv"}})
    encoder = make_encoder(folder, sizes)
    return compare_encoder(encoder, make_picture(options.work, sizes), options.program, path, folder, options.work, title, rows)


def compare_times(parts, inputs, options, model, path, encoder, title, rows):
    """The U-Net has its layers for the picture by now; plain is a copy from before."""
    unet, plain, vae = parts["unet"].half(), parts["plain"].half(), parts["vae"].half()
    hidden = {"encoder_hidden_states": inputs["text.in"].half()}
    styled = hidden | sd_shapes.style_of({"unet": unet, "encoder": parts["encoder"].half()}, inputs)
    without = sd_shapes.time_frame({"unet": plain, "vae": vae}, hidden, False)
    theirs = sd_shapes.time_frame({"unet": unet, "vae": vae}, styled, False)
    print(f"diffusers, CUDA graph: {without:.3f} ms a frame, with a picture {theirs:.3f}", flush=True)
    done = subprocess.run([options.timer, model, path, encoder, "200", "40"], check=True, capture_output=True, text=True)
    print(done.stdout, end="")
    frame, more = (float(re.search(pattern, done.stdout)[1]) for pattern in (r"frame ([0-9.]+) ms", r"one ([+-][0-9.]+)"))
    rows.add("times", title, "512x512, 1 step", without, frame)
    rows.add("times", title, f"512x512, 1 step, a style picture{options.plus * ' (plus)'}", theirs, frame + more)


@torch.no_grad()
def compare_styles(options, rows):
    shapes, sizes, work = sd_shapes.MODELS["sd15"], VIT_H, options.work
    if options.tiny:
        shapes, sizes = sd_shapes.tiny(shapes), sizes | SMALL
    model, folder, path = work / "sd15-shapes", work / "image_encoder", work / "ip-adapter.safetensors"
    parts, vocabulary = sd_shapes.make(model, shapes)
    inputs = sd_shapes.make_inputs(shapes, vocabulary, work)
    torch.manual_seed(3)
    parts |= {"encoder": make_encoder(folder, sizes), "plain": copy.deepcopy(parts["unet"])}
    inputs["vision"], unet, title = make_picture(work, sizes), parts["unet"], shapes["name"]
    adapter = make_adapter(path, unet, (resampler if options.plus else linear)(unet.config.cross_attention_dim, sizes))
    unet._load_ip_adapter_weights([adapter], low_cpu_mem_usage=False)
    unet.to(sd_shapes.DEVICE, torch.float32)
    failed = compare_encoder(parts["encoder"], inputs["vision"], options.program, path, folder, work, ENCODERS["vit-h"][0],
                             rows)
    environment = os.environ | {"STYLE": f"{path},{folder}"}
    failed |= sd_shapes.compare_pictures(parts, inputs, options.program, model, work, title, rows, [], (1, 4), environment,
                                         f", a style picture{options.plus * ' (plus)'}")
    if not options.tiny:
        compare_times(parts, inputs, options, model, path, folder, title, rows)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("timer")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--plus", action="store_true")
    parser.add_argument("--encoder", choices=ENCODERS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(3)
    options.work.mkdir(exist_ok=True)
    rows = Rows()
    failed = (compare_alone if options.encoder else compare_styles)(options, rows)
    rows.write(options.json)
    sys.exit(failed)


if __name__ == "__main__":
    main()
