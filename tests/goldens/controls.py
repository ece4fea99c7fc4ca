#!/usr/bin/env python3
"""Makes the goldens that tests/test_controls.c compares with: small random ControlNets and T2I-Adapters for the random
checkpoints turbo and sdxl, and the pictures that diffusers' pipelines make with them. The map is the picture itself.

    controls.py tests/data/goldens          the networks and their pictures
    controls.py --runs tests/data/goldens   only the pictures, anew

original.json.gz says how the networks' weights are called in files of the original key layout, as original.py's does.

Needs torch, diffusers, transformers. Run from the root of the source tree, after models.py.
"""
import argparse
import importlib
import json
import pathlib
import re
import shutil
import tempfile

import diffusers
import numpy as np
import torch

import checkpoints
import models
import original
import packed

HEIGHT, WIDTH, SEED = 32, 32, 41
CROSS, PLAIN = "CrossAttnDownBlock2D", "DownBlock2D"
DRAWN_IN = ["controlnet.pipeline_controlnet", "controlnet.pipeline_controlnet_img2img",
            "controlnet.pipeline_controlnet_sd_xl", "controlnet.pipeline_controlnet_sd_xl_img2img",
            "t2i_adapter.pipeline_stable_diffusion_adapter", "t2i_adapter.pipeline_stable_diffusion_xl_adapter"]

# Between them: every layer there is, hints of other widths, an attention without transformer blocks.
NETWORKS = {
    "first": ("turbo", {"block_out_channels": [8, 16], "layers_per_block": 1, "down_block_types": [CROSS, PLAIN],
                        "attention_head_dim": [1, 2], "cross_attention_dim": 16, "norm_num_groups": 4,
                        "use_linear_projection": True, "conditioning_embedding_out_channels": [2, 4, 4, 6]}),
    "second": ("turbo", {"block_out_channels": [8, 16], "layers_per_block": 1, "down_block_types": [PLAIN, CROSS],
                         "attention_head_dim": [2, 4], "cross_attention_dim": 16, "norm_num_groups": 8,
                         "transformer_layers_per_block": [1, 0], "mid_block_type": "UNetMidBlock2D",
                         "conditioning_embedding_out_channels": [2, 2, 2, 2]}),
    "xl": ("sdxl", {"block_out_channels": [8, 8, 16], "layers_per_block": 1, "down_block_types": [PLAIN, CROSS, PLAIN],
                    "attention_head_dim": [1, 1, 2], "transformer_layers_per_block": [1, 1, 1],
                    "mid_block_type": "UNetMidBlock2D", "cross_attention_dim": 40, "norm_num_groups": 4,
                    "use_linear_projection": True, "addition_embed_type": "text_time", "addition_time_embed_dim": 8,
                    "projection_class_embeddings_input_dim": 64, "conditioning_embedding_out_channels": [2, 2, 4, 4]}),
    "adapter": ("turbo", {"channels": [8, 16], "adapter_type": "full_adapter"}),
    "xladapter": ("sdxl", {"channels": [8, 8, 16, 16], "adapter_type": "full_adapter_xl", "downscale_factor": 16,
                           "in_channels": 1, "num_res_blocks": 1}),
}


def control(network, weight=1.0, start=0.0, end=1.0):
    return {"network": network, "weight": weight, "start": start, "end": end}


def run(name, model, mode, steps, controls, **more):
    return {"name": name, "model": model, "mode": mode, "prompt": "an oil painting", "steps": steps, "seed": 9,
            "controls": controls, **more}


RUNS = [
    run("text-1", "turbo", "text", 1, [control("first")]),
    run("guess-2-cfg", "turbo", "text", 2, [control("first", 1.5)], guidance=6.0, guess=True),
    run("both-2", "turbo", "text", 2, [control("first", 0.8), control("second", 1.2)]),
    # on trailing timesteps these parts are whole steps
    run("parts-4", "turbo", "text", 4, [control("first", 1.0, 0.25, 1.0), control("second", 1.0, 0.0, 0.5)]),
    run("loop-6-cfg", "turbo", "text", 6, [control("second")], guidance=3.0),
    run("image-4", "turbo", "image", 4, [control("first")], strength=0.5),
    run("adapter-2-cfg", "turbo", "text", 2, [control("adapter", 0.8)], guidance=6.0),
    run("xl-2-cfg", "sdxl", "text", 2, [control("xl", 0.9)], guidance=4.0),
    run("pooled-1", "turbo", "text", 1, [control("first")], pooled=True),
    run("pooled-2-cfg", "turbo", "text", 2, [control("second", 1.5)], guidance=6.0, pooled=True),
    run("xladapter-2", "sdxl", "text", 2, [control("xladapter", 0.8)]),
]

PIPELINES = {
    ("turbo", "text"): diffusers.StableDiffusionControlNetPipeline,
    ("turbo", "image"): diffusers.StableDiffusionControlNetImg2ImgPipeline,
    ("sdxl", "text"): diffusers.StableDiffusionXLControlNetPipeline,
    ("turbo", "adapter"): diffusers.StableDiffusionAdapterPipeline,
    ("sdxl", "adapter"): diffusers.StableDiffusionXLAdapterPipeline,
}


# ---------------------------------------------------------------- networks


def make_network(config, generator):
    net = diffusers.T2IAdapter(**config) if "channels" in config else diffusers.ControlNetModel(**config)
    checkpoints.randomise(net.eval(), generator)
    for name, p in net.named_parameters():
        if name.startswith("controlnet_cond_embedding"):  # so that the map shows
            p.data = torch.randn(p.shape, generator=generator) * (0.2 if p.ndim == 1 else 1.6 / p[0].numel() ** 0.5)
        if "cond_embedding.conv_out" in name or name.startswith("adapter"):
            p.data *= 0.1 if "block" not in name else 0.3
        if name.startswith(("controlnet_down", "controlnet_mid")):
            p.data *= 0.3
    return net


def save_network(net, folder):
    folder.mkdir(parents=True)
    net.save_config(folder)
    checkpoints.save_weights(net, folder, "diffusion_pytorch_model", torch.float16, None, 1)


def load_network(folder, pooled=False):
    adapter = json.loads((folder / "config.json").read_text())["_class_name"] == "T2IAdapter"
    network = (diffusers.T2IAdapter if adapter else diffusers.ControlNetModel).from_pretrained(folder).eval()
    if pooled:  # as the config of "shuffle" says
        network.register_to_config(global_pool_conditions=True)
    return network


# ---------------------------------------------------------------- the original key layout


def original_name(name, config):
    """What a tensor of diffusers' ControlNet is called in the original layout."""
    module, kind = name.rsplit(".", 1)
    hints = 2 * (len(config["conditioning_embedding_out_channels"]) - 1)
    if m := re.match(r"controlnet_down_blocks\.(\d+)$", module):
        return f"zero_convs.{m[1]}.0.{kind}"
    if module == "controlnet_mid_block":
        return f"middle_block_out.0.{kind}"
    if m := re.match(r"controlnet_cond_embedding\.(conv_in|conv_out|blocks\.(\d+))$", module):
        number = {"conv_in": 0, "conv_out": hints + 1}.get(m[1], None if m[2] is None else 1 + int(m[2]))
        return f"input_hint_block.{2 * number}.{kind}"
    return f"{original.unet_module(module, config)}.{kind}"


def adapter_name(name, _):
    m = re.match(r"adapter\.body\.(\d+)\.(?:resnets\.(\d+)\.)?(.*)", name)
    return f"body.{2 * int(m[1]) + int(m[2] or 0)}.{m[3]}" if m else name.removeprefix("adapter.")


def write_original(out):
    lines = []
    for network, prefix in (("second", "control_model."), ("adapter", "")):
        net, config = load_network(out / network), json.loads((out / network / "config.json").read_text())
        renamed = adapter_name if network == "adapter" else original_name
        lines += [[prefix + renamed(name, config), network, [name], ""] for name in net.state_dict()]
    packed.write_lines(lines, out / "original.json")


# ---------------------------------------------------------------- pictures


def arguments_of(run, image):
    arguments = dict(prompt=run["prompt"], negative_prompt=run.get("negative"), num_inference_steps=run["steps"],
                     guidance_scale=run.get("guidance", 1.0), output_type="np")
    picture, lists = checkpoints.as_tensor(image), len(run["controls"]) > 1
    of = lambda field: [c[field] for c in run["controls"]] if lists else run["controls"][0][field]
    if run["kind"] == "adapter":
        grey = json.loads((run["folder"] / run["controls"][0]["network"] / "config.json").read_text())["in_channels"] == 1
        # the channel that reverie takes of a map whose channels should be alike
        return arguments | dict(image=picture[:, :1] if grey else picture, adapter_conditioning_scale=of("weight"),
                                height=HEIGHT, width=WIDTH)
    arguments |= dict(controlnet_conditioning_scale=of("weight"), guess_mode=run.get("guess", False),
                      control_guidance_start=of("start"), control_guidance_end=of("end"))
    maps = [picture] * len(run["controls"]) if lists else picture
    if run["mode"] == "image":
        return arguments | dict(image=picture, control_image=maps, strength=run["strength"])
    return arguments | dict(image=maps, height=HEIGHT, width=WIDTH)


def run_pipeline(root, out, run, image, noise):
    folder = root / run["model"]
    index = json.loads((folder / "model_index.json").read_text())
    networks = [load_network(out / c["network"], run.get("pooled")) for c in run["controls"]]
    run["kind"] = "adapter" if isinstance(networks[0], diffusers.T2IAdapter) else run["mode"]
    run["folder"] = out
    settings = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    if run["model"] == "sdxl":
        settings = {k: v for k, v in index.items() if k.startswith("force_zeros")}
        settings |= {} if run["kind"] == "adapter" else {"add_watermarker": False}
    network = networks if len(networks) > 1 else networks[0]
    settings["adapter" if run["kind"] == "adapter" else "controlnet"] = network
    pipe = PIPELINES[run["model"], run["kind"]](**models.load(folder), **settings,
                                                scheduler=models.make_scheduler(folder))
    pipe.set_progress_bar_config(disable=True)
    noise.start(run["seed"])
    picture = np.rint(pipe(**arguments_of(run, image)).images[0] * 255).astype(np.uint8)
    del run["kind"], run["folder"]
    return picture


@torch.no_grad()
def make_pictures(root, out, noise):
    image = checkpoints.picture(HEIGHT, WIDTH, SEED)
    pictures = {run["name"]: run_pipeline(root, out, run, image, noise) for run in RUNS}
    models.check_runs(out.name, pictures)
    tensors = {f"run.{k}": torch.from_numpy(v).half().contiguous() for k, v in pictures.items()}
    tensors["input"] = torch.from_numpy(image).half()
    packed.save_tensors(tensors, out / "golden.safetensors")
    models.write_golden(out, {"height": HEIGHT, "width": WIDTH, "runs": RUNS})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", action="store_true")
    parser.add_argument("goldens", type=pathlib.Path)
    options = parser.parse_args()
    out = options.goldens / "controls"
    diffusers.utils.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        for name in DRAWN_IN:
            importlib.import_module(f"diffusers.pipelines.{name}").randn_tensor = noise.next
        if not options.runs:
            shutil.rmtree(out, ignore_errors=True)
            generator = torch.Generator().manual_seed(SEED)
            for name, (_, config) in NETWORKS.items():
                save_network(make_network(config, generator), out / name)
            write_original(out)
        make_pictures(options.goldens, out, noise)


if __name__ == "__main__":
    main()
