#!/usr/bin/env python3
"""The shapes of SD-Turbo, Stable Diffusion 1.5 and SDXL-Turbo with seeded random weights: diffusers on this GPU beside
reverie's CUDA device, the same numbers in.

    sd_shapes.py GPU_FRAME WORK [--compile] [MODEL...]

GPU_FRAME is the program built from tests/gpu_frame.c; WORK is a folder for the checkpoints (2 GB each, SDXL 7), made as
WORK/MODEL-shapes; MODEL is turbo, sd15 or sdxl (default: the first two). Needs torch, diffusers, transformers and a GPU. Prints a table
for each model: each network's relative error against FP32, of diffusers in FP16 and of reverie; pictures after 1, 2 and
4 steps at strength 0.5 likewise, as PSNR; the time of diffusers' frame as a CUDA graph. Exits with 1 when reverie's
error exceeds 1e-2 and twice that of diffusers, or its PSNR is below 40 dB and 1 dB less than that of diffusers.

--compile also times torch.compile, which takes about a minute.
"""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys

import diffusers
import numpy as np
import torch
import transformers
from safetensors.torch import save_file

CROSS, PLAIN, CROSS_UP, PLAIN_UP = "CrossAttnDownBlock2D", "DownBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"
UNET = {"sample_size": 64, "in_channels": 4, "out_channels": 4, "block_out_channels": [320, 640, 1280, 1280],
        "layers_per_block": 2, "down_block_types": [CROSS, CROSS, CROSS, PLAIN],
        "up_block_types": [PLAIN_UP, CROSS_UP, CROSS_UP, CROSS_UP], "norm_num_groups": 32}
TEXT = {"max_position_embeddings": 77}
MODELS = {
    "turbo": {"unet": UNET | {"attention_head_dim": [5, 10, 20, 20], "cross_attention_dim": 1024,
                              "use_linear_projection": True},
              "text": TEXT | {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
                              "num_hidden_layers": 23, "hidden_act": "gelu", "projection_dim": 512}},
    "sd15": {"unet": UNET | {"attention_head_dim": 8, "cross_attention_dim": 768},
             "text": TEXT | {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                             "num_hidden_layers": 12, "hidden_act": "quick_gelu", "projection_dim": 768}},
    "sdxl": {"unet": UNET | {"block_out_channels": [320, 640, 1280], "down_block_types": [PLAIN, CROSS, CROSS],
                             "up_block_types": [CROSS_UP, CROSS_UP, PLAIN_UP], "attention_head_dim": [5, 10, 20],
                             "transformer_layers_per_block": [1, 2, 10], "cross_attention_dim": 2048,
                             "use_linear_projection": True, "addition_embed_type": "text_time",
                             "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816},
             "text": TEXT | {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                             "num_hidden_layers": 12, "hidden_act": "quick_gelu", "projection_dim": 768},
             "text2": TEXT | {"hidden_size": 1280, "intermediate_size": 5120, "num_attention_heads": 20,
                              "num_hidden_layers": 32, "hidden_act": "gelu", "projection_dim": 1280}},
}
SIZES = [[512, 512, 0, 0, 512, 512]]  # what SDXL is told of the picture
SCHEDULER = {"_class_name": "EulerDiscreteScheduler", "prediction_type": "epsilon", "timestep_spacing": "trailing",
             "steps_offset": 1, "beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012,
             "num_train_timesteps": 1000, "interpolation_type": "linear"}
TIMESTEP, A, B = 499, 0.526944, 0.8499


def make(folder, shapes):
    """The checkpoint; returns its networks in FP32 on the GPU. The tokenizer knows single characters only."""
    torch.manual_seed(7)
    letters = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
    vocabulary = letters + [c + "</w>" for c in letters] + ["<|startoftext|>", "<|endoftext|>"]
    ends = {"bos_token_id": len(vocabulary) - 2, "eos_token_id": len(vocabulary) - 1}
    clip = lambda shape: transformers.CLIPTextConfig(vocab_size=len(vocabulary), **ends, **shape)
    with torch.device("cuda"):
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
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(SCHEDULER))
    index = {"_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"],
             "vae": ["diffusers", "AutoencoderTiny"], "text_encoder": ["transformers", "CLIPTextModel"],
             "tokenizer": ["transformers", "CLIPTokenizer"], "scheduler": ["diffusers", "EulerDiscreteScheduler"]}
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


def conditions(text, dtype, sizes=SIZES):
    """The U-Net's arguments for it."""
    text = {k: v.to(dtype) for k, v in text.items()}
    if "text2" not in text:
        return {"encoder_hidden_states": text["text"]}
    return {"encoder_hidden_states": torch.cat([text["text"], text["text2"]], -1),
            "added_cond_kwargs": {"text_embeds": text["pooled"], "time_ids": torch.tensor(sizes, device="cuda", dtype=dtype)}}


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
            "unet": parts["unet"](x, TIMESTEP, **conditions(text_inputs(inputs), dtype)).sample, "decode": decoded / 2 + 0.5}


def relative(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def compare_networks(parts, inputs, program, model, work):
    exact = run(parts, inputs)
    halves = run({k: copy.deepcopy(m).half() for k, m in parts.items()}, inputs)
    subprocess.run([program, model, "networks", work], check=True)
    failed = False
    print(f"{'network':10} {'diffusers FP16':>15} {'reverie':>10}   relative error against FP32")
    for name, reference in exact.items():
        shape = nhwc(reference)
        ours = torch.from_numpy(np.fromfile(work / f"{name}.out.f32", np.float32)).reshape(shape.shape).cuda()
        theirs, error = relative(halves[name], reference), relative(ours, shape)
        good = error <= max(1e-2, 2 * theirs)
        failed |= not good
        print(f"{name:10} {theirs:15.2e} {error:10.2e}   {'' if good else 'FAIL'}")
    return failed


@torch.no_grad()
def picture(parts, inputs, steps):
    """The whole way by the coefficients that reverie's sampler wrote down; uint8, height x width x 3."""
    dtype = parts["unet"].dtype
    start, *rest = [[float(v) for v in line.split()] for line in steps.splitlines()]
    text = conditions(encode_text(parts, inputs["tokens"]), dtype)
    z = parts["vae"].encode(inputs["picture"].to(dtype) * 2 - 1).latents
    x = start[0] * z.float() + start[1] * inputs["noise"]
    for t, keep, add in rest:
        x = keep * x + add * parts["unet"](x.to(dtype), int(t), **text).sample.float()
    out = parts["vae"].decode(x.to(dtype)).sample / 2 + 0.5
    return (out[0].float().clamp(0, 1) * 255).round().permute(1, 2, 0).cpu().numpy()


def psnr(a, b):
    return 10 * np.log10(255**2 / max(np.mean((a.astype(float) - b.astype(float)) ** 2), 1e-9))


def compare_pictures(parts, inputs, program, model, work):
    failed = False
    print(f"{'steps':10} {'diffusers FP16':>15} {'reverie':>10}   dB against FP32")
    halves = {k: copy.deepcopy(m).half() for k, m in parts.items()}
    for count in (1, 2, 4):
        subprocess.run([program, model, "picture", work, str(count)], check=True)
        steps = (work / "steps.txt").read_text()
        exact = picture(parts, inputs, steps)
        ours = np.fromfile(work / "picture.out.rgba", np.uint8).reshape(*exact.shape[:2], 4)[..., :3]
        theirs, mine = psnr(picture(halves, inputs, steps), exact), psnr(ours, exact)
        good = mine >= min(40, theirs - 1)
        failed |= not good
        print(f"{count:<10} {theirs:15.1f} {mine:10.1f}   {'' if good else 'FAIL'}")
    return failed


def make_inputs(shapes, vocabulary, work):
    torch.manual_seed(8)
    half = lambda *shape: torch.randn(*shape, device="cuda").half().float()  # what FP16 programs can be given exactly
    pixels = torch.rand(16, 16, 3).permute(2, 0, 1)[None]
    pixels = torch.nn.functional.interpolate(pixels, (512, 512), mode="bicubic").clamp(0, 1).mul(255).round()
    inputs = {"encode.in": torch.rand(1, 3, 512, 512, device="cuda").half().float(), "decode.in": half(1, 4, 64, 64),
              "unet.in": half(1, 4, 64, 64), "text.in": half(1, 77, shapes["text"]["hidden_size"]),
              "noise": half(1, 4, 64, 64), "picture": pixels.cuda() / 255,
              "tokens": torch.randint(0, vocabulary, (1, 77), device="cuda")}
    if "text2" in shapes:
        inputs |= {"text2.in": half(1, 77, shapes["text2"]["hidden_size"]),
                   "pooled.in": half(1, shapes["text2"]["projection_dim"])}
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
    noise = torch.randn(1, 4, size // 8, size // 8, device="cuda").half().to(memory_format=torch.channels_last)
    picture = torch.randint(0, 256, (1, size, size, 3), device="cuda", dtype=torch.uint8)
    timestep = torch.tensor(TIMESTEP, device="cuda")

    def frame(image):
        z = vae.encode(image.permute(0, 3, 1, 2).half() / 127.5 - 1).latents
        x = A * z + B * noise
        x0 = (x - B * unet(x, timestep, **text).sample) / A
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
    times = []
    for _ in range(100):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return float(np.median(times))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("models", nargs="*", default=["turbo", "sd15"], metavar="MODEL")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    failed = False
    for name in options.models:
        print(f"--- {name}'s shapes, random weights", flush=True)
        shapes, model = MODELS[name], options.work / f"{name}-shapes"
        parts, vocabulary = make(model, shapes)
        inputs = make_inputs(shapes, vocabulary, options.work)
        failed |= compare_networks(parts, inputs, options.program, model, options.work)
        failed |= compare_pictures(parts, inputs, options.program, model, options.work)
        parts = {k: m.half() for k, m in parts.items()}
        text = conditions(text_inputs(inputs), torch.float16)
        print(f"PyTorch {torch.__version__}, CUDA graph of eager: {time_frame(parts, text, False):.3f} ms a frame")
        if "text2" in shapes:
            text = conditions(text_inputs(inputs), torch.float16, [[1024, 1024, 0, 0, 1024, 1024]])
            print(f"the same at 1024x1024: {time_frame(parts, text, False, 1024):.3f} ms a frame", flush=True)
        if options.compile:
            print(f"PyTorch {torch.__version__}, torch.compile: {time_frame(parts, text, True):.3f} ms a frame")
    sys.exit(failed)


if __name__ == "__main__":
    main()
