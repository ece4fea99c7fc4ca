#!/usr/bin/env python3
"""Writes tests/data/published/NAME.txt.gz: names and shapes of the tensors of single files as they are published, a line
each, "KEY SIZE,SIZE"; for tests/test_single.c. The networks are made by diffusers and transformers without weights, and
must have the published numbers of parameters.

    published.py tests/data/published

Needs torch, diffusers, transformers. Run from the root of the source tree.
"""
import argparse
import gzip
import pathlib
import re

import diffusers
import torch
import transformers

import original

CROSS, PLAIN = "CrossAttnDownBlock2D", "DownBlock2D"
UP = {CROSS: "CrossAttnUpBlock2D", PLAIN: "UpBlock2D"}


def unet(widths, downs, **more):
    return dict(block_out_channels=widths, down_block_types=downs, up_block_types=[UP[b] for b in reversed(downs)], **more)


SD1 = unet([320, 640, 1280, 1280], [CROSS] * 3 + [PLAIN], attention_head_dim=8, cross_attention_dim=768)
SD2 = SD1 | dict(attention_head_dim=[5, 10, 20, 20], cross_attention_dim=1024, use_linear_projection=True)
XL = unet([320, 640, 1280], [PLAIN, CROSS, CROSS], attention_head_dim=[5, 10, 20], cross_attention_dim=2048,
          use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
          projection_class_embeddings_input_dim=2816)
SDXL = XL | dict(transformer_layers_per_block=[1, 2, 10])
SSD = XL | dict(mid_block_type="UNetMidBlock2D", transformer_layers_per_block=[[1, 1], [2, 2], [4, 4]],
                reverse_transformer_layers_per_block=[[4, 4, 10], [2, 1, 1], 1])
CLIP_L = dict(hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=12)
OPEN_CLIP_H = dict(hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=24)
OPEN_CLIP_G = dict(hidden_size=1280, intermediate_size=5120, num_attention_heads=20, num_hidden_layers=32,
                   projection_dim=1280)
KL = dict(block_out_channels=[128, 256, 512, 512], layers_per_block=2, down_block_types=["DownEncoderBlock2D"] * 4,
          up_block_types=["UpDecoderBlock2D"] * 4)
# Name: U-Net, its parameters, text encoders.
FILES = {
    "sd15": (SD1, 859_520_964, [CLIP_L]),
    "sd15-inpainting": (SD1 | dict(in_channels=9), 859_535_364, [CLIP_L]),
    "sd15-pix2pix": (SD1 | dict(in_channels=8), 859_532_484, [CLIP_L]),
    "sd21": (SD2, 865_910_724, [OPEN_CLIP_H]),
    "sdxl": (SDXL, 2_567_463_684, [CLIP_L, OPEN_CLIP_G]),
    "ssd-1b": (SSD, 1_331_334_404, [CLIP_L, OPEN_CLIP_G]),
}


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def clip_lines(config, prefix):
    model = transformers.CLIPTextModel(transformers.CLIPTextConfig(vocab_size=49408, **config))
    for name, t in model.state_dict().items():
        yield prefix + (name if name.startswith("text_model.") else "text_model." + name), t.shape
    yield prefix + "text_model.embeddings.position_ids", (1, 77)


def open_clip_lines(config, prefix):
    model = transformers.CLIPTextModelWithProjection(transformers.CLIPTextConfig(vocab_size=49408, **config))
    shapes = {k: list(v.shape) for k, v in model.state_dict().items()}
    for key, _, names, how in original.open_clip_lines(shapes, "", prefix):
        first = shapes[names[0]]
        yield key, [sum(shapes[n][0] for n in names), *first[1:]] if how == "rows" else first[::-1] if how == "turn" else first
    yield prefix + "logit_scale", ()


def text_lines(encoders):
    if len(encoders) == 2:
        yield from clip_lines(encoders[0], "conditioner.embedders.0.transformer.")
        yield from open_clip_lines(encoders[1], "conditioner.embedders.1.model.")
    elif encoders[0] is CLIP_L:
        yield from clip_lines(CLIP_L, "cond_stage_model.transformer.")
    else:
        yield from open_clip_lines(OPEN_CLIP_H | dict(projection_dim=1024), "cond_stage_model.model.")


def lines_of(config, count, encoders):
    net, vae = diffusers.UNet2DConditionModel(**config), diffusers.AutoencoderKL(**KL)
    assert parameters(net) == count and parameters(vae) == 83_653_863
    for name, t in net.state_dict().items():
        module, kind = name.rsplit(".", 1)
        yield f"{original.UNET}{original.unet_module(module, net.config)}.{kind}", t.shape
    for name, t in vae.state_dict().items():
        module, kind = name.rsplit(".", 1)
        key = original.vae_module(module, KL)
        matrix = kind == "weight" and re.search(r"attn_1\.(q|k|v|proj_out)$", key)
        yield f"{original.VAE}{key}.{kind}", [*t.shape, 1, 1] if matrix else t.shape
    yield from text_lines(encoders)
    yield "alphas_cumprod", (1000,)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, case in FILES.items():
        with torch.device("meta"):
            lines = [f"{key} {','.join(map(str, shape))}\n" for key, shape in lines_of(*case)]
        with open(out / f"{name}.txt.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write("".join(lines).encode())
        print(f"  {name}: {len(lines)} tensors")


if __name__ == "__main__":
    main()
