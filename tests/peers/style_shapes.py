#!/usr/bin/env python3
"""What a style picture costs at the shapes of Stable Diffusion 1.5 with IP-Adapter (or plus) and ViT-H, seeded random
weights: diffusers as a CUDA graph on this GPU beside reverie's CUDA device.

    style_shapes.py GPU_STYLE WORK [--plus] [--tiny]

GPU_STYLE is the program built from tests/gpu_style.c; WORK is a folder for the checkpoints (3.5 GB). Prints the times of
diffusers' frame without and with the picture's tokens, then what GPU_STYLE says. --tiny tries the script itself, without
a GPU."""
import argparse
import os
import pathlib
import subprocess

import diffusers
import torch
import transformers
from safetensors.torch import save_file

import sd_shapes

VIT_H = dict(hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=16, projection_dim=1024,
             image_size=224, patch_size=14, hidden_act="gelu")
SMALL = VIT_H | dict(hidden_size=160, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
HEAD = 64


def make_encoder(folder, sizes):
    config = transformers.CLIPVisionConfig(**sizes)
    with torch.device(sd_shapes.DEVICE):
        encoder = transformers.CLIPVisionModelWithProjection(config).half().eval()
    config.save_pretrained(folder)
    save_file({k: v.contiguous() for k, v in encoder.state_dict().items() if "position_ids" not in k},
              folder / "model.safetensors", {"format": "pt"})


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


def make_adapter(path, unet, shapes):
    """The file, and the same as diffusers takes it."""
    text = unet.config.cross_attention_dim
    draw = lambda shape: (torch.randn(shape, device=sd_shapes.DEVICE) / shape[-1] ** 0.5).half()
    halves = {"image_proj": {k: draw(s) for k, s in shapes.items()}, "ip_adapter": {}}
    names = [n.removesuffix(".processor") for n in unet.attn_processors if n.endswith("attn2.processor")]
    for i, name in enumerate(names):
        for way in "kv":
            width = unet.get_submodule(name).to_q.out_features
            halves["ip_adapter"][f"{2 * i + 1}.to_{way}_ip.weight"] = draw((width, text))
    save_file({f"{half}.{k}": v for half, state in halves.items() for k, v in state.items()}, path, {"format": "pt"})
    return halves


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--plus", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(3)
    options.work.mkdir(exist_ok=True)
    shapes, sizes = sd_shapes.MODELS["sd15"], VIT_H
    if options.tiny:
        shapes, sizes = sd_shapes.tiny(shapes), SMALL
    model, encoder, path = options.work / "sd15-shapes", options.work / "image_encoder", options.work / "ip-adapter.safetensors"
    parts, _ = sd_shapes.make(model, shapes)
    make_encoder(encoder, sizes)
    unet = parts["unet"]
    text = unet.config.cross_attention_dim
    adapter = make_adapter(path, unet, (resampler if options.plus else linear)(text, sizes))
    if not options.tiny:
        parts = {k: m.half() for k, m in parts.items() if k in ("unet", "vae")}
        hidden = {"encoder_hidden_states": torch.randn(1, 77, text, device="cuda").half()}
        without = sd_shapes.time_frame(parts, hidden, False)
        unet._load_ip_adapter_weights([adapter], low_cpu_mem_usage=False)
        said = (1, 1, 257, sizes["hidden_size"]) if options.plus else (1, 1, sizes["projection_dim"])
        more = {"added_cond_kwargs": {"image_embeds": [torch.randn(said, device="cuda").half()]}}
        unet.to("cuda", torch.float16)
        styled = sd_shapes.time_frame(parts, hidden | more, False)
        print(f"diffusers {diffusers.__version__}, CUDA graph: {without:.3f} ms a frame, with a picture {styled:.3f}", flush=True)
    environment = os.environ | ({"DEVICE": "cpu"} if options.tiny else {})
    subprocess.run([options.program, model, path, encoder, "10" if options.tiny else "200"], check=True, env=environment)


if __name__ == "__main__":
    main()
