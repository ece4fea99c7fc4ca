#!/usr/bin/env python3
"""A LoRA with seeded random factors for every linear layer and convolution of a model's U-Net and text encoder.

    sd_lora.py MODEL OUT RANK

MODEL is a diffusers folder, OUT the .safetensors file, as kohya names it. Needs torch.
"""
import pathlib
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

model, out, rank = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"
tensors = {}
for part, file, prefix in (("unet", "diffusion_pytorch_model", "lora_unet_"), ("text_encoder", "model", "lora_te_")):
    with safe_open(model / part / f"{file}.safetensors", "pt") as weights:
        for key in weights.keys():
            shape = weights.get_slice(key).get_shape()
            if len(shape) < 2 or not key.endswith(".weight") or "embedding." in key:
                continue
            name = prefix + key.removesuffix(".weight").replace(".", "_")
            down = 0.02 * torch.randn([rank, *shape[1:]], device=device)
            up = 0.02 * torch.randn([shape[0], rank, *[1] * (len(shape) - 2)], device=device)
            tensors |= {f"{name}.lora_down.weight": down.half().cpu(), f"{name}.lora_up.weight": up.half().cpu(),
                        f"{name}.alpha": torch.tensor(float(rank)).half()}
save_file(tensors, out)
