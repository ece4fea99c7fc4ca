#!/usr/bin/env python3
"""FP16's range: trained activations are larger than random ones. Weights are scaled up, a kind of layer at a time,
until diffusers in FP16 overflows on this GPU; at the last power of two before that, reverie's CUDA device must not
overflow either, nor be further from FP32 than 1e-2 and twice diffusers.

    half_range.py GPU_FRAME WORK [--json FILE]

GPU_FRAME is the program built from tests/gpu/gpu_frame.c. Needs torch, diffusers, transformers and a GPU. The layers are
Stable Diffusion 1.5's, two levels of them at 512x512. Prints a table; exits with 1 where reverie overflows first or is
worse. "never" means that the weights themselves end first. --json also writes the rows for page.py.
"""
import argparse
import copy
import pathlib
import sys

import numpy as np
import torch

from rows import Rows
from sd_shapes import CROSS, CROSS_UP, DEVICE, MODELS, PLAIN, PLAIN_UP, call, make, make_inputs, nhwc, relative, run

SHAPES = {"unet": MODELS["sd15"]["unet"] | {"block_out_channels": [320, 640], "down_block_types": [CROSS, PLAIN],
                                            "up_block_types": [PLAIN_UP, CROSS_UP], "layers_per_block": 1},
          "text": MODELS["sd15"]["text"] | {"num_hidden_layers": 4}}
# The layers of each network whose weights and biases are scaled together.
UNET = {"residual stream": ["conv_in", "conv2", "proj_out"], "inside res blocks": ["conv1"],
        "transformers' stream": ["proj_in", "to_out.0", "ff.net.2"], "queries and keys": ["to_q", "to_k"],
        "values": ["to_v"], "feed-forward": ["ff.net.0.proj"], "time": ["linear_2", "time_emb_proj"]}
TEXT = {"residual stream": ["embedding", "out_proj", "fc2"], "queries and keys": ["q_proj", "k_proj"],
        "values": ["v_proj"], "feed-forward": ["fc1"]}
VAE = {"first layer": ["encoder.layers.0", "decoder.layers.0"], "inside blocks": ["conv.0"],
       "residual stream": ["conv.4"]}
NETWORKS = {"unet": (UNET, ["unet"]), "text_encoder": (TEXT, ["text"]), "vae": (VAE, ["encode", "decode"])}
MOST = 40


def scaled(model, layers, exponent):
    """The model with these layers' weights times 2 ** exponent; None where FP16 cannot hold them."""
    model = copy.deepcopy(model)
    for name, p in model.named_parameters():
        if name.rsplit(".", 1)[0].endswith(tuple(layers)):
            p.data *= 2.0**exponent
            if not p.data.half().isfinite().all():
                return None
    return model


def is_finite(outputs, names):
    return all(outputs[n].isfinite().all().item() for n in names)


def last_finite(parts, network, layers, names, inputs):
    """The highest exponent at which diffusers in FP16 does not overflow, and whether it is a higher one that does."""
    halves = {k: copy.deepcopy(m).half() for k, m in parts.items()}
    for exponent in range(1, MOST):
        model = scaled(parts[network], layers, exponent)
        if model is None:
            return exponent - 1, False
        if not is_finite(run(halves | {network: model.half()}, inputs), names):
            return exponent - 1, True
    return MOST - 1, False


def save(model, folder, name):
    from safetensors.torch import save_file
    file = "model" if name == "text_encoder" else "diffusion_pytorch_model"
    save_file({k: v.half().contiguous() for k, v in model.state_dict().items()},
              folder / name / f"{file}.safetensors", {"format": "pt"})


def outputs_of(program, model, work, shapes):
    call(program, model, "networks", work)
    return {n: torch.from_numpy(np.fromfile(work / f"{n}.out.f32", np.float32)).reshape(s).to(DEVICE)
            for n, s in shapes.items()}


def check(parts, inputs, rows, program, folder, work, measured):
    """rows: of each network one kind of layers, scaled as far as diffusers bears it."""
    changed = {n: scaled(parts[n], layers, e) for n, (_, layers, e, _) in rows.items()}
    exact = run(parts | changed, inputs)
    halves = run({k: m.half() for k, m in (copy.deepcopy(parts) | changed).items()}, inputs)
    for name, model in (parts | changed).items():
        save(model, folder, name)
    ours = outputs_of(program, folder, work, {n: nhwc(v).shape for n, v in exact.items()})
    failed = False
    for network, (kind, _, exponent, overflows) in rows.items():
        for n in NETWORKS[network][1]:
            theirs, mine = relative(halves[n].float(), exact[n]), relative(ours[n], nhwc(exact[n]))
            good = ours[n].isfinite().all().item() and mine <= max(1e-2, 2 * theirs)
            failed |= not good
            bound = f"2^{exponent + 1}" if overflows else "never"
            measured.add("range", "layers of Stable Diffusion 1.5", f"{n}: {kind}, times 2^{exponent}", theirs, mine)
            print(f"{n:8} {kind:22} {bound:>8} {theirs:12.2e} {mine:12.2e}   {'' if good else 'FAIL'}", flush=True)
    return failed


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    folder, failed, measured = options.work / "range-shapes", False, Rows()
    parts, vocabulary = make(folder, SHAPES)
    inputs = make_inputs(SHAPES, vocabulary, options.work)
    found = {network: [(kind, layers, *last_finite(parts, network, layers, names, inputs))
                       for kind, layers in kinds.items()] for network, (kinds, names) in NETWORKS.items()}
    print(f"{'network':8} {'scaled':22} {'FP16 end':>8} {'diffusers':>12} {'reverie':>12}   relative error before")
    for i in range(max(len(kinds) for kinds in found.values())):
        rows = {network: kinds[i] for network, kinds in found.items() if i < len(kinds)}
        failed |= check(parts, inputs, rows, options.program, folder, options.work, measured)
    measured.write(options.json)
    sys.exit(failed)


if __name__ == "__main__":
    main()
