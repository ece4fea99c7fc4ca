"""Small random checkpoints in the diffusers layout, for models.py.

A random network would answer noise with noise, and the sampler's division by small numbers would leave nothing but
clipped pixels. So the last convolution of each network is fitted by least squares: the U-Net then denoises and the
autoencoder reconstructs, both badly, and pictures stay within range, where errors show.
"""
import json
import shutil

import diffusers
import numpy as np
import torch
import torch.nn.functional as F
import transformers
from diffusers.models.unets.unet_2d_blocks import AutoencoderTinyBlock
from safetensors.torch import save_file

PROMPTS = ["", "an oil painting", "a cat at night"]


# ---------------------------------------------------------------- pictures


def picture(height, width, seed):
    """A picture with flat areas, edges and a ramp, uint8 [height, width, 3]."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    image = np.stack([x / width, y / height, (x + y) / (width + height)], -1) * 160 + 40
    for _ in range(6):
        cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0.1, 0.3) * height
        image[(y - cy) ** 2 + (x - cx) ** 2 < r * r] = rng.uniform(0, 255, 3)
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def mask(height, width):
    """What is to be repainted of a picture: 255 in a disc and along an edge, uint8 [height, width]."""
    y, x = np.mgrid[0:height, 0:width]
    inside = ((y - 0.45 * height) ** 2 + (x - 0.6 * width) ** 2 < (0.27 * height) ** 2) | (x < 0.13 * width)
    return np.where(inside, 255, 0).astype(np.uint8)


def as_tensor(image):
    return torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255


# ---------------------------------------------------------------- random checkpoints


def byte_alphabet():
    """The printable characters that stand for the 256 bytes in CLIP's vocabulary."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {b: chr(b) for b in kept}
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + len(letters) - len(kept))
    return [letters[b] for b in kept] + [letters[b] for b in range(256) if b not in kept]


def write_tokenizer(folder, positions, pad):
    """A byte-pair vocabulary that knows the words of the prompts, and most others by their letters."""
    folder.mkdir(parents=True)
    vocabulary = byte_alphabet()
    vocabulary += [c + "</w>" for c in vocabulary]
    merges = []
    for word in " ".join(PROMPTS).split():
        symbols = [*word[:-1], word[-1] + "</w>"]
        while len(symbols) > 1:
            if tuple(symbols[:2]) not in merges:
                merges.append(tuple(symbols[:2]))
                vocabulary.append("".join(symbols[:2]))
            symbols = ["".join(symbols[:2]), *symbols[2:]]
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    ids = {token: i for i, token in enumerate(vocabulary)}
    assert len(ids) == len(vocabulary)
    (folder / "vocab.json").write_text(json.dumps(ids, ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    special = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": pad,
               "unk_token": "<|endoftext|>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CLIPTokenizer", "model_max_length": positions, **special}))
    return ids


# Layers whose output a norm reads, alone or in a sum. It is kept small, or the norm's epsilon would not show.
BEFORE_NORMS = ["conv_in", "conv1", "conv2", "conv_shortcut", "samplers.0.conv", "time_emb_proj", "proj_in", "proj_out",
                "to_out.0", "ff.net.2", "token_embedding", "position_embedding", "self_attn.out_proj", "mlp.fc2"]
SUMMED = ["conv_shortcut", "samplers.0.conv"]  # what these read is small already


def randomise(model, generator):
    """Weights of unit gain, norms and biases that are not the neutral ones."""
    for name, p in model.named_parameters():
        layer, kind = name.rsplit(".", 1)
        normal = torch.randn(p.shape, generator=generator)
        if "norm" in layer:
            p.data = 0.1 * normal + (1 if kind == "weight" else 0)
            continue
        p.data = 0.1 * normal if kind == "bias" else normal / p[0].numel() ** 0.5
        if layer.endswith(tuple(BEFORE_NORMS)) and not (kind == "weight" and layer.endswith(tuple(SUMMED))):
            p.data *= 0.02


def fit(conv, features, target):
    """The 3x3 convolution that maps features to target best, in the least-squares sense."""
    columns = F.unfold(features, 3, padding=1).transpose(1, 2).flatten(0, 1).double()
    columns = torch.cat([columns, torch.ones(len(columns), 1)], 1)
    rows = target.permute(0, 2, 3, 1).flatten(0, 2).double()
    gram = columns.T @ columns + 1e-3 * len(columns) * torch.eye(columns.shape[1])
    solution = torch.linalg.solve(gram, columns.T @ rows)
    conv.weight.data = solution[:-1].T.reshape(conv.weight.shape).float().contiguous()
    conv.bias.data = solution[-1].float()


def features_of(conv, run):
    """What conv reads while run() runs."""
    seen = []
    hook = conv.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    run()
    hook.remove()
    return torch.cat(seen)


def is_kl(vae):
    return isinstance(vae, diffusers.AutoencoderKL)


def in_range(vae, images):
    """Pictures in 0..1 as reverie hands them to the network: AutoencoderTiny's class maps them twice."""
    return images * 2 - 1 if is_kl(vae) else images


def own_latent(vae, pictures):
    """The autoencoder's own latent of such pictures: of a posterior its mean."""
    return vae.encode(pictures).latent_dist.mode() if is_kl(vae) else vae.encode(pictures * 2 - 1).latents


def decoded(vae, z):
    return vae.decode(z).sample if is_kl(vae) else vae.decode(z).sample / 2 + 0.5


def scaled_latent(vae, z):
    return (z - (vae.config.shift_factor or 0)) * vae.config.scaling_factor if is_kl(vae) else z


def fit_autoencoder(vae, images):
    """Latents of unit variance once they are scaled, and a decoder that inverts the encoder. Returns own latents."""
    kl, pictures = is_kl(vae), in_range(vae, images)
    last = (vae.quant_conv or vae.encoder.conv_out) if kl else vae.encoder.layers[-1]
    z = own_latent(vae, pictures)
    factor, shift = (vae.config.scaling_factor, vae.config.shift_factor or 0) if kl else (1, 0)
    last.weight.data /= z.std() * factor
    last.bias.data = (last.bias.data - z.mean()) / (z.std() * factor) + shift
    z = own_latent(vae, pictures)
    last = vae.decoder.conv_out if kl else vae.decoder.layers[-1]
    fit(last, features_of(last, lambda: vae.decode(z)), pictures)
    return z


def image_divisor(config):
    """InstructPix2Pix models see the latent that AutoencoderKL itself makes, which the sampler's, and a tiny
    autoencoder's, is 0.18215 times of; others say what theirs is divided by."""
    return config.get("_image_scaling_factor", 0.13025 if config.addition_embed_type else 0.18215)


def image_latent(unet, vae, own):
    """What the U-Net sees of the picture."""
    return own if is_kl(vae) else own / image_divisor(unet.config)


def widen(vae, factor):
    """Multiplies the stream of residuals, which the norms behind it take back: what FP16 cannot hold, but FP32 can."""
    for name, layer in vae.named_modules():
        if name.endswith(("conv_in", "conv2", "to_out.0")):
            layer.weight.data *= factor
        if name.endswith(("conv_in", "conv2", "to_out.0", "conv_shortcut", "samplers.0.conv")):
            layer.bias.data *= factor


def encode_tokens(parts, ids):
    """What the U-Net attends to of each text encoder, and the pooled text where there are two."""
    if "text_encoder_2" not in parts:
        return [parts["text_encoder"](ids[0]).last_hidden_state], None
    both = [parts[name](i, output_hidden_states=True) for name, i in zip(("text_encoder", "text_encoder_2"), ids)]
    return [text.hidden_states[-2] for text in both], both[1].text_embeds


def sizes_of(height, width):
    """What SDXL is told of a picture that was made at its size, and not cut."""
    return torch.tensor([[height, width, 0, 0, height, width]], dtype=torch.float32)


def added(pooled, sizes):
    """The U-Net's other arguments: SDXL's."""
    return {} if pooled is None else {"added_cond_kwargs": {"text_embeds": pooled, "time_ids": sizes.repeat(len(pooled), 1)}}


def fit_unet(unet, z, seen, text, pooled, sizes, scheduler, generator):
    """Fits conv_out to the scheduler's kind of prediction on latents z, of which the U-Net sees seen as the picture."""
    z, seen = z.repeat(4, 1, 1, 1), seen.repeat(4, 1, 1, 1)
    t = torch.randint(0, 1000, (len(z),), generator=generator)
    abar = torch.cumprod(1 - torch.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2, 0)[t].reshape(-1, 1, 1, 1)
    eps = torch.randn(z.shape, generator=generator)
    x = abar.sqrt() * z + (1 - abar).sqrt() * eps
    target = abar.sqrt() * eps - (1 - abar).sqrt() * z if scheduler["prediction_type"] == "v_prediction" else eps
    if unet.config.in_channels > 2 * z.shape[1]:
        hidden = torch.rand(len(z), 1, *z.shape[2:], generator=generator).round()
        x = torch.cat([x, hidden, z * (1 - hidden)], 1)
    elif unet.config.in_channels > z.shape[1]:
        x = torch.cat([x, seen], 1)
    w = torch.randn(len(z), unet.config.time_cond_proj_dim or 1, generator=generator)
    condition = w if unet.config.time_cond_proj_dim else None
    rows = torch.arange(len(z)) % len(text)
    more = added(None if pooled is None else pooled[rows], sizes)
    run = lambda: unet(x, t, text[rows], timestep_cond=condition, **more)
    fit(unet.conv_out, features_of(unet.conv_out, run), target)


def save_readable(tensors, path):
    save_file(tensors, path, {"format": "pt"})
    path.chmod(0o644)  # the library makes it the owner's alone


def save_weights(model, folder, basename, dtype, prefix, shards):
    state = {k: v.to(dtype).contiguous() for k, v in model.state_dict().items()}
    model.load_state_dict({k: v.float() for k, v in state.items()})
    if prefix is not None:  # of a text encoder's keys but its projection's
        bare = {k.removeprefix("text_model."): v for k, v in state.items()}
        state = {k if k.startswith("text_projection") else prefix + k: v for k, v in bare.items()}
    if shards == 1:
        save_readable(state, folder / f"{basename}.safetensors")
        return
    names, index = sorted(state), {}
    for i in range(shards):
        part = names[i * len(names) // shards : (i + 1) * len(names) // shards]
        file = f"{basename}-{i + 1:05}-of-{shards:05}.safetensors"
        save_readable({k: state[k] for k in part}, folder / file)
        index |= {k: file for k in part}
    sizes = sum(v.numel() * v.element_size() for v in state.values())
    (folder / f"{basename}.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": sizes}, "weight_map": index}))


def with_pool(forward):
    return lambda block, x: forward(block, x + block.pool(x) if hasattr(block, "pool") else x)


AutoencoderTinyBlock.forward = with_pool(AutoencoderTinyBlock.forward)


def add_pools(vae, layers):
    """The layers that taef2 has before the sums of some blocks, which diffusers' class leaves out."""
    for half, numbers in layers.items():
        for number in numbers:
            block = getattr(vae, half).layers[number]
            c = block.conv[0].in_channels
            block.pool = torch.nn.Sequential(torch.nn.Conv2d(c, 4 * c, 1, bias=False), torch.nn.GroupNorm(4, 4 * c),
                                             torch.nn.ReLU(), torch.nn.Conv2d(4 * c, c, 1, bias=False))


def make_autoencoder(config, pools=None):
    vae = (diffusers.AutoencoderKL if "down_block_types" in config else diffusers.AutoencoderTiny)(**config)
    add_pools(vae, pools or {})
    return vae


@torch.no_grad()
def make_checkpoint(folder, case):
    shutil.rmtree(folder, ignore_errors=True)
    generator = torch.Generator().manual_seed(case["seed"])
    ids = write_tokenizer(folder / "tokenizer", case["text"]["max_position_embeddings"], case.get("pad", "<|endoftext|>"))
    ends = {"bos_token_id": ids["<|startoftext|>"], "eos_token_id": ids["<|endoftext|>"]}
    text = transformers.CLIPTextModel(transformers.CLIPTextConfig(vocab_size=len(ids), **ends, **case["text"]))
    vae, unet = make_autoencoder(case["vae"], case.get("pools")), diffusers.UNet2DConditionModel(**case["unet"])
    unet.register_to_config(**case.get("unet_extra", {}))
    parts = {"unet": unet, "vae": vae, "text_encoder": text}
    if "text2" in case:
        write_tokenizer(folder / "tokenizer_2", case["text2"]["max_position_embeddings"], "!")
        config = transformers.CLIPTextConfig(**{"vocab_size": len(ids)} | ends | case["text2"])
        parts["text_encoder_2"] = transformers.CLIPTextModelWithProjection(config)
    for model in (text, vae, unet, *list(parts.values())[3:]):
        randomise(model.eval(), generator)

    height, width = case["height"], case["width"]
    images = torch.cat([as_tensor(picture(height, width, s)) for s in range(16)])
    own = fit_autoencoder(vae, images)
    z = scaled_latent(vae, own)
    tokens = torch.randint(0, len(ids), (4, case["text"]["max_position_embeddings"]), generator=generator)
    outs, pooled = encode_tokens(parts, [tokens] * (len(parts) - 2))
    fit_unet(unet, z, image_latent(unet, vae, own), torch.cat(outs, -1), pooled, sizes_of(height, width),
             case["scheduler"], generator)

    if "widened" in case:
        widen(vae, case["widened"])
    dtype = getattr(torch, case["dtype"])
    for name, model in parts.items():
        is_text = name.startswith("text_encoder")
        model.config.save_pretrained(folder / name) if is_text else model.save_config(folder / name)
        basename = "model" if is_text else "diffusion_pytorch_model"
        shards = case.get("shards", 1) if name == "unet" else 1
        if name == "unet" and case.get("unet_absent"):
            config = json.loads((folder / name / "config.json").read_text())
            left = {k: v for k, v in config.items() if k not in case["unet_absent"]}
            (folder / name / "config.json").write_text(json.dumps(left, indent=2))
        save_weights(model, folder / name, basename, dtype, case["prefix"] if is_text else None, shards)
    (folder / "scheduler").mkdir()
    (folder / "scheduler" / "scheduler_config.json").write_text(json.dumps(case["scheduler"], indent=1))
    index = {"_class_name": case["pipeline"], "unet": ["diffusers", "UNet2DConditionModel"],
             "vae": ["diffusers", type(vae).__name__], "text_encoder": ["transformers", "CLIPTextModel"],
             "tokenizer": ["transformers", "CLIPTokenizer"],
             "scheduler": ["diffusers", case["scheduler"]["_class_name"]], **case.get("index", {})}
    if "text2" in case:
        index |= {"text_encoder_2": ["transformers", "CLIPTextModelWithProjection"],
                  "tokenizer_2": ["transformers", "CLIPTokenizer"]}
    (folder / "model_index.json").write_text(json.dumps(index, indent=1))
