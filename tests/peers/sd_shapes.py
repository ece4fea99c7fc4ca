#!/usr/bin/env python3
"""The shapes of SD-Turbo, Stable Diffusion 1.5, 2.1 (v), LCM and SDXL-Turbo with seeded random weights: diffusers on
this GPU beside reverie's CUDA device, the same numbers in.

    sd_shapes.py GPU_FRAME WORK [--make] [--compile] [--lora RANK] [--controlnet N] [--json FILE] [--samplers SAMPLER,...]
                 [MODEL...]

GPU_FRAME is the program built from tests/gpu/gpu_frame.c; WORK is a folder for the checkpoints (2 GB each, SDXL 7), made as
WORK/MODEL-shapes; MODEL is turbo, sd15, sd21v, lcm or sdxl (default: the first two). Needs torch, diffusers,
transformers and a GPU. Prints a table for each model: each network's relative error against FP32, of diffusers in FP16
and of reverie; pictures after 1, 2, 4 and 20 steps at strength 0.5 likewise, as PSNR; the times of diffusers' frame as a
CUDA graph and of reverie's. Exits with 1 when reverie's error exceeds 1e-2 and twice that of diffusers, or its PSNR is
below 40 dB and 1 dB less than that of diffusers.

--make makes the checkpoints and does nothing else.

--controlnet does all this with ControlNets alone, as WORK/MODEL-controlnet-I: pictures after 1 and 4 steps with N of
them, whose map is the picture, and frames without any, with one and so on to N, each at the weight 1 and off.

--lora also merges a LoRA of random factors for all layers of U-Net and text encoder (sd_lora.py) and compares the
weights and the networks with those that peft merges; needs peft. --samplers (such as pndm,dpm++) also makes
the pictures with other samplers in the place of the checkpoint's: each is compared with FP32 by its own coefficients. --json also writes the rows for page.py. --compile
also times torch.compile, which takes about a minute. --tiny takes two levels of few channels and times nothing: it
tries the script itself, without a GPU, too.
"""
import argparse
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import diffusers
import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from clock import call_times
from rows import Rows

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CROSS, PLAIN, CROSS_UP, PLAIN_UP = "CrossAttnDownBlock2D", "DownBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"
UNET = {"sample_size": 64, "in_channels": 4, "out_channels": 4, "block_out_channels": [320, 640, 1280, 1280],
        "layers_per_block": 2, "down_block_types": [CROSS, CROSS, CROSS, PLAIN],
        "up_block_types": [PLAIN_UP, CROSS_UP, CROSS_UP, CROSS_UP], "norm_num_groups": 32}
TEXT = {"max_position_embeddings": 77}
MODELS = {
    "turbo": {"name": "SD-Turbo", "unet": UNET | {"attention_head_dim": [5, 10, 20, 20], "cross_attention_dim": 1024,
                              "use_linear_projection": True},
              "text": TEXT | {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
                              "num_hidden_layers": 23, "hidden_act": "gelu", "projection_dim": 512}},
    "sd15": {"name": "Stable Diffusion 1.5", "unet": UNET | {"attention_head_dim": 8, "cross_attention_dim": 768},
             "text": TEXT | {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                             "num_hidden_layers": 12, "hidden_act": "quick_gelu", "projection_dim": 768}},
    "sdxl": {"name": "SDXL-Turbo", "unet": UNET | {"block_out_channels": [320, 640, 1280], "down_block_types": [PLAIN, CROSS, CROSS],
                             "up_block_types": [CROSS_UP, CROSS_UP, PLAIN_UP], "attention_head_dim": [5, 10, 20],
                             "transformer_layers_per_block": [1, 2, 10], "cross_attention_dim": 2048,
                             "use_linear_projection": True, "addition_embed_type": "text_time",
                             "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816},
             "text": TEXT | {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                             "num_hidden_layers": 12, "hidden_act": "quick_gelu", "projection_dim": 768},
             "text2": TEXT | {"hidden_size": 1280, "intermediate_size": 5120, "num_attention_heads": 20,
                              "num_hidden_layers": 32, "hidden_act": "gelu", "projection_dim": 1280}},
}
SCHEDULER = {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon", "timestep_spacing": "trailing",
             "steps_offset": 1, "beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012,
             "num_train_timesteps": 1000, "interpolation_type": "linear"}
BETAS = {"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012, "num_train_timesteps": 1000,
         "steps_offset": 1, "clip_sample": False}
MODELS["sd21v"] = {"name": "Stable Diffusion 2.1 (v)",
                   "unet": MODELS["turbo"]["unet"] | {"sample_size": 96, "upcast_attention": True},
                   "text": MODELS["turbo"]["text"],
                   "scheduler": BETAS | {"_class_name": "DDIMScheduler", "prediction_type": "v_prediction",
                                         "set_alpha_to_one": False}}
MODELS["lcm"] = {"name": "LCM (guidance embedded)", "unet": MODELS["sd15"]["unet"] | {"time_cond_proj_dim": 256},
                 "text": MODELS["sd15"]["text"],
                 "scheduler": BETAS | {"_class_name": "LCMScheduler", "prediction_type": "epsilon",
                                       "set_alpha_to_one": True, "original_inference_steps": 50,
                                       "timestep_scaling": 10.0}}
STEPS = (1, 2, 4, 20)
GUIDANCE = 8.5  # gpu_frame's, for models that embed it
TIMESTEP, A, B = 499, 0.526944, 0.8499


def tiny(shapes):
    """The same with few channels and layers, at 64x64."""
    unet = shapes["unet"] | {"block_out_channels": [32, 64], "attention_head_dim": 8, "layers_per_block": 1,
                             "sample_size": 8, "norm_num_groups": 8, "down_block_types": [PLAIN, CROSS],
                             "up_block_types": [CROSS_UP, PLAIN_UP]}
    text = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
            "projection_dim": 32}
    small = shapes | {"unet": unet | {"cross_attention_dim": 32}, "text": shapes["text"] | text}
    if "text2" in shapes:
        small["text2"] = shapes["text2"] | text
        small["unet"] |= {"cross_attention_dim": 64, "transformer_layers_per_block": 1, "addition_time_embed_dim": 8,
                          "projection_class_embeddings_input_dim": 32 + 6 * 8}
    return small


def make(folder, shapes):
    """The checkpoint; returns its networks in FP32 on the GPU. The tokenizer knows single characters only."""
    torch.manual_seed(7)
    letters = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
    vocabulary = letters + [c + "</w>" for c in letters] + ["<|startoftext|>", "<|endoftext|>"]
    ends = {"bos_token_id": len(vocabulary) - 2, "eos_token_id": len(vocabulary) - 1}
    clip = lambda shape: transformers.CLIPTextConfig(vocab_size=len(vocabulary), **ends, **shape)
    with torch.device(DEVICE):
        parts = {"unet": diffusers.UNet2DConditionModel(**shapes["unet"]), "vae": diffusers.AutoencoderTiny(),
                 "text_encoder": transformers.CLIPTextModel(clip(shapes["text"]))}
        if "text2" in shapes:
            parts["text_encoder_2"] = transformers.CLIPTextModelWithProjection(clip(shapes["text2"]))
    for name, model in parts.items():
        model.half().float().eval().requires_grad_(False)  # FP32 sums of the FP16 weights that the file holds
        is_text = name.startswith("text_encoder")
        model.config.save_pretrained(folder / name) if is_text else model.save_config(folder / name)
        file = "model" if is_text else "diffusion_pytorch_model"
        save_file({k: v.half().contiguous() for k, v in model.state_dict().items()},
                  folder / name / f"{file}.safetensors", {"format": "pt"})
    tokenizer = folder / "tokenizer"
    tokenizer.mkdir(exist_ok=True)
    (tokenizer / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(vocabulary)}, ensure_ascii=False))
    (tokenizer / "merges.txt").write_text("#version: 0.2\n")
    special = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
               "unk_token": "<|endoftext|>"}
    (tokenizer / "special_tokens_map.json").write_text(json.dumps(special))
    (tokenizer / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CLIPTokenizer", "model_max_length": 77, **special}))
    if "text2" in shapes:
        shutil.copytree(tokenizer, folder / "tokenizer_2", dirs_exist_ok=True)
    (folder / "scheduler").mkdir(exist_ok=True)
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(shapes.get("scheduler", SCHEDULER)))
    index = {"_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"],
             "vae": ["diffusers", "AutoencoderTiny"], "text_encoder": ["transformers", "CLIPTextModel"],
             "tokenizer": ["transformers", "CLIPTokenizer"], "scheduler": ["diffusers", shapes.get("scheduler", SCHEDULER)["_class_name"]]}
    if "text2" in shapes:
        index |= {"_class_name": "StableDiffusionXLPipeline", "tokenizer_2": ["transformers", "CLIPTokenizer"],
                  "text_encoder_2": ["transformers", "CLIPTextModelWithProjection"]}
    (folder / "model_index.json").write_text(json.dumps(index))
    return parts, len(vocabulary)


def nhwc(t):
    return t.permute(0, 2, 3, 1).contiguous() if t.dim() == 4 else t


def write(path, t):
    nhwc(t).float().cpu().numpy().tofile(path)


def encode_text(parts, tokens):
    """What the text encoders say, by name."""
    if "text_encoder_2" not in parts:
        return {"text": parts["text_encoder"](tokens).last_hidden_state}
    one, two = (parts[name](tokens, output_hidden_states=True) for name in ("text_encoder", "text_encoder_2"))
    return {"text": one.hidden_states[-2], "text2": two.hidden_states[-2], "pooled": two.text_embeds}


def embed_guidance(unet, guidance=GUIDANCE):
    """As LatentConsistencyModelPipeline embeds it; None for U-Nets that take none."""
    if not unet.config.time_cond_proj_dim:
        return None
    embed = diffusers.LatentConsistencyModelPipeline.get_guidance_scale_embedding
    return embed(None, torch.tensor([guidance - 1.0]), unet.config.time_cond_proj_dim).to(DEVICE, unet.dtype)


def conditions(unet, text, size=None):
    """The U-Net's arguments for what the text encoders say."""
    text = {k: v.to(unet.dtype) for k, v in text.items()}
    more = {"timestep_cond": embed_guidance(unet)}
    if "text2" not in text:
        return {"encoder_hidden_states": text["text"]} | more
    size = size or 8 * unet.config.sample_size  # what SDXL is told of the picture
    sizes = torch.tensor([[size, size, 0, 0, size, size]], device=DEVICE, dtype=unet.dtype)
    return {"encoder_hidden_states": torch.cat([text["text"], text["text2"]], -1),
            "added_cond_kwargs": {"text_embeds": text["pooled"], "time_ids": sizes}} | more


def text_inputs(inputs):
    return {k: inputs[f"{k}.in"] for k in ("text", "text2", "pooled") if f"{k}.in" in inputs}


@torch.no_grad()
def run(parts, inputs):
    """Each network by itself."""
    dtype = parts["unet"].dtype
    x = inputs["unet.in"].to(dtype)
    decoded = parts["vae"].decode(inputs["decode.in"].to(dtype)).sample
    return {**encode_text(parts, inputs["tokens"]),
            "encode": parts["vae"].encode(inputs["encode.in"].to(dtype) * 2 - 1).latents,
            "unet": parts["unet"](x, TIMESTEP, **conditions(parts["unet"], text_inputs(inputs))).sample, "decode": decoded / 2 + 0.5}


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def call(*command, environment=None):
    """gpu_frame; without a GPU on the CPU."""
    environment = environment or os.environ
    subprocess.run(command, check=True, env=environment | ({} if DEVICE == "cuda" else {"DEVICE": DEVICE}))


def compare_outputs(exact, halves, work, title, table, rows):
    """Of networks: diffusers in FP32 and FP16, and what gpu_frame wrote."""
    failed = False
    for name, reference in exact.items():
        shape = nhwc(reference)
        ours = torch.from_numpy(np.fromfile(work / f"{name}.out.f32", np.float32)).reshape(shape.shape).to(DEVICE)
        theirs, error = relative(halves[name], reference), relative(ours, shape)
        good = error <= max(1e-2, 2 * theirs)
        failed |= not good
        rows.add(table, title, name, theirs, error)
        print(f"{name:10} {theirs:15.2e} {error:10.2e}   {'' if good else 'FAIL'}")
    return failed


def halved(parts):
    half = lambda m: [half(one) for one in m] if isinstance(m, list) else copy.deepcopy(m).half()
    return {k: half(m) for k, m in parts.items()}


def compare_networks(parts, inputs, program, model, work, title, rows):
    exact = run(parts, inputs)
    halves = run(halved(parts), inputs)
    call(program, model, "networks", work)
    print(f"{'network':10} {'diffusers FP16':>15} {'reverie':>10}   relative error against FP32")
    return compare_outputs(exact, halves, work, title, "networks", rows)


# ---------------------------------------------------------------- LoRA


def merged_by_peft(parts, lora, dtype):
    """U-Net and text encoder with all that the file adds at weight 1, summed up by peft in this type."""
    import peft
    out = {}
    for part, prefix in (("unet", "lora_unet_"), ("text_encoder", "lora_te_")):
        model, state, targets = copy.deepcopy(parts[part]).to(dtype), {}, []
        for name, layer in model.named_modules():
            key = prefix + name.replace(".", "_")
            if f"{key}.lora_down.weight" in lora:
                targets.append(name)
                state |= {f"{name}.lora_A.weight": lora[f"{key}.lora_down.weight"].to(DEVICE, dtype),
                          f"{name}.lora_B.weight": lora[f"{key}.lora_up.weight"].to(DEVICE, dtype)}
        rank = next(iter(state.values())).shape[0]  # and alpha is the rank in sd_lora.py's files
        config = peft.LoraConfig(r=rank, lora_alpha=rank, target_modules=targets)
        model = peft.inject_adapter_in_model(config, model)
        loaded = peft.set_peft_model_state_dict(model, state)
        assert not loaded.unexpected_keys, loaded.unexpected_keys
        for layer in list(model.modules()):
            if isinstance(layer, peft.tuners.lora.LoraLayer):
                layer.merge()
        out[part] = {n.replace(".base_layer", ""): v for n, v in model.state_dict().items() if "lora_" not in n}
    return out


def with_weights(parts, merged):
    """Copies of the parts with these weights."""
    out = {}
    for name, part in parts.items():
        out[name] = copy.deepcopy(part)
        if name in merged:
            out[name].load_state_dict(merged[name])
    return out


def changed_weights(merged, parts):
    """Names of the weights that are others than the parts' own. SDXL reads no text encoder's last layer."""
    layers = parts["text_encoder"].config.num_hidden_layers
    unread = f"encoder.layers.{layers - 1}." if "text_encoder_2" in parts else None
    return [(part, key) for part in merged for key, value in merged[part].items()
            if not torch.equal(value, parts[part].state_dict()[key]) and not (unread and part != "unet" and unread in key)]


def merge_errors(merged, changed, work):
    """Relative errors of gpu_frame's merged weights against peft's FP32 ones."""
    apart, offset, errors, missing = 8, 0, [], set(changed)
    data = np.fromfile(work / "merged.f32", np.float32)
    for line in (work / "merged.txt").read_text().splitlines():
        name, rows, row = line.split()
        part, _, key = name.partition("/")
        exact, count = merged[part][key], -(-int(rows) // apart) * int(row)
        exact = (exact.permute(0, 2, 3, 1) if exact.dim() == 4 else exact).reshape(int(rows), int(row))[::apart]
        ours = torch.from_numpy(data[offset:offset + count]).reshape(exact.shape).to(DEVICE)
        errors.append(relative(ours, exact))
        offset += count
        missing.remove((part, key))
    assert offset == data.size and not missing, f"not merged: {missing}"
    return errors


@torch.no_grad()
def compare_lora(parts, inputs, program, model, work, title, rank, rows):
    file = work / f"{model.name}-lora.safetensors"
    subprocess.run([sys.executable, pathlib.Path(__file__).parent / "sd_lora.py", model, file, str(rank)], check=True)
    lora = load_file(file)
    merged, half = (merged_by_peft(parts, lora, dtype) for dtype in (torch.float32, torch.float16))
    call(program, model, "networks", work, file)
    changed = changed_weights(merged, parts)
    errors = merge_errors(merged, changed, work)
    theirs = [relative(half[part][key], merged[part][key]) for part, key in changed]
    failed = max(errors) > 1e-3
    print(f"a LoRA of rank {rank} merged into {len(errors)} weights, relative error against FP32's, mean and worst: peft in "
          f"FP16 {np.mean(theirs):.2e} {max(theirs):.2e}, reverie {np.mean(errors):.2e} {max(errors):.2e} "
          f"{'FAIL' if failed else ''}")
    rows.add("merges", title, f"rank {rank}: weights, mean of {len(errors)}", float(np.mean(theirs)), float(np.mean(errors)))
    rows.add("merges", title, f"rank {rank}: the worst weight", max(theirs), max(errors))
    full, halves = with_weights(parts, merged), with_weights(halved(parts), half)
    keep = {"text", "unet"}
    exact, coarse = ({k: v for k, v in run(p, inputs).items() if k in keep} for p in (full, halves))
    rows_of = Rows()
    failed |= compare_outputs(exact, coarse, work, title, "merges", rows_of)
    for row in rows_of.rows:
        rows.rows.append(row | {"name": f"rank {rank}: {row['name']}'s output"})
    return failed


# ---------------------------------------------------------------- ControlNets

BODY = ("block_out_channels", "layers_per_block", "down_block_types", "norm_num_groups", "attention_head_dim",
        "cross_attention_dim", "use_linear_projection", "transformer_layers_per_block", "addition_embed_type",
        "addition_time_embed_dim", "projection_class_embeddings_input_dim")


def make_controlnets(work, name, shapes, count):
    """Networks whose additions show; FP32 sums of FP16 weights, as make()'s."""
    torch.manual_seed(11)
    config, nets, folders = {k: v for k, v in shapes["unet"].items() if k in BODY}, [], []
    for i in range(count):
        with torch.device(DEVICE):
            net = diffusers.ControlNetModel(**config)
        for key, p in net.named_parameters():
            if key.startswith(("controlnet_down", "controlnet_mid")) or "cond_embedding.conv_out" in key:
                p.data = torch.randn_like(p) * (0.3 / p[0].numel() ** 0.5 if p.ndim > 1 else 0.02)  # zeros as a rule
        net.half().float().eval().requires_grad_(False)
        folders.append(work / f"{name}-controlnet-{i + 1}")
        net.save_config(folders[-1])
        save_file({k: v.half().contiguous() for k, v in net.state_dict().items()},
                  folders[-1] / "diffusion_pytorch_model.safetensors", {"format": "pt"})
        nets.append(net)
    print(f"{count} ControlNets of {sum(p.numel() for p in nets[0].parameters()):,} parameters", flush=True)
    return nets, folders


def added_by(nets, hint, x, t, text):
    """The U-Net's arguments that are the networks' sums; weight 1."""
    down = mid = None
    own = {k: v for k, v in text.items() if k != "timestep_cond"}
    for net in nets:
        more, middle = net(x, t, controlnet_cond=hint, return_dict=False, **own)
        down = more if down is None else [a + b for a, b in zip(down, more)]
        mid = middle if mid is None else mid + middle
    return {} if mid is None else {"down_block_additional_residuals": down, "mid_block_additional_residual": mid}


def count_of(nets):
    return f"{nets} ControlNet{'s' if nets > 1 else ''}"


def compare_controlnets(parts, inputs, program, model, options, title, rows, name, shapes):
    nets, folders = make_controlnets(options.work, name, shapes, options.controlnet)
    environment = os.environ | {"CONTROLS": ",".join(map(str, folders))}
    of = f", {count_of(len(nets))}"
    failed = compare_pictures(parts | {"controls": nets}, inputs, program, model, options.work, title, rows, [], (1, 4),
                              environment, of)
    if options.tiny:
        return failed
    parts, nets = {k: m.half() for k, m in parts.items()}, [net.half() for net in nets]
    text, size = conditions(parts["unet"], text_inputs(inputs)), 8 * parts["unet"].config.sample_size
    print(f"{'ControlNets':12} {'diffusers':>10} {'reverie':>10} {'canny':>10} {'off':>10}   ms a frame, {size}x{size}")
    for count in range(len(nets) + 1):
        use = lambda **more: os.environ | {"CONTROLS": ",".join(map(str, folders[:count]))} | more
        theirs = time_frame(parts | {"controls": nets[:count]}, text, False, size)
        ways = ({}, {"MAP": "canny"}, {"WEIGHT": "0"}) if count else ({},)
        mine = [reverie_time(program, model, size, use(**more)) for more in ways]
        mine += mine[:1] * (3 - len(mine))
        if count:
            rows.add("times", title, f"{size}x{size}, 1 step, {count_of(count)}", theirs, mine[1])
        print(f"{count:<12} {theirs:10.3f} {mine[0]:10.3f} {mine[1]:10.3f} {mine[2]:10.3f}", flush=True)
    return failed


# ---------------------------------------------------------------- pictures


def see(encoder, pixels):
    """What IP-Adapters read of an image encoder: the picture's embedding, or its tokens as they come to the last layer."""
    said = encoder(pixels.to(encoder.dtype), output_hidden_states=True)
    return {"embedding": said.image_embeds, "tokens": said.hidden_states[-2]}


def style_of(parts, inputs):
    """The U-Net's argument that is a style picture's; none without an image encoder."""
    if "encoder" not in parts:
        return {}
    layer = parts["unet"].encoder_hid_proj.image_projection_layers[0]
    linear = isinstance(layer, diffusers.models.embeddings.ImageProjection)
    said = see(parts["encoder"], inputs["vision"])["embedding" if linear else "tokens"]
    return {"added_cond_kwargs": {"image_embeds": [said[:, None]]}}


@torch.no_grad()
def picture(parts, inputs, steps):
    """The whole way by the coefficients that reverie's sampler wrote down; uint8, height x width x 3."""
    dtype = parts["unet"].dtype
    start, *rest = [[float(v) for v in line.split()] for line in steps.splitlines()]
    text = conditions(parts["unet"], encode_text(parts, inputs["tokens"])) | style_of(parts, inputs)
    z = parts["vae"].encode(inputs["picture"].to(dtype) * 2 - 1).latents
    x = start[0] * z.float() + start[1] * inputs["noise"]
    earlier = []
    for i, (t, keep, add, fresh, keep_x, keep_model, *back) in enumerate(rest):
        more = added_by(parts.get("controls", []), inputs["picture"].to(dtype), x.to(dtype), int(t), text)
        model = parts["unet"](x.to(dtype), int(t), **text, **more).sample.float()
        before, x = x, keep * x + add * model
        x = x + sum(factor * known for factor, known in zip(back, earlier))
        if fresh:
            x = x + fresh * inputs["noises"][i]
        if keep_x or keep_model:
            earlier = [keep_x * before + keep_model * model, *earlier][:len(back)]
    out = parts["vae"].decode(x.to(dtype)).sample / 2 + 0.5
    return (out[0].float().clamp(0, 1) * 255).round().permute(1, 2, 0).cpu().numpy()


def psnr(a, b):
    return 10 * np.log10(255**2 / max(np.mean((a.astype(float) - b.astype(float)) ** 2), 1e-9))


def compare_pictures(parts, inputs, program, model, work, title, rows, samplers, counts=STEPS, environment=None, what=""):
    """what: of the pictures, behind the number of steps."""
    failed = False
    print(f"{'steps':10} {'diffusers FP16':>15} {'reverie':>10}   dB against FP32")
    halves = halved(parts)
    runs = [(count, None) for count in counts] + [(count, sampler) for sampler in samplers for count in counts]
    for count, sampler in runs:
        call(program, model, "picture", work, str(count), *[sampler] * bool(sampler), environment=environment)
        steps = (work / "steps.txt").read_text()
        exact = picture(parts, inputs, steps)
        ours = np.fromfile(work / "picture.out.rgba", np.uint8).reshape(*exact.shape[:2], 4)[..., :3]
        theirs, mine = psnr(picture(halves, inputs, steps), exact), psnr(ours, exact)
        good = mine >= min(40, theirs - 1)
        failed |= not good
        name = f"{count} {sampler}" if sampler else count
        rows.add("pictures", title, f"{name}{what}", theirs, mine)
        print(f"{name:<12} {theirs:15.1f} {mine:10.1f}   {'' if good else 'FAIL'}")
    return failed


def make_inputs(shapes, vocabulary, work):
    torch.manual_seed(8)
    half = lambda *shape: torch.randn(*shape, device=DEVICE).half().float()  # what FP16 programs can be given exactly
    side = shapes["unet"]["sample_size"]
    size = 8 * side
    pixels = torch.rand(16, 16, 3).permute(2, 0, 1)[None]
    pixels = torch.nn.functional.interpolate(pixels, (size, size), mode="bicubic").clamp(0, 1).mul(255).round()
    inputs = {"encode.in": torch.rand(1, 3, size, size, device=DEVICE).half().float(), "decode.in": half(1, 4, side, side),
              "unet.in": half(1, 4, side, side), "text.in": half(1, 77, shapes["text"]["hidden_size"]),
              "noise": half(1, 4, side, side), "picture": pixels.to(DEVICE) / 255,
              "tokens": torch.randint(0, vocabulary, (1, 77), device=DEVICE)}
    if "text2" in shapes:
        inputs |= {"text2.in": half(1, 77, shapes["text2"]["hidden_size"]),
                   "pooled.in": half(1, shapes["text2"]["projection_dim"])}
    inputs["noises"] = half(max(STEPS), 4, side, side)
    for name in inputs.keys() - {"picture", "tokens"}:
        write(work / f"{name}.f32", inputs[name])
    inputs["tokens"].int().cpu().numpy().tofile(work / "tokens.i32")
    rgba = torch.cat([pixels, torch.full_like(pixels[:, :1], 255)], 1)
    nhwc(rgba).to(torch.uint8).numpy().tofile(work / "picture.in.rgba")
    return inputs


@torch.no_grad()
def time_frame(parts, text, compile_it, size=512):
    """uint8 picture on the device to uint8 picture on the device, one step, as one CUDA graph; median milliseconds."""
    unet, vae = parts["unet"].to(memory_format=torch.channels_last), parts["vae"].to(memory_format=torch.channels_last)
    nets = [net.to(memory_format=torch.channels_last) for net in parts.get("controls", [])]
    noise = torch.randn(1, 4, size // 8, size // 8, device="cuda").half().to(memory_format=torch.channels_last)
    picture = torch.randint(0, 256, (1, size, size, 3), device="cuda", dtype=torch.uint8)
    timestep = torch.tensor(TIMESTEP, device="cuda")

    def frame(image):
        z = vae.encode(image.permute(0, 3, 1, 2).half() / 127.5 - 1).latents
        x = A * z + B * noise
        more = added_by(nets, image.permute(0, 3, 1, 2).half() / 255, x, timestep, text)
        x0 = (x - B * unet(x, timestep, **text, **more).sample) / A
        out = vae.decode(x0).sample
        return ((out / 2 + 0.5).clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous()

    torch.backends.cudnn.benchmark = True
    if compile_it:
        frame = torch.compile(frame, mode="reduce-overhead", fullgraph=True)
        call = lambda: frame(picture)
        for _ in range(4):
            call()
    else:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                frame(picture)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            frame(picture)
        call = graph.replay
    return float(np.median(call_times(call, 100)))


def reverie_time(program, model, size, environment=None):
    """Median milliseconds, device planes to device picture, one step."""
    done = subprocess.run([program, model, "time", "100", str(size), str(size)], check=True, capture_output=True, text=True,
                          env=environment)
    return float(re.search(r"device planes to device picture +median +([0-9.]+)", done.stdout)[1])


def compare_times(parts, inputs, program, model, title, options, rows):
    parts = {k: m.half() for k, m in parts.items()}
    native = 8 * parts["unet"].config.sample_size
    for size in (native, 1024) if "text_encoder_2" in parts else (native,):
        text = conditions(parts["unet"], text_inputs(inputs), size)
        theirs, mine = time_frame(parts, text, False, size), reverie_time(program, model, size)
        rows.add("times", title, f"{size}x{size}, 1 step", theirs, mine)
        print(f"{size}x{size}: PyTorch {torch.__version__}, CUDA graph of eager: {theirs:.3f} ms a frame, reverie {mine:.3f}",
              flush=True)
    if options.compile:
        text = conditions(parts["unet"], text_inputs(inputs))
        print(f"PyTorch {torch.__version__}, torch.compile: {time_frame(parts, text, True, native):.3f} ms a frame")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=["turbo", "sd15"], metavar="MODEL")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--lora", type=int, metavar="RANK")
    parser.add_argument("--controlnet", type=int, metavar="N")
    parser.add_argument("--samplers", default=[], type=lambda names: names.split(","), metavar="SAMPLER,...")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_intermixed_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    failed, rows = False, Rows()
    for name in options.models:
        print(f"--- {name}'s shapes, random weights", flush=True)
        shapes, model = tiny(MODELS[name]) if options.tiny else MODELS[name], options.work / f"{name}-shapes"
        title = shapes["name"]
        parts, vocabulary = make(model, shapes)
        if options.make:
            continue
        inputs = make_inputs(shapes, vocabulary, options.work)
        if options.controlnet:
            failed |= compare_controlnets(parts, inputs, options.program, model, options, title, rows, name, shapes)
            rows.write(options.json)
            continue
        failed |= compare_networks(parts, inputs, options.program, model, options.work, title, rows)
        failed |= compare_pictures(parts, inputs, options.program, model, options.work, title, rows, options.samplers)
        if options.lora:
            failed |= compare_lora(parts, inputs, options.program, model, options.work, title, options.lora, rows)
        if not options.tiny:
            compare_times(parts, inputs, options.program, model, title, options, rows)
        rows.write(options.json)
    sys.exit(failed)


if __name__ == "__main__":
    main()
