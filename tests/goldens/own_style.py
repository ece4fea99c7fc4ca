#!/usr/bin/env python3
"""Makes the golden of a model with an IP-Adapter of its own, as mini has one: a small image encoder of two heads and an
adapter of 4 tokens, both with random weights, for the checkpoint pix2pix of models.py, and what diffusers makes of
pictures with them, in FP32 on the CPU. tests/test_own_style.c puts them into a copy of that checkpoint's folder.

    own_style.py tests/data/goldens

Run from the root of the source tree, after models.py."""
import json
import pathlib
import shutil
import sys
import tempfile

import diffusers
import torch
import transformers
from PIL import Image

import checkpoints
import models
import packed
import styles

MODEL = "pix2pix"
SIZES = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=3, intermediate_size=32, projection_dim=12,
             image_size=16, patch_size=4, hidden_act="quick_gelu")
RUNS = [
    {"name": "one", "pictures": [0], "weights": [1.0], "steps": 1},
    {"name": "two-cfg", "pictures": [1, 0], "weights": [0.7, 0.4], "steps": 2, "guidance": 5.0, "image_guidance": 1.5},
]
SEED = 7


def make_encoder(folder, generator):
    config = transformers.CLIPVisionConfig(**SIZES)
    encoder = transformers.CLIPVisionModelWithProjection(config).eval()
    checkpoints.randomise(encoder, generator)
    embeddings = encoder.vision_model.embeddings
    embeddings.class_embedding.data = torch.randn(embeddings.class_embedding.shape, generator=generator)
    folder.mkdir(parents=True)
    encoder.config.architectures = ["CLIPVisionModelWithProjection"]
    encoder.config.save_pretrained(folder)
    state = {k: v.half().contiguous() for k, v in encoder.state_dict().items() if "position_ids" not in k}
    checkpoints.save_readable(state, folder / "model.safetensors")
    return transformers.CLIPVisionModelWithProjection.from_pretrained(folder, dtype=torch.float32).eval()


def picture_of(root, run, noise, weights):
    folder, pictures = root / MODEL, [styles.pictures()[i] for i in run["pictures"]]
    golden = json.loads((folder / "golden.json").read_text())
    image = checkpoints.picture(golden["height"], golden["width"], models.CASES[MODEL]["seed"])
    run = run | {"mode": "edit", "prompt": checkpoints.PROMPTS[1], "seed": SEED}
    return models.run_pipeline(models.load(folder), {}, models.make_scheduler(folder), run, image, noise,
                               (root / "own", pictures, weights))


@torch.no_grad()
def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / "own"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    generator = torch.Generator().manual_seed(22)
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    encoder = make_encoder(folder / "image_encoder", generator)
    unet = diffusers.UNet2DConditionModel.from_pretrained(root / MODEL / "unet")
    styles.make_adapter(folder / "ip_adapter.safetensors", unet, encoder, "linear", generator, 256)
    pixels = styles.processor(SIZES["image_size"])(images=Image.fromarray(styles.pictures()[0]), return_tensors="pt").pixel_values
    tensors = {"input": torch.from_numpy(styles.pictures()[0]).half(), "second": torch.from_numpy(styles.pictures()[1]).half(),
               "pixels": pixels[0], "embedding": encoder(pixels).image_embeds}
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        for run in RUNS:
            image = picture_of(root, run, noise, run["weights"])
            near = models.psnr(image, picture_of(root, run, noise, [0.0] * len(run["weights"])))
            print(f"  {run['name']}: std {image.std():.0f}, {near:.0f} dB from the picture without")
            assert image.std() > 10 and near < 50, f"{run['name']} proves too little"
            tensors[f"run.{run['name']}"] = torch.from_numpy(image).half()
    packed.save_tensors({k: v.contiguous() for k, v in tensors.items()}, folder / "golden.safetensors")
    runs = [r | {"seed": SEED} for r in RUNS]
    (folder / "golden.json").write_text(json.dumps({"prompt": checkpoints.PROMPTS[1], "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
