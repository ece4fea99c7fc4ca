#!/usr/bin/env python3
"""Makes the goldens that tests/test_style.c compares with: image encoders and IP-Adapters with random weights, and what
transformers and diffusers make of pictures with them, beside the checkpoints of models.py, in FP32 on the CPU.

    styles.py tests/data/goldens

Run from the root of the source tree, after models.py."""
import json
import pathlib
import shutil
import sys
import tempfile

import diffusers
import numpy as np
import torch
import transformers
from PIL import Image
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

import checkpoints
import models
import packed

PATCH = 4
# Head dims of ViT-H and ViT-bigG.
ENCODERS = {"encoder80": dict(hidden_size=80, num_hidden_layers=2, projection_dim=24, intermediate_size=16),
            "encoder104": dict(hidden_size=104, num_hidden_layers=1, projection_dim=20, intermediate_size=16)}
HEADS = 64  # a resampler's head dim, which no file says
# name: model, encoder, projection
ADAPTERS = {"sd15-linear": ("sd15", "encoder80", "linear"), "sd15-plus": ("sd15", "encoder80", "plus"),
            "sd15-face": ("sd15", "encoder80", "face"), "ssd-linear": ("ssd", "encoder104", "linear")}
SIZE = 16
# Pictures by their number, each with its weight; only: the layers that have a weight.
RUNS = [
    {"name": "two-cfg", "adapter": "sd15-linear", "pictures": [0, 1], "weights": [0.6, 0.9], "steps": 3, "guidance": 4.0,
     "negative": "a cat"},
    {"name": "plus-cfg", "adapter": "sd15-plus", "pictures": [0], "weights": [0.8], "steps": 3, "guidance": 5.0},
    {"name": "face-cfg", "adapter": "sd15-face", "pictures": [1], "weights": [1.0], "steps": 2, "guidance": 3.0},
    {"name": "xl-cfg", "adapter": "ssd-linear", "pictures": [0], "weights": [0.9], "steps": 2, "guidance": 4.0},
    {"name": "xl-look", "adapter": "ssd-linear", "pictures": [1], "weights": [0.8], "steps": 2, "layers": "style",
     "only": "up_blocks.0.attentions.1."},
    {"name": "xl-composition", "adapter": "ssd-linear", "pictures": [1], "weights": [0.7], "steps": 2,
     "layers": "composition", "only": "down_blocks.2.attentions.1."},
]
SEED = 9


def pictures():
    return [checkpoints.picture(48, 64, 3), checkpoints.picture(70, 40, 4)]


def processor(size):
    return CLIPImageProcessorPil(size={"shortest_edge": size}, crop_size={"height": size, "width": size})


def make_encoder(folder, sizes, generator):
    config = transformers.CLIPVisionConfig(num_attention_heads=1, image_size=SIZE, patch_size=PATCH, hidden_act="gelu", **sizes)
    encoder = transformers.CLIPVisionModelWithProjection(config).eval()
    checkpoints.randomise(encoder, generator)
    embeddings = encoder.vision_model.embeddings
    embeddings.class_embedding.data = torch.randn(embeddings.class_embedding.shape, generator=generator)
    state = {k: v.half().contiguous() for k, v in encoder.state_dict().items() if "position_ids" not in k}
    folder.mkdir(parents=True)
    encoder.config.architectures = ["CLIPVisionModelWithProjection"]
    encoder.config.save_pretrained(folder)
    checkpoints.save_readable(state, folder / "model.safetensors")


def attentions(unet):
    """The widths of the attentions to the text, in diffusers' order."""
    names = [n for n in unet.attn_processors if n.endswith("attn2.processor")]
    return [unet.get_submodule(n.removesuffix(".processor")).to_q.out_features for n in names]


def resampler(text, read, width=8, layers=4, tokens=6):
    shapes = {"latents": (1, tokens, width), "proj_in.weight": (width, read), "proj_in.bias": (width,),
              "proj_out.weight": (text, width), "proj_out.bias": (text,), "norm_out.weight": (text,), "norm_out.bias": (text,)}
    for i in range(layers):
        for n in ("0.norm1", "0.norm2", "1.0"):
            shapes |= {f"layers.{i}.{n}.weight": (width,), f"layers.{i}.{n}.bias": (width,)}
        shapes |= {f"layers.{i}.0.to_q.weight": (HEADS, width), f"layers.{i}.0.to_kv.weight": (2 * HEADS, width),
                   f"layers.{i}.0.to_out.weight": (width, HEADS), f"layers.{i}.1.1.weight": (4 * width, width),
                   f"layers.{i}.1.3.weight": (width, 4 * width)}
    return shapes


def projection(kind, text, read):
    if kind == "linear":
        return {"proj.weight": (4 * text, read), "proj.bias": (4 * text,), "norm.weight": (text,), "norm.bias": (text,)}
    if kind == "plus":
        return resampler(text, read)
    return {"proj.0.weight": (read, read), "proj.0.bias": (read,), "proj.2.weight": (text, read), "proj.2.bias": (text,),
            "proj.3.weight": (text,), "proj.3.bias": (text,)}


def is_norm(name):
    return any(n in name for n in ("norm", "proj.3", ".1.0."))


def random(name, shape, generator):
    normal = torch.randn(shape, generator=generator)
    if is_norm(name):
        return 0.1 * normal + name.endswith("weight")
    return 0.1 * normal if name.endswith("bias") else normal / shape[-1] ** 0.5 if "latents" not in name else normal


def make_adapter(path, unet, encoder, kind, generator, gain=16):
    text = unet.config.cross_attention_dim
    read = encoder.config.projection_dim if kind == "linear" else encoder.config.hidden_size
    state = {f"image_proj.{k}": random(k, s, generator) for k, s in projection(kind, text, read).items()}
    for i, width in enumerate(attentions(unet)):
        for way, factor in (("k", 1), ("v", gain)):  # large, because the models' attention says little
            state[f"ip_adapter.{2 * i + 1}.to_{way}_ip.weight"] = factor * torch.randn(width, text, generator=generator) / text**0.5
    checkpoints.save_readable({k: v.half().contiguous() for k, v in state.items()}, path)


def pipeline(root, run, encoder):
    model, _, _ = ADAPTERS[run["adapter"]]
    folder = root / model
    parts = models.load(folder)
    index = json.loads((folder / "model_index.json").read_text())
    family = "sdxl" if "text_encoder_2" in parts else "sd"
    settings = {"safety_checker": None, "requires_safety_checker": False}
    if family == "sdxl":
        settings = {"add_watermarker": False, **{k: v for k, v in index.items() if k.startswith("force_zeros")}}
    pipe = models.PIPELINES[family, "text"](**parts, scheduler=models.make_scheduler(folder, run), image_encoder=encoder,
                                            feature_extractor=processor(SIZE), **settings)
    pipe.set_progress_bar_config(disable=True)
    count = len(run["pictures"])
    pipe.load_ip_adapter(str(root / "styles"), subfolder=[""] * count, weight_name=[run["adapter"] + ".safetensors"] * count,
                         image_encoder_folder=None, low_cpu_mem_usage=False)
    pipe.set_ip_adapter_scale([0.0] * count if run.get("scale") == 0 else run["weights"])
    for name, attention in pipe.unet.attn_processors.items():
        if "only" in run and not name.startswith(run["only"]) and name.endswith("attn2.processor"):
            attention.scale = [0.0] * count
    return pipe, json.loads((folder / "golden.json").read_text())


@torch.no_grad()
def picture_of(root, run, encoders, noise):
    pipe, golden = pipeline(root, run, encoders[ADAPTERS[run["adapter"]][1]])
    noise.start(SEED)
    out = pipe(prompt=checkpoints.PROMPTS[1], negative_prompt=run.get("negative"), num_inference_steps=run["steps"],
               guidance_scale=run.get("guidance", 1.0), height=golden["height"], width=golden["width"],
               ip_adapter_image=[Image.fromarray(pictures()[i]) for i in run["pictures"]], output_type="np")
    return np.rint(out.images[0] * 255).astype(np.uint8)


@torch.no_grad()
def network_goldens(encoders):
    out = {}
    for name, encoder in encoders.items():
        pixels = processor(SIZE)(images=Image.fromarray(pictures()[0]), return_tensors="pt").pixel_values
        said = encoder(pixels, output_hidden_states=True)
        out |= {f"{name}.pixels": pixels[0], f"{name}.embedding": said.image_embeds}
        if encoder.config.num_hidden_layers > 1:
            out[f"{name}.hidden"] = said.hidden_states[-2][0]
    return out


@torch.no_grad()
def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / "styles"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    generator = torch.Generator().manual_seed(21)
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    for name, sizes in ENCODERS.items():
        make_encoder(folder / name, sizes, generator)
    encoders = {n: transformers.CLIPVisionModelWithProjection.from_pretrained(folder / n, dtype=torch.float32).eval() for n in ENCODERS}
    for name, (model, encoder, kind) in ADAPTERS.items():
        unet = diffusers.UNet2DConditionModel.from_pretrained(root / model / "unet")
        make_adapter(folder / f"{name}.safetensors", unet, encoders[encoder], kind, generator,
                     128 if model == "ssd" else 16)
    tensors = network_goldens(encoders)
    tensors |= {n: torch.from_numpy(p).half() for n, p in zip(("input", "second"), pictures())}
    for i, p in enumerate(pictures()):
        # every ninth row and column
        pixels = processor(224)(images=Image.fromarray(p), return_tensors="pt").pixel_values[0]
        tensors[f"pixels.{i}"] = pixels[:, ::9, ::9].contiguous()
    shown = {}
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        for run in RUNS:
            shown[run["name"]] = picture_of(root, run, encoders, noise)
        without = [r | {"scale": 0.0} for r in RUNS]  # what the pictures have to differ from
        plain = {r["name"]: picture_of(root, r, encoders, noise) for r in without}
    for name, image in shown.items():
        near = models.psnr(image, plain[name])
        print(f"  {name}: std {image.std():.0f}, {near:.0f} dB from the picture without")
        assert image.std() > 10 and near < 50, f"{name} proves too little"
    tensors |= {f"run.{k}": torch.from_numpy(v).half() for k, v in shown.items()}
    packed.save_tensors({k: v.contiguous() for k, v in tensors.items()}, folder / "golden.safetensors")
    runs = [{k: v for k, v in r.items() if k != "only"} | {"model": ADAPTERS[r["adapter"]][0], "encoder": ADAPTERS[r["adapter"]][1], "seed": SEED} for r in RUNS]
    (folder / "golden.json").write_text(json.dumps({"prompt": checkpoints.PROMPTS[1], "size": SIZE, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
