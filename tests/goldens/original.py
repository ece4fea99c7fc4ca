#!/usr/bin/env python3
"""Writes original.json.gz beside goldens that models.py made: how their weights are called in a file of the original key
layout, so that tests/test_single.c can put such a file together. Each line is [key, part, [names of the part], how];
how is "" (as it is), "turn" (transposed), "rows" (the parts' rows in one tensor) or "1x1" (a matrix as a convolution).

    original.py tests/data/goldens [CASE...]

Names go from diffusers' to the original ones here, the other way round than in the program. What diffusers itself reads
of U-Net and autoencoder from such a file must be the folder's.

Needs torch and diffusers. Run from the root of the source tree.
"""
import argparse
import json
import pathlib
import re
import tempfile

import diffusers
import torch
from safetensors.torch import load_file, save_file

import packed

# Text encoders: part, layout, prefix.
SD1, SD2 = [("text_encoder", "clip", "cond_stage_model.transformer.")], [("text_encoder", "open_clip", "cond_stage_model.model.")]
SDXL = [("text_encoder", "clip", "conditioner.embedders.0.transformer."),
        ("text_encoder_2", "open_clip", "conditioner.embedders.1.model.")]
CASES = {"sd15": SD1, "sd21": SD2, "levels": SD1, "kl": SD1, "sdxl": SDXL, "ssd": SDXL}
UNET, VAE = "model.diffusion_model.", "first_stage_model."
RESNET = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0",
          "conv2": "out_layers.3", "conv_shortcut": "skip_connection"}
ENDS = {"conv_in": "input_blocks.0.0", "conv_norm_out": "out.0", "conv_out": "out.2",
        "time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2",
        "add_embedding.linear_1": "label_emb.0.0", "add_embedding.linear_2": "label_emb.0.2"}


def unet_module(module, config):
    """The original name of a module of the U-Net."""
    if module in ENDS:
        return ENDS[module]
    levels = len(config["block_out_channels"])
    layers = config["layers_per_block"]
    layers = layers if isinstance(layers, list) else [layers] * levels
    down_start = [1 + sum(n + 1 for n in layers[:b]) for b in range(levels)]
    up_layers = [n + 1 for n in reversed(layers)]
    up_start = [sum(up_layers[:b]) for b in range(levels)]

    def inside(rest):
        kind, index, *more = rest.split(".")
        return kind, int(index), ".".join(more)

    if m := re.match(r"mid_block\.(.*)", module):
        kind, j, rest = inside(m[1])
        return f"middle_block.1.{rest}" if kind == "attentions" else f"middle_block.{2 * j}.{RESNET[rest]}"
    way, b, rest = re.match(r"(down|up)_blocks\.(\d+)\.(.*)", module).groups()
    b, (kind, j, rest) = int(b), inside(rest)
    if kind == "downsamplers":
        return f"input_blocks.{down_start[b] + layers[b]}.0.op"
    if kind == "upsamplers":
        attention = config["up_block_types"][b].startswith("Cross")
        return f"output_blocks.{up_start[b] + up_layers[b] - 1}.{2 if attention else 1}.conv"
    place = f"input_blocks.{down_start[b] + j}" if way == "down" else f"output_blocks.{up_start[b] + j}"
    return f"{place}.1.{rest}" if kind == "attentions" else f"{place}.0.{RESNET[rest]}"


def vae_module(module, config):
    """The original name of a module of AutoencoderKL, and whether it is a matrix that is a convolution there."""
    levels = len(config["block_out_channels"])
    module = module.replace("conv_norm_out", "norm_out").replace("conv_shortcut", "nin_shortcut")
    for j in range(2):
        module = module.replace(f"mid_block.resnets.{j}", f"mid.block_{j + 1}")
    for ours, theirs in {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out",
                         "query": "q", "key": "k", "value": "v", "proj_attn": "proj_out"}.items():
        module = re.sub(rf"mid_block\.attentions\.0\.{re.escape(ours)}$", f"mid.attn_1.{theirs}", module)
    module = re.sub(r"down_blocks\.(\d+)\.resnets\.(\d+)", r"down.\1.block.\2", module)
    module = re.sub(r"down_blocks\.(\d+)\.downsamplers\.0\.", r"down.\1.downsample.", module)
    up = lambda m: f"up.{levels - 1 - int(m[1])}."
    module = re.sub(r"up_blocks\.(\d+)\.", up, module)
    return re.sub(r"(up\.\d+)\.resnets\.(\d+)", r"\1.block.\2", module).replace("upsamplers.0.", "upsample.")


def open_clip_lines(names, part, prefix):
    """OpenCLIP's tensors from those of transformers."""
    layer = r"text_model\.encoder\.layers\.(\d+)\."
    moved = {"layer_norm1": "ln_1", "layer_norm2": "ln_2", "self_attn.out_proj": "attn.out_proj", "mlp.fc1": "mlp.c_fc",
             "mlp.fc2": "mlp.c_proj"}
    ends = {"text_model.embeddings.token_embedding.weight": "token_embedding.weight",
            "text_model.embeddings.position_embedding.weight": "positional_embedding",
            "text_model.final_layer_norm.weight": "ln_final.weight", "text_model.final_layer_norm.bias": "ln_final.bias"}
    for name in names:
        if name in ends:
            yield [prefix + ends[name], part, [name], ""]
        elif name == "text_projection.weight":
            yield [prefix + "text_projection", part, [name], "turn"]
        elif m := re.match(layer + r"self_attn\.q_proj\.(weight|bias)", name):
            parts = [name.replace("q_proj", f"{p}_proj") for p in "qkv"]
            yield [f"{prefix}transformer.resblocks.{m[1]}.attn.in_proj_{m[2]}", part, parts, "rows"]
        elif not re.match(layer + r"self_attn\.[kv]_proj", name):
            m = re.match(layer + r"(.*)\.(weight|bias)", name)
            yield [f"{prefix}transformer.resblocks.{m[1]}.{moved[m[2]]}.{m[3]}", part, [name], ""]


def lines_of(folder, text):
    """The whole file, part by part."""
    config = lambda part: json.loads((folder / part / "config.json").read_text())
    names = lambda part, file: sorted(k for f in (folder / part).glob(f"{file}*.safetensors") for k in load_file(f))
    split = lambda name: name.rsplit(".", 1)
    unet = config("unet")
    for name in names("unet", "diffusion_pytorch_model"):
        module, kind = split(name)
        yield [f"{UNET}{unet_module(module, unet)}.{kind}", "unet", [name], ""]
    vae = config("vae")
    if vae["_class_name"] == "AutoencoderKL":
        for name in names("vae", "diffusion_pytorch_model"):
            module, kind = split(name)
            original = vae_module(module, vae)
            matrix = kind == "weight" and re.search(r"mid\.attn_1\.(q|k|v|proj_out)$", original)
            yield [f"{VAE}{original}.{kind}", "vae", [name], "1x1" if matrix else ""]
    for part, layout, prefix in text:
        bare = not any(n.startswith("text_model.") for n in names(part, "model"))
        whole = {f"text_model.{n}" if bare and n != "text_projection.weight" else n: n for n in names(part, "model")}
        lines = open_clip_lines(whole, part, prefix) if layout == "open_clip" else (
            [prefix + n, part, [n], ""] for n in whole)
        for key, _, parts, how in lines:
            yield [key, part, [whole[p] for p in parts], how]


def read_part(folder, part):
    return {k: v for f in sorted((folder / part).glob("*.safetensors")) for k, v in load_file(f).items()}


def check(folder, lines):
    """diffusers reads the networks of such a file as the folder's."""
    parts = {part: read_part(folder, part) for part in {line[1] for line in lines}}
    state = {}
    for key, part, names, how in lines:
        tensors = [parts[part][n] for n in names]
        t = torch.cat(tensors) if how == "rows" else tensors[0]
        state[key] = (t.T if how == "turn" else t[..., None, None] if how == "1x1" else t).contiguous()
    assert len(state) == len(lines), "two tensors of one name"
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.safetensors"
        save_file(state, path)
        for part in parts.keys() & {"unet", "vae"}:
            cls = diffusers.UNet2DConditionModel if part == "unet" else diffusers.AutoencoderKL
            read = cls.from_single_file(str(path), config=str(folder), subfolder=part,
                                        torch_dtype=torch.float32).state_dict()
            assert read.keys() == parts[part].keys()
            for name, value in parts[part].items():
                assert torch.equal(read[name].reshape(value.shape), value.float()), name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=[])
    options = parser.parse_args()
    for name in options.cases or CASES:
        folder = options.out / name
        lines = list(lines_of(folder, CASES[name]))
        if isinstance(json.loads((folder / "unet" / "config.json").read_text())["layers_per_block"], int):
            check(folder, lines)  # diffusers knows no others in this layout
        packed.write_lines(lines, folder / "original.json")
        print(f"  {name}: {len(lines)} tensors")


if __name__ == "__main__":
    main()
