#!/usr/bin/env python3
"""Makes ../data/goldens/*/facts.safetensors and ../data/facts.json: what diffusers makes of the random checkpoints sd15
and sdxl with facts that none of their tensors holds, for tests/test_facts.c.

    facts.py tests/data/goldens

- prediction: sd15's U-Net as one that predicts v, also on a schedule that ends in noise alone
- tokens: sd15 with two rows more in its text encoder, and their words in tokenizer/added_tokens.json
- clip_skip: the text encoders' layers counted as web UIs do, from 1, the last

Needs torch, diffusers (made with 0.42.1), transformers. Run from the root of the source tree, after models.py.
"""
import json
import pathlib
import shutil
import sys
import tempfile
import types

import diffusers
import numpy as np
import torch
import transformers

import checkpoints
import models

TOKENS = {"<cat-toy>": 531, "sksart": 532}
RUNS = {
    "sd15": [
        {"name": "v", "prompt": "an oil painting", "prediction": "v", "sampler": "ddim"},
        {"name": "v-zero", "prompt": "an oil painting", "prediction": "v", "zero_snr": True, "sampler": "ddim",
         "spacing": "trailing"},
        {"name": "tokens", "prompt": "a <cat-toy> and sksart at night", "tokens": True},
        {"name": "skip-2", "prompt": "an oil painting", "clip_skip": 2},
    ],
    "sdxl": [
        {"name": "skip-1", "prompt": "an oil painting", "clip_skip": 1},
        {"name": "skip-3", "prompt": "an oil painting", "clip_skip": 3},
    ],
}
# What diffusers calls the same, by the number of text encoders: it counts from the layer that is usual.
USUAL_SKIP = {"sd15": 1, "sdxl": 2}


def with_tokens(folder, parts, scratch):
    """The tokenizer as transformers reads it with the file of learned tokens, and the encoder with their rows."""
    shutil.copytree(folder / "tokenizer", scratch / "tokenizer")
    (scratch / "tokenizer" / "added_tokens.json").write_text(json.dumps(TOKENS))
    tokenizer = transformers.CLIPTokenizer.from_pretrained(scratch / "tokenizer")
    assert {k: tokenizer.convert_tokens_to_ids(k) for k in TOKENS} == TOKENS
    rows = (0.3 * torch.randn(2, parts["text_encoder"].config.hidden_size, generator=torch.Generator().manual_seed(3))).half()
    parts["text_encoder"].resize_token_embeddings(533)
    parts["text_encoder"].get_input_embeddings().weight[531:] = rows.float()
    return parts | {"tokenizer": tokenizer}, rows


def scheduler_of(folder, run):
    config = json.loads((folder / "scheduler" / "scheduler_config.json").read_text())
    more = {"prediction_type": "v_prediction"} if run.get("prediction") == "v" else {}
    more |= {"rescale_betas_zero_snr": True} if run.get("zero_snr") else {}
    more |= {"timestep_spacing": run["spacing"]} if "spacing" in run else {}
    name = models.SAMPLERS[run["sampler"]] + "Scheduler" if "sampler" in run else config["_class_name"]
    return getattr(diffusers, name).from_config(config | more)


def embeds(pipe, name, run):
    """The texts of prompt and negative prompt, each from the layer that is asked for: the pipelines skip none of the
    negative one's layers, web UIs do."""
    skip = run["clip_skip"] - USUAL_SKIP[name]
    arguments = dict(device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False, clip_skip=skip or None)
    both = [pipe.encode_prompt(prompt, **arguments) for prompt in (run["prompt"], "a cat")]
    out = {"prompt_embeds": both[0][0], "negative_prompt_embeds": both[1][0], "prompt": None}
    if name == "sdxl":
        out |= {"pooled_prompt_embeds": both[0][2], "negative_pooled_prompt_embeds": both[1][2]}
    return out


def picture_of(name, parts, scheduler, run, height, width, noise):
    settings = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    pipe = models.PIPELINES["sdxl" if name == "sdxl" else "sd", "text"](
        **parts, scheduler=scheduler, **({"add_watermarker": False} if name == "sdxl" else settings))
    pipe.set_progress_bar_config(disable=True)
    encoder = parts["text_encoder"]
    if not hasattr(encoder, "text_model"):  # the pipeline looks for the norm where transformers had it before 5.6
        object.__setattr__(encoder, "text_model", types.SimpleNamespace(final_layer_norm=encoder.final_layer_norm))
    arguments = embeds(pipe, name, run) if "clip_skip" in run else {"prompt": run["prompt"], "negative_prompt": "a cat"}
    noise.start(run["seed"])
    return np.rint(pipe(**arguments, num_inference_steps=run["steps"], guidance_scale=run["guidance"], height=height,
                        width=width, output_type="np").images[0] * 255).astype(np.uint8)


def check(name, pictures):
    """A picture of one grey, or one that the usual reading makes as well, would prove nothing."""
    for run, image in pictures.items():
        nearest = max(models.psnr(image, other) for key, other in pictures.items() if key != run)
        print(f"  {name}/{run}: std {image.std():.0f}, most similar other run {nearest:.0f} dB")
        assert image.std() > 8 and nearest < 50, f"{name}/{run} proves too little"


@torch.no_grad()
def make(folder, name, noise):
    golden, out, tensors = json.loads((folder / name / "golden.json").read_text()), {}, {}
    for run in RUNS[name]:
        run |= {"steps": 4, "seed": 5, "negative": "a cat", "guidance": {"sd15": 7.5, "sdxl": 150.0}[name]}
        parts = models.load(folder / name)
        if run.get("tokens"):
            with tempfile.TemporaryDirectory() as scratch:
                parts, rows = with_tokens(folder / name, parts, pathlib.Path(scratch))
            tensors["rows"] = rows
            run["ids"] = parts["tokenizer"](run["prompt"]).input_ids
        out[run["name"]] = picture_of(name, parts, scheduler_of(folder / name, run), run, golden["height"],
                                      golden["width"], noise)
    check(name, out)
    tensors |= {f"run.{k}": torch.from_numpy(v).half().contiguous() for k, v in out.items()}
    checkpoints.save_readable(tensors, folder / name / "facts.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        for name in RUNS:
            make(folder, name, noise)
    (folder / ".." / "facts.json").write_text(json.dumps(RUNS, indent=1) + "\n")


if __name__ == "__main__":
    main()
