#!/usr/bin/env python3
"""Makes the goldens that tests/test_models.c compares with: small random checkpoints in the diffusers layout, one for
each family of models, and what diffusers and transformers compute from them in FP32 on the CPU.

    models.py tests/data/goldens [CASE...]       the random checkpoints and their outputs
    models.py --runs tests/data/goldens [CASE...]           only the pictures of whole runs, anew
    models.py --mini MODEL OUT                   the outputs of the model in folder MODEL
    models.py --half tests/data/goldens [CASE...]           only "half" in golden.json, anew: how far the same networks
    models.py --half --mini MODEL OUT                       in FP16 are from FP32, on a GPU where there is one

"half" is what bounds the CUDA device's errors: they may be twice as large. In FP16 diffusers rounds what every layer
gives, on the CPU as on a GPU, so that both find about the same.

Needs torch, diffusers, transformers and a C compiler: the noise is made by unet/sample/noise.c itself, so that both sides
start from the same numbers. Run from the root of the source tree.
"""
import argparse
import copy
import ctypes
import importlib
import json
import pathlib
import subprocess
import tempfile

import diffusers
import numpy as np
import torch
import transformers
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
from PIL import Image
from safetensors.torch import load_file
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

import packed
from cases import CASES
from checkpoints import (PROMPTS, add_pools, added, as_tensor, decoded, encode_tokens, image_latent, in_range,
                         make_checkpoint, mask, own_latent, picture, sizes_of, widen)

DRAWN_IN = [
    "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion",
    "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion_img2img",
    "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion_inpaint",
    "diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion_instruct_pix2pix",
    "diffusers.pipelines.latent_consistency_models.pipeline_latent_consistency_text2img",
    "diffusers.pipelines.latent_consistency_models.pipeline_latent_consistency_img2img",
    "diffusers.pipelines.stable_diffusion_xl.pipeline_stable_diffusion_xl",
    "diffusers.pipelines.stable_diffusion_xl.pipeline_stable_diffusion_xl_img2img",
    "diffusers.pipelines.stable_diffusion_xl.pipeline_stable_diffusion_xl_inpaint",
    "diffusers.pipelines.stable_diffusion_xl.pipeline_stable_diffusion_xl_instruct_pix2pix",
    "diffusers.schedulers.scheduling_ddim",
    "diffusers.schedulers.scheduling_ddpm",
    "diffusers.schedulers.scheduling_dpmsolver_multistep",
    "diffusers.schedulers.scheduling_lcm",
    "diffusers.schedulers.scheduling_tcd",
    "diffusers.schedulers.scheduling_euler_ancestral_discrete",
]
# Encoding by the posterior's mode, which no noise disturbs from frame to frame.
DiagonalGaussianDistribution.sample = lambda self, generator=None: self.mode()
TIMESTEPS = (999, 480, 1)


# ---------------------------------------------------------------- noise


class Noise:
    """unet/sample/noise.c, and in diffusers' place of randn_tensor: call number d of a run gets sample d."""

    def __init__(self, scratch):
        library = scratch / "noise.so"
        subprocess.run(["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-I.", "unet/sample/noise.c", "-lm", "-o", library], check=True)
        self.fill = ctypes.CDLL(str(library)).noise_fill
        self.fill.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        self.seed = self.sample = 0
        for name in DRAWN_IN:
            importlib.import_module(name).randn_tensor = self.next

    def make(self, seed, sample, shape):
        n, c, h, w = shape
        out = np.empty((n, h, w, c), np.float32)
        self.fill(seed, sample, 0, out.ctypes.data, out.size)
        return torch.from_numpy(out).permute(0, 3, 1, 2).contiguous()

    def start(self, seed):
        self.seed, self.sample = seed, 0

    def next(self, shape, **_):
        self.sample += 1
        return self.make(self.seed, self.sample - 1, shape)


# ---------------------------------------------------------------- what diffusers computes


def load_pools(vae, folder):
    """What diffusers' class has left in the file."""
    state = load_file(folder / "diffusion_pytorch_model.safetensors")
    places = sorted({tuple(k.split(".")[:3]) for k in state if ".pool." in k})
    add_pools(vae, {half: [int(n) for h, _, n in places if h == half] for half in ("encoder", "decoder")})
    vae.load_state_dict({k: v.float() for k, v in state.items()})


def load(folder):
    """The folder's networks in FP32, read by diffusers and transformers themselves."""
    vae = json.loads((folder / "vae" / "config.json").read_text())["_class_name"]
    classes = {"vae": getattr(diffusers, vae), "unet": diffusers.UNet2DConditionModel,
               "text_encoder": transformers.CLIPTextModel}
    parts = {"tokenizer": transformers.CLIPTokenizer.from_pretrained(folder / "tokenizer")}
    if (folder / "text_encoder_2").exists():
        classes["text_encoder_2"] = transformers.CLIPTextModelWithProjection
        parts["tokenizer_2"] = transformers.CLIPTokenizer.from_pretrained(folder / "tokenizer_2")
    for name, cls in classes.items():
        model, info = cls.from_pretrained(folder / name, torch_dtype=torch.float32, output_loading_info=True)
        if any(".pool." in k for k in info["unexpected_keys"]):
            load_pools(model, folder / name)
            info["unexpected_keys"] = ()
        assert not info["missing_keys"] and not info["unexpected_keys"], f"{folder / name}: {info}"
        parts[name] = model.eval()
    return parts


SAMPLERS = {"euler": "EulerDiscrete", "ddim": "DDIM", "tcd": "TCD", "unipc": "UniPCMultistep",
            "dpm++": "DPMSolverMultistep", "dpm++-sde": "DPMSolverMultistep", "lms": "LMSDiscrete",
            "deis": "DEISMultistep", "ddpm": "DDPM"}


def make_scheduler(folder, run={}):
    """The scheduler of the folder, or the run's own."""
    config = json.loads((folder / "scheduler" / "scheduler_config.json").read_text())
    sampler, more = run.get("sampler"), {}
    if sampler:
        more = {"algorithm_type": "sde-dpmsolver++"} if sampler == "dpm++-sde" else {}
        more |= {f"use_{run['spacing']}_sigmas": True} if "spacing" in run else {}
    name = SAMPLERS[sampler] + "Scheduler" if sampler else config["_class_name"]
    return getattr(diffusers, name).from_config(config, **more)


def repeat_second(pipe):
    """PNDM asks twice for the second timestep, also where image to image begins late: see sampler_walks.py."""
    get = pipe.get_timesteps

    def timesteps_of(steps, strength, *more):
        whole = sorted({int(t) for t in pipe.scheduler.timesteps}, reverse=True)
        kept = whole[steps - min(int(steps * strength), steps):]
        get(steps, strength, *more)
        return torch.tensor(kept[:2] + kept[1:]), len(kept)

    pipe.get_timesteps = timesteps_of


def encode(parts, prompt):
    length = parts["text_encoder"].config.max_position_embeddings
    ids = [parts[name](prompt, padding="max_length", truncation=True, max_length=length, return_tensors="pt").input_ids
           for name in ("tokenizer", "tokenizer_2") if name in parts]
    return ids, *encode_tokens(parts, ids)


def condition_of(unet):
    """The guidance scale's embedding, for U-Nets that take one."""
    if not unet.config.time_cond_proj_dim:
        return None
    pipe = diffusers.LatentConsistencyModelPipeline
    return pipe.get_guidance_scale_embedding(None, torch.tensor([7.5]), unet.config.time_cond_proj_dim)


def nhwc(t):
    return t.permute(0, 2, 3, 1).contiguous()


def nchw(t):
    return t.permute(0, 3, 1, 2).contiguous()


def network_goldens(parts, height, width, noise, seed):
    """Each network by itself."""
    unet, vae = parts["unet"], parts["vae"]
    image = picture(height, width, seed)
    ids, texts, pooled = encode(parts, PROMPTS[1])
    more = added(pooled, sizes_of(height, width))
    z = own_latent(vae, in_range(vae, as_tensor(image)))
    x = noise.make(seed, 7, (1, unet.config.in_channels, *z.shape[2:]))
    out = {f"text{n}.{k}": v[0].float() for n, i, t in zip(("", "2"), ids, texts) for k, v in (("ids", i), ("out", t))}
    out |= {} if pooled is None else {"pooled.out": pooled}
    out |= {"vae.picture": nhwc(in_range(vae, as_tensor(image))), "vae.latent": nhwc(z),
            "vae.decoded": nhwc(decoded(vae, z)), "unet.x": nhwc(x)}
    for t in TIMESTEPS:
        out[f"unet.out.{t}"] = nhwc(unet(x, t, torch.cat(texts, -1), timestep_cond=condition_of(unet), **more).sample)
    return {k: v.detach().clone() for k, v in out.items()}


def narrowed(parts, exact, widened):
    """The networks with the autoencoder as it was before it was widened, which FP16 can hold."""
    wide = copy.deepcopy(parts["vae"]).half()
    assert not decoded(wide, nchw(exact["vae.latent"]).half()).isfinite().all(), "FP16 holds it: widen it more"
    assert not own_latent(wide, nchw(exact["vae.picture"]).half()).isfinite().all(), "FP16 holds it: widen it more"
    vae = copy.deepcopy(parts["vae"])
    widen(vae, 1 / widened)
    return parts | {"vae": vae}


def half_errors(parts, exact, widened=None):
    """Relative errors of the same networks on the same inputs in FP16."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = narrowed(parts, exact, widened) if widened else parts
    half = {k: copy.deepcopy(m).half().to(device) for k, m in parts.items() if not k.startswith("tokenizer")}
    unet, vae = half["unet"], half["vae"]
    ready = lambda t: t.half().to(device)
    condition = condition_of(parts["unet"])
    condition = None if condition is None else ready(condition)
    suffixes = [""] + ["2"] * ("text2.ids" in exact)
    texts, pooled = encode_tokens(half, [exact[f"text{n}.ids"].long()[None].to(device) for n in suffixes])
    out = {f"text{n}.out": t[0] for n, t in zip(suffixes, texts)}
    more = {}
    if pooled is not None:
        out["pooled.out"] = pooled
        height, width = exact["vae.picture"].shape[1:3]
        more = added(ready(exact["pooled.out"]), sizes_of(height, width).to(device))
    x, text = ready(nchw(exact["unet.x"])), torch.cat([ready(exact[f"text{n}.out"][None]) for n in suffixes], -1)
    out |= {"vae.latent": nhwc(own_latent(vae, ready(nchw(exact["vae.picture"])))),
            "vae.decoded": nhwc(decoded(vae, ready(nchw(exact["vae.latent"]))))}
    for t in TIMESTEPS:
        out[f"unet.out.{t}"] = nhwc(unet(x, t, text, timestep_cond=condition, **more).sample)
    error = lambda a, b: ((a.double().cpu() - b.double()).norm() / b.double().norm()).item()
    return {k: float(f"{error(v, exact[k]):.3g}") for k, v in out.items()}


def write_golden(folder, golden):
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


@torch.no_grad()
def update_half(model, out):
    exact = {k: v.float() for k, v in packed.load_tensors(out / "golden.safetensors").items()}
    golden = json.loads((out / "golden.json").read_text())
    golden["half"] = half_errors(load(model), exact, golden.get("widened"))
    print(f"  {out.name}:", golden["half"])
    write_golden(out, golden)


def with_shift(vae):
    """An autoencoder whose latents are shifted: the pipelines know the factor alone."""
    shift = getattr(vae.config, "shift_factor", None)
    if not shift:
        return vae
    vae = copy.deepcopy(vae)
    encode, decode = vae.encode, vae.decode

    def encode_shifted(pictures, **arguments):
        out = encode(pictures, **arguments)
        out.latent_dist.mean = out.latent_dist.mean - shift
        return out

    vae.encode = encode_shifted
    vae.decode = lambda z, *rest, **arguments: decode(z + shift, *rest, **arguments)
    return vae


PIPELINES = {
    ("sd", "text"): diffusers.StableDiffusionPipeline,
    ("sd", "image"): diffusers.StableDiffusionImg2ImgPipeline,
    ("sd", "edit"): diffusers.StableDiffusionInstructPix2PixPipeline,
    ("sd", "inpaint"): diffusers.StableDiffusionInpaintPipeline,
    ("lcm", "text"): diffusers.LatentConsistencyModelPipeline,
    ("lcm", "image"): diffusers.LatentConsistencyModelImg2ImgPipeline,
    ("sdxl", "text"): diffusers.StableDiffusionXLPipeline,
    ("sdxl", "image"): diffusers.StableDiffusionXLImg2ImgPipeline,
    ("sdxl", "inpaint"): diffusers.StableDiffusionXLInpaintPipeline,
    ("sdxl", "edit"): diffusers.StableDiffusionXLInstructPix2PixPipeline,
}


def blended(pipe, blend):
    """A pipeline's arguments in place of a prompt: the sum of texts by the shares of their weights."""
    total = sum(weight for _, weight in blend)
    names, out = ("prompt_embeds", "pooled_prompt_embeds"), {}
    for prompt, weight in blend:
        texts = pipe.encode_prompt(prompt, device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False)
        for name, text in zip(names, texts[::2]):  # the others are the negative prompt's
            out[name] = out.get(name, 0) + weight / total * text
    return {"prompt": None, **out}


def add_styles(pipe, folder, pictures, weights):
    """Has the IP-Adapter in a model's folder read style pictures; a pipeline's arguments. Its U-Net is changed."""
    encoder = transformers.CLIPVisionModelWithProjection.from_pretrained(folder / "image_encoder", dtype=torch.float32)
    size, count = encoder.config.image_size, len(pictures)
    pipe.register_modules(image_encoder=encoder.eval(), feature_extractor=CLIPImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}))
    pipe.load_ip_adapter(str(folder), subfolder=[""] * count, weight_name=["ip_adapter.safetensors"] * count,
                         image_encoder_folder=None, low_cpu_mem_usage=False)
    for attention in pipe.unet.attn_processors.values():  # set_ip_adapter_scale is not there in all pipelines
        if hasattr(attention, "scale"):
            attention.scale = weights
    return {"ip_adapter_image": [Image.fromarray(p) for p in pictures]}


def run_pipeline(parts, index, scheduler, run, image, noise, styled=None):
    """One run of cases.py through the diffusers pipeline that is meant for it; uint8 picture. styled: folder, style pictures
    and their weights."""
    lcm = bool(parts["unet"].config.time_cond_proj_dim)  # merged ones run in the others' pipelines
    family = "lcm" if lcm else "sdxl" if "text_encoder_2" in parts else "sd"
    settings = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    if family == "sdxl":
        settings = {"add_watermarker": False, **{k: v for k, v in index.items() if k.startswith("force_zeros")}}
    arguments = dict(prompt=run["prompt"], num_inference_steps=run["steps"], guidance_scale=run.get("guidance", 1.0),
                     output_type="np")
    if not lcm:
        arguments["negative_prompt"] = run.get("negative")
    if run["mode"] == "text":
        arguments |= dict(height=image.shape[0], width=image.shape[1])
    elif run["mode"] == "edit":
        arguments |= dict(image=as_tensor(image), image_guidance_scale=run.get("image_guidance", 1.0))
        if family == "sdxl":  # else the picture is resized
            arguments |= dict(height=image.shape[0], width=image.shape[1])
    elif run["mode"] == "inpaint":
        size = image.shape[:2]
        arguments |= dict(image=as_tensor(image), mask_image=torch.from_numpy(mask(*size))[None, None] / 255,
                          height=size[0], width=size[1], strength=run["strength"])
    else:
        arguments |= dict(image=as_tensor(image), strength=run["strength"])
    parts = parts | {"vae": with_shift(parts["vae"])} | ({"unet": copy.deepcopy(parts["unet"])} if styled else {})
    pipe = PIPELINES[family, run["mode"]](**parts, scheduler=scheduler, **settings)
    pipe.set_progress_bar_config(disable=True)
    if "blend" in run:
        arguments |= blended(pipe, run["blend"])
    if styled:
        arguments |= add_styles(pipe, *styled)
    if isinstance(scheduler, diffusers.PNDMScheduler) and run["mode"] == "image":
        repeat_second(pipe)
    if "eta" in run:
        arguments["eta"] = run["eta"]
    if run["mode"] == "edit":
        encode = pipe.prepare_image_latents
        pipe.prepare_image_latents = lambda *a, **k: image_latent(pipe.unet, pipe.vae, encode(*a, **k))
    noise.start(run["seed"])
    return np.rint(pipe(**arguments).images[0] * 255).astype(np.uint8)


def psnr(a, b):
    error = np.mean((a.astype(float) - b.astype(float)) ** 2)
    return 99.0 if error == 0 else 10 * np.log10(255**2 / error)


def check_runs(name, pictures):
    """Goldens that are all alike, or clipped, would prove nothing."""
    for run, image in pictures.items():
        clipped = np.mean((image == 0) | (image == 255))
        nearest = max((psnr(image, other) for key, other in pictures.items() if key != run), default=0)
        print(f"  {name}/{run}: mean {image.mean():.0f}, std {image.std():.0f}, clipped {clipped:.0%}, "
              f"most similar other run {nearest:.0f} dB")
        assert image.std() > 10 and clipped < 0.5 and nearest < 50, f"{name}/{run} proves too little"


def run_tensors(parts, model, out, runs, image, noise):
    index, pictures = json.loads((model / "model_index.json").read_text()), {}
    for run in runs:
        styled = (model, [style_picture()], [run["style"]]) if "style" in run else None
        pictures[run["name"]] = run_pipeline(parts, index, make_scheduler(model, run), run, image, noise, styled)
    check_runs(out.name, pictures)
    return {f"run.{k}": torch.from_numpy(v).half().contiguous() for k, v in pictures.items()}


@torch.no_grad()
def make_goldens(model, out, runs, height, width, seed, noise, widened=None):
    parts, image = load(model), picture(height, width, seed)
    tensors = network_goldens(parts, height, width, noise, seed)
    tensors |= run_tensors(parts, model, out, runs, image, noise)
    tensors["input"] = torch.from_numpy(image).half()  # 0..255 is exact in FP16
    if any("style" in run for run in runs):
        tensors["style"] = torch.from_numpy(style_picture()).half()
    if any(run["mode"] == "inpaint" for run in runs):
        tensors["mask"] = torch.from_numpy(mask(height, width)).half()
    out.mkdir(parents=True, exist_ok=True)
    packed.save_tensors(tensors, out / "golden.safetensors")
    golden = {"prompt": PROMPTS[1], "height": height, "width": width, "guidance": 8.5, "runs": runs}
    if widened:
        golden["widened"] = widened
    write_golden(out, golden | {"half": half_errors(parts, tensors, widened)})


@torch.no_grad()
def update_runs(folder, case, noise):
    golden = json.loads((folder / "golden.json").read_text())
    tensors = {k: v for k, v in packed.load_tensors(folder / "golden.safetensors").items() if not k.startswith("run.")}
    image = picture(case["height"], case["width"], case["seed"])
    tensors |= run_tensors(load(folder), folder, folder, case["runs"], image, noise)
    packed.save_tensors(tensors, folder / "golden.safetensors")
    write_golden(folder, golden | {"runs": case["runs"]})


MINI_RUNS = [
    {"name": f"{style}-{steps}", "mode": "edit", "prompt": prompt, "steps": steps, "seed": 11}
    for style, prompt, steps in [("oil", "oil painting", 1), ("neon", "night neon", 1), ("photo", "", 1),
                                 ("ink", "ink drawing", 2), ("mosaic", "mosaic", 4)]
] + [{"name": "style-1", "mode": "edit", "prompt": "photo", "steps": 1, "seed": 12, "style": 0.9}]


def style_picture():
    return picture(70, 90, 6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mini", metavar="MODEL", type=pathlib.Path)
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--runs", action="store_true")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=[])
    options = parser.parse_args()
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.half:
        for name in [None] if options.mini else options.cases or CASES:
            folder = options.out / name if name else options.out
            update_half(options.mini or folder, folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        noise = Noise(pathlib.Path(scratch))
        if options.mini:
            adapter = (options.mini / "ip_adapter.safetensors").exists()
            runs = [run for run in MINI_RUNS if adapter or "style" not in run]
            make_goldens(options.mini, options.out, runs, 96, 128, 1, noise)
            return
        for name in options.cases or CASES:
            case, folder = CASES[name], options.out / name
            if options.runs:
                update_runs(folder, case, noise)
                continue
            make_checkpoint(folder, case)
            make_goldens(folder, folder, case["runs"], case["height"], case["width"], case["seed"], noise,
                         case.get("widened"))


if __name__ == "__main__":
    main()
