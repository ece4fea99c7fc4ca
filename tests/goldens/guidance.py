#!/usr/bin/env python3
"""Writes ../data/goldens/guidance, which tests/test_guidance.c compares with: pictures by the papers' formulas for
guidance, around diffusers' networks and schedulers in FP32, from the small checkpoints beside it.

    guidance.py tests/data/goldens          from the root of the source tree, like models.py

Residual guidance (Kodaira et al., StreamDiffusion, arXiv 2312.12491): a sample x = a x0 + b eps is made of a reference r
and the noise s = (x - a r) / b, which takes the place of the prediction for the negative prompt: self takes the input's
latent for r, one-time negative x0 as the negative prompt predicts it in the first step. Without an input r is zeros.
Rescaling (Lin et al., arXiv 2305.08891) is diffusers' own function; full guidance from text is its own pipeline.
"""
import argparse
import json
import pathlib
import tempfile

import diffusers
import torch
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import rescale_noise_cfg

import checkpoints
import models
import packed
from checkpoints import PROMPTS
from models import Noise

HEIGHT = WIDTH = 32
NEGATIVE = "a cat"


def run(model, mode, steps, strength=None, guidance=1.8, rescale=0.0, delta=1.0):
    words = ["text" if strength is None else f"{strength:g}", f"g{guidance:g}", f"d{delta:g}", f"r{rescale:g}"]
    return {"name": "-".join([model, mode, str(steps), *words]), "model": model, "guidance_mode": mode, "steps": steps,
            "mode": "text" if strength is None else "image", "strength": 1.0 if strength is None else strength,
            "guidance": guidance, "guidance_rescale": rescale, "delta": delta, "prompt": PROMPTS[1],
            "negative": NEGATIVE, "seed": 5}


RUNS = [
    # With a delta of 1 a single step of one-time negative is full guidance.
    *(run("turbo", mode, steps, strength, delta=delta) for mode, delta in (("full", 1), ("self", 1), ("one-time", 0.9))
      for steps, strength in ((1, 0.6), (2, 0.5), (4, 0.75), (2, None))),
    run("turbo", "self", 4, 1.0, guidance=0.6, delta=0.5), run("turbo", "one-time", 6, 0.75, guidance=2.5, delta=0.7),
    run("turbo", "self", 6, 0.75, rescale=0.4), run("turbo", "one-time", 1, None, rescale=1.0),
    run("turbo", "full", 4, 0.5, guidance=4, rescale=0.7), run("turbo", "full", 2, None, guidance=4, rescale=0.7),
    run("merged", "self", 4, 0.8), run("merged", "one-time", 2, 0.5, delta=0.8), run("merged", "self", 1, None),
    run("sd21", "self", 2, 0.5), run("sd21", "one-time", 4, None, rescale=0.5), run("sd21", "full", 4, None, rescale=0.7),
    run("sdxl", "one-time", 6, 0.7), run("sdxl", "one-time", 2, None), run("sdxl", "self", 2, 0.5),
]


def level(scheduler, t):
    """a and b of the sample at a timestep, and the network's input for it."""
    if isinstance(scheduler, diffusers.EulerDiscreteScheduler):
        i = (scheduler.timesteps == t).nonzero()[0].item()
        return 1.0, scheduler.sigmas[i]
    abar = scheduler.alphas_cumprod[int(t)]
    return abar**0.5, (1 - abar) ** 0.5


def of_network(scheduler, x0, eps, a, b):
    """What a network would have to say of x0 and eps."""
    if scheduler.config.prediction_type == "epsilon":
        return eps
    assert scheduler.config.prediction_type == "v_prediction"
    a, b = a / (a * a + b * b) ** 0.5, b / (a * a + b * b) ** 0.5
    return a * eps - b * x0


def picture_of(scheduler, said, x, a, b):
    """What the network says of the picture."""
    if scheduler.config.prediction_type == "epsilon":
        return (x - b * said) / a
    size = (a * a + b * b) ** 0.5
    return a / size * x / size - b / size * said


def generate(parts, scheduler, run, image, noise):
    unet, vae = parts["unet"], models.with_shift(parts["vae"])
    more, texts = {}, {}
    for which in ("prompt", "negative"):
        _, hidden, pooled = models.encode(parts, run[which])
        texts[which] = torch.cat(hidden, -1), checkpoints.added(pooled, checkpoints.sizes_of(HEIGHT, WIDTH))
    predict = lambda x, t, which: unet(scheduler.scale_model_input(x, t), t, texts[which][0], **texts[which][1]).sample
    own = checkpoints.own_latent(parts["vae"], checkpoints.in_range(parts["vae"], checkpoints.as_tensor(image)))
    z = checkpoints.scaled_latent(parts["vae"], own)
    scheduler.set_timesteps(run["steps"])
    noise.start(run["seed"])
    timesteps, start = scheduler.timesteps, noise.next(z.shape)
    if run["mode"] == "text":
        z, x = torch.zeros_like(z), start * scheduler.init_noise_sigma
    else:
        kept = max(1, int(run["steps"] * run["strength"]))
        timesteps = timesteps[len(timesteps) - kept:]
        scheduler.set_begin_index(run["steps"] - kept) if hasattr(scheduler, "set_begin_index") else None
        x = scheduler.add_noise(z, start, timesteps[:1])
    reference, g = z, run["guidance"]
    for i, t in enumerate(timesteps):
        a, b = level(scheduler, t)
        said = predict(x, t, "prompt")
        if run["guidance_mode"] == "full":
            away = predict(x, t, "negative")
        elif run["guidance_mode"] == "one-time" and i == 0:
            away = predict(x, t, "negative")
            reference = picture_of(scheduler, away, x, a, b)
        else:
            away = of_network(scheduler, reference, (x - a * reference) / b, a, b)
        away = away * (run["delta"] if run["guidance_mode"] != "full" else 1)
        guided = rescale_noise_cfg(away + g * (said - away), said, run["guidance_rescale"])
        x = scheduler.step(guided, t, x, return_dict=False)[0]
    return (checkpoints.decoded(vae, x / vae.config.scaling_factor).clamp(0, 1)[0].permute(1, 2, 0) * 255).round()


def by_pipeline(parts, scheduler, run, noise):
    pipe = diffusers.StableDiffusionPipeline(**parts, scheduler=scheduler, safety_checker=None, feature_extractor=None,
                                             requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    noise.start(run["seed"])
    made = pipe(run["prompt"], HEIGHT, WIDTH, run["steps"], guidance_scale=run["guidance"], output_type="np",
                negative_prompt=run["negative"], guidance_rescale=run["guidance_rescale"])
    return torch.from_numpy(made.images[0] * 255).round()


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("goldens", type=pathlib.Path)
    goldens = parser.parse_args().goldens
    image, pictures, parts = checkpoints.picture(HEIGHT, WIDTH, 21), {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        noise = Noise(pathlib.Path(scratch))
        for r in RUNS:
            folder = goldens / r["model"]
            if r["model"] not in parts:
                parts[r["model"]] = models.load(folder)
            picture = generate(parts[r["model"]], models.make_scheduler(folder), r, image, noise)
            if r["guidance_mode"] == "full" and r["mode"] == "text":
                peer = by_pipeline(parts[r["model"]], models.make_scheduler(folder), r, noise)
                assert (picture - peer).abs().max() <= 1, (r["name"], (picture - peer).abs().max())
                picture = peer
            pictures[r["name"]] = picture.byte().numpy()
    models.check_runs("guidance", pictures)
    out = goldens / "guidance"
    out.mkdir(exist_ok=True)
    tensors = {f"run.{k}": torch.from_numpy(v).half().contiguous() for k, v in pictures.items()}
    packed.save_tensors(tensors | {"input": torch.from_numpy(image).half()}, out / "golden.safetensors")
    models.write_golden(out, {"runs": RUNS})


if __name__ == "__main__":
    main()
