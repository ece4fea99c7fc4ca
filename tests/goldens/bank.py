#!/usr/bin/env python3
"""Writes ../data/goldens/bank, which tests/test_bank_golden.c compares with: ten frames in a row, whose self-attention
also attends to keys and values of earlier frames, around diffusers' networks and schedulers in FP32.

    bank.py tests/data/goldens          from the root of the source tree, like models.py

A processor for diffusers' attention keeps the keys and values of the frames before, for each layer and step, and
appends them to those of the frame (StreamV2V's extended attention, arXiv 2405.15757). The frames are one picture that
moves, with a cut. The small checkpoints' self-attention hardly changes a picture, so it gets other weights, which are written, too.
Each run is also made with networks in FP16, whose error is written down beside it.
"""
import argparse
import collections
import copy
import pathlib
import tempfile

import numpy
import torch

import checkpoints
import models
import packed
from checkpoints import PROMPTS
from models import Noise

HEIGHT = WIDTH = 32
FRAMES, SHIFT, CUT = 10, (2, 1), 6
KEPT = [1, 5, 9]  # the frames that are written


def run(steps, frames, every, strength, guidance=1.0, model="turbo"):
    return {"name": f"{model}-{steps}-n{frames}-k{every}-g{guidance:g}", "model": model, "steps": steps, "bank": frames,
            "bank_every": every, "strength": strength, "guidance": guidance, "prompt": PROMPTS[1], "negative": "a cat",
            "seed": 5}


RUNS = [*(run(steps, n, k, strength) for steps, strength in ((1, 0.6), (4, 0.75)) for n in (1, 2) for k in (1, 2)),
        run(2, 2, 1, 0.5, 1.8)]


class Bank:
    """The frames before, and the attention of one U-Net to them."""

    def __init__(self, frames, every):
        self.every, self.number, self.step = every, 0, 0
        self.rings = collections.defaultdict(lambda: collections.deque(maxlen=frames))
        self.new = {}

    def attend(self, name, attn, x):
        q, k, v = attn.to_q(x), attn.to_k(x), attn.to_v(x)
        self.new[name, self.step] = (k, v)
        earlier = self.rings[name, self.step]
        k, v = (torch.cat([own, *(kept[i] for kept in earlier)], 1) for i, own in enumerate((k, v)))
        heads = lambda t: t.view(t.shape[0], t.shape[1], attn.heads, -1).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(heads(q), heads(k), heads(v))
        return attn.to_out[0](y.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))

    def cut(self):
        self.rings.clear()
        self.number = 0

    def frame_ends(self):
        if self.number % self.every == 0:
            for key, keys_values in self.new.items():
                self.rings[key].append(keys_values)
        self.number, self.step, self.new = self.number + 1, 0, {}


class Processor:
    def __init__(self, bank, name):
        self.bank, self.name = bank, name

    def __call__(self, attn, hidden_states, *args, **kwargs):
        return self.bank.attend(self.name, attn, hidden_states)


def give(unet, bank):
    """Only self-attention gets a bank; in the small checkpoints all of it is at the two finest levels."""
    unet.set_attn_processor({name: Processor(bank, name) if ".attn1." in name else processor
                             for name, processor in unet.attn_processors.items()})


def weigh(unet):
    """Gives self-attention weights with which it counts, and returns them by the names of the engine."""
    rng, weights = torch.Generator().manual_seed(9), {}
    for name, attn in unet.named_modules():
        if not name.endswith("attn1"):
            continue
        c = attn.to_q.weight.shape[0]
        layers = {"to_qkv": [(attn.to_q, 2), (attn.to_k, 2), (attn.to_v, 3)], "to_out.0": [(attn.to_out[0], 6)]}
        for joined, parts in layers.items():
            for layer, gain in parts:
                values = torch.randn(layer.weight.shape, generator=rng) * gain / c**0.5
                layer.weight.copy_(values.half().float())
            weights[f"unet/{name}.{joined}.weight"] = torch.cat([layer.weight for layer, _ in parts])
    return weights


def frames_of(image):
    """The picture moves through its own border, which lies in the first frame already; from CUT on it is its negative."""
    return [numpy.roll(255 - image if t >= CUT else image, (SHIFT[0] * (t + FRAMES), SHIFT[1] * (t + FRAMES)), (0, 1))
            for t in range(FRAMES)]


def one_frame(parts, scheduler, r, bank, image, noise, texts, dtype):
    unet, vae = parts["unet"], models.with_shift(parts["vae"])
    own = checkpoints.own_latent(parts["vae"], checkpoints.in_range(parts["vae"], checkpoints.as_tensor(image)).to(dtype))
    z = checkpoints.scaled_latent(parts["vae"], own).float()
    scheduler.set_timesteps(r["steps"])
    noise.start(r["seed"])
    start = noise.next(z.shape)
    kept = max(1, int(r["steps"] * r["strength"]))
    timesteps = scheduler.timesteps[len(scheduler.timesteps) - kept:]
    if hasattr(scheduler, "set_begin_index"):
        scheduler.set_begin_index(r["steps"] - kept)
    x, g = scheduler.add_noise(z, start, timesteps[:1]), r["guidance"]
    rows = 2 if g != 1 else 1
    hidden = torch.cat([texts[w] for w in ("prompt", "negative")[:rows]]).to(dtype)
    for t in timesteps:
        given = scheduler.scale_model_input(x, t).to(dtype).expand(rows, -1, -1, -1)
        said = unet(given, t, hidden).sample.float()
        if rows == 2:
            said = said[1:] + g * (said[:1] - said[1:])
        x = scheduler.step(said, t, x, return_dict=False)[0]
        bank.step += 1
    bank.frame_ends()
    made = checkpoints.decoded(vae, (x / vae.config.scaling_factor).to(dtype)).float()
    return made.clamp(0, 1)[0].permute(1, 2, 0) * 255


def generate(parts, folder, r, frames, noise, dtype):
    texts = {which: torch.cat(models.encode(parts, r[which])[1], -1) for which in ("prompt", "negative")}
    bank = Bank(r["bank"], r["bank_every"])
    parts = parts | {name: copy.deepcopy(parts[name]).to(dtype) for name in ("unet", "vae")}
    give(parts["unet"], bank)
    made = []
    for t, frame in enumerate(frames):
        if t == CUT:
            bank.cut()
        made.append(one_frame(parts, models.make_scheduler(folder), r, bank, frame, noise, texts, dtype))
    return torch.stack(made)


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("goldens", type=pathlib.Path)
    goldens = parser.parse_args().goldens
    image, pictures, parts = checkpoints.picture(HEIGHT, WIDTH, 21), {}, {}
    frames = frames_of(image)
    with tempfile.TemporaryDirectory() as scratch:
        noise = Noise(pathlib.Path(scratch))
        for r in RUNS:
            folder = goldens / r["model"]
            if r["model"] not in parts:
                parts[r["model"]] = models.load(folder)
                weights = weigh(parts[r["model"]]["unet"])
            whole = generate(parts[r["model"]], folder, r, frames, noise, torch.float32)
            half = generate(parts[r["model"]], folder, r, frames, noise, torch.float16)
            alone = generate(parts[r["model"]], folder, r | {"bank_every": 1 << 30}, frames[9:], noise, torch.float32)
            r["half_rms"] = float((half - whole).pow(2).mean().sqrt())
            changed = float((whole[9] - alone[0]).pow(2).mean().sqrt())
            print(f"{r['name']}: FP16 errs by {r['half_rms']:.3f}, the bank changes {changed:.2f}")
            assert changed > 0.8, "the bank changes too little"
            pictures[r["name"]] = whole[KEPT].round().reshape(-1, WIDTH, 3)
    out = goldens / "bank"
    out.mkdir(exist_ok=True)
    tensors = {f"run.{k}": v.half().contiguous() for k, v in pictures.items()}
    tensors |= {f"weight.{k}": v.half().contiguous() for k, v in weights.items()}
    packed.save_tensors(tensors | {"input": torch.from_numpy(image).half()}, out / "golden.safetensors")
    models.write_golden(out, {"runs": RUNS, "frames": FRAMES, "kept": KEPT, "shift": list(SHIFT), "cut": CUT, "weights": list(weights)})


if __name__ == "__main__":
    main()
