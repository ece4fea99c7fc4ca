#!/usr/bin/env python3
"""Makes the goldens that tests/test_adapter_files.c and test_adapters.c compare with: small random adapters of every
kind and key style for the random checkpoint sd15, and what diffusers, peft or LyCORIS make of the checkpoint's weights
with them.

    adapters.py tests/data/goldens

Files, each for a few modules:
    kohya, original, old, ...     the same LoRA in six key styles; diffusers merges the first, with a weight of 0.7
    metadata                      PEFT's keys with alphas and ranks in the header, by diffusers
    dora/, peft-loha/, peft-lokr/ saved by peft: adapter_model.safetensors and adapter_config.json, merged by peft
    locon, tucker, loha, ...      LyCORIS
golden.safetensors.gz holds a sample of each merged weight, and a picture of diffusers' pipeline with all of them.

Needs torch, diffusers, transformers, peft, lycoris_lora. Run from the root of the source tree, after models.py.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import diffusers
import numpy as np
import peft
import torch
import transformers
from lycoris.modules.full import FullModule
from lycoris.modules.locon import LoConModule
from lycoris.modules.loha import LohaModule
from lycoris.modules.lokr import LokrModule
from lycoris.modules.norms import NormModule
from safetensors.torch import save_file

import checkpoints
import models
import packed

MODEL = "sd15"
RUN = {"name": "text-1", "mode": "text", "prompt": "an oil painting", "steps": 2, "seed": 5}
SAMPLES = 96  # of each weight

DOWN = "down_blocks.0.attentions.0"
UNET = ["conv_in", "time_embedding.linear_1", "down_blocks.0.resnets.0.conv1", "down_blocks.0.resnets.0.time_emb_proj",
        "down_blocks.0.downsamplers.0.conv", "down_blocks.1.resnets.0.conv_shortcut", f"{DOWN}.proj_in",
        f"{DOWN}.transformer_blocks.0.attn1.to_q", f"{DOWN}.transformer_blocks.0.attn1.to_out.0",
        f"{DOWN}.transformer_blocks.0.attn2.to_k", f"{DOWN}.transformer_blocks.0.attn2.to_v",
        f"{DOWN}.transformer_blocks.0.ff.net.0.proj", "mid_block.attentions.0.transformer_blocks.0.ff.net.2",
        "up_blocks.1.attentions.1.transformer_blocks.0.attn1.to_v", "up_blocks.0.upsamplers.0.conv"]
TEXT = ["encoder.layers.0.self_attn.q_proj", "encoder.layers.1.self_attn.out_proj", "encoder.layers.1.mlp.fc1"]
LINEAR = [f"{DOWN}.transformer_blocks.0.attn1.to_q", f"{DOWN}.transformer_blocks.0.attn1.to_out.0",
          "mid_block.attentions.0.transformer_blocks.0.attn2.to_v"]
generator = torch.Generator().manual_seed(77)


def normal(*shape, scale=1.0):
    return scale * torch.randn(*shape, generator=generator)


class Model:
    """The checkpoint's networks; text modules are found with or without "text_model."."""

    def __init__(self, folder):
        self.parts = models.load(folder)
        self.unet, self.text = self.parts["unet"], self.parts["text_encoder"]
        self.names = {f"unet/{k}.weight": m for k, m in self.unet.named_modules()}
        self.names |= {f"text_encoder/text_model.{k.removeprefix('text_model.')}.weight": m
                       for k, m in self.text.named_modules()}

    def module(self, name, text=False):
        return self.names[f"text_encoder/text_model.{name}.weight" if text else f"unet/{name}.weight"]


def flat(name):
    return name.replace(".", "_")


def save(tensors, path, metadata=None):
    save_file({k: v.detach().contiguous().clone() for k, v in tensors.items()}, path, {"format": "pt", **(metadata or {})})
    path.chmod(0o644)


# ---------------------------------------------------------------- one LoRA, several key styles


def pair(module, rank):
    """Factors whose product is much larger than the weight: these layers count little."""
    w = module.weight
    down = normal(rank, *w.shape[1:])
    up = normal(w.shape[0], rank, *[1] * (w.dim() - 2))
    size = (up.flatten(1) @ down.flatten(1)).std()
    return down, up * 12 * w.std() / size


def make_styles(folder, model):
    kohya, original, old, new, bare, plain = {}, {}, {}, {}, {}, {}
    for i, (name, text) in enumerate([(n, False) for n in LINEAR] + [(n, True) for n in TEXT[:2]]):
        down, up = (t.half() for t in pair(model.module(name, text), 2 + i % 3))
        path = f"text_model.{name}" if text else name
        kohya_name = ("lora_te_" if text else "lora_unet_") + flat(path)
        kohya |= {f"{kohya_name}.lora_down.weight": down, f"{kohya_name}.lora_up.weight": up,
                  f"{kohya_name}.alpha": torch.tensor(1.5).half()}
        for theirs, ours in (("input_blocks_1_1", "down_blocks_0_attentions_0"), ("middle_block_1", "mid_block_attentions_0")):
            original |= {k.replace(ours, theirs): v for k, v in kohya.items() if ours in k or "_te_" in k}
        up = up.float() * 1.5 / len(down)  # the others have no alpha
        part = "text_encoder." if text else "unet."
        ends = {"q_proj": "to_q_lora", "out_proj": "to_out_lora", "to_q": "processor.to_q_lora", "to_v": "processor.to_v_lora",
                "to_out.0": "processor.to_out_lora"}
        end = next(e for e in ends if path.endswith("." + e))
        old |= {f"{part}{path.removesuffix(end)}{ends[end]}.{k}.weight": v for k, v in (("down", down.float()), ("up", up))}
        kind = "lora_linear_layer" if text else "lora"
        new |= {f"{part}{path}.{kind}.{k}.weight": v for k, v in (("down", down.float()), ("up", up))}
        plain |= {f"{part}{path}.lora_{k}.weight": v for k, v in (("A", down.float()), ("B", up))}
        bare |= {f"base_model.model.{path}.lora_{k}.default.weight": v for k, v in (("A", down.float()), ("B", up))}
    for name, tensors in {"kohya": kohya, "original": original, "old": old, "new": new, "plain": plain, "bare": bare}.items():
        save(tensors, folder / f"{name}.safetensors")


def load_with_diffusers(model, path, weight):
    """diffusers' own loading and fusing, of a copy."""
    pipe = diffusers.StableDiffusionPipeline(**model.parts, scheduler=None, safety_checker=None, feature_extractor=None,
                                             requires_safety_checker=False)
    pipe.load_lora_weights(str(path.parent), weight_name=path.name)
    pipe.fuse_lora(lora_scale=weight)
    pipe.unload_lora_weights()


def make_metadata(folder, model):
    """Ranks and alphas by name, rank-stabilised: what diffusers writes into the header."""
    names, ranks = LINEAR + [f"{DOWN}.proj_in", "down_blocks.0.resnets.0.conv1"], {}
    tensors = {}
    for i, name in enumerate(names):
        down, up = pair(model.module(name), 4 if i == 1 else 2)
        tensors |= {f"unet.{name}.lora_A.weight": down, f"unet.{name}.lora_B.weight": up}
    config = {"unet.r": 2, "unet.lora_alpha": 3, "unet.rank_pattern": {LINEAR[1]: 4}, "unet.use_rslora": True,
              "unet.alpha_pattern": {"attn1.to_q": 1.25, names[4]: 2}, "unet.target_modules": names,
              "unet.peft_type": "LORA"}
    save(tensors, folder / "metadata.safetensors", {"lora_adapter_metadata": json.dumps(config)})


# ---------------------------------------------------------------- peft


def randomise(adapted):
    for name, p in adapted.named_parameters():
        if p.requires_grad:
            p.data = p.data * (1 + 0.2 * normal(*p.shape)) if "magnitude" in name else normal(*p.shape, scale=0.3)


def make_peft(folder, name, model, config):
    adapted = peft.get_peft_model(model.unet, config)
    randomise(adapted)
    adapted.save_pretrained(folder / name)
    for file in (folder / name).iterdir():
        if file.name == "README.md":
            file.unlink()
        else:
            file.chmod(0o644)
    adapted.merge_and_unload()


# ---------------------------------------------------------------- LyCORIS


def merged(adapter, weight):
    """What LyCORIS computes with; its own merging of LoHa and LoKr applies the scale twice."""
    if isinstance(adapter, (LohaModule, LokrModule)):
        new = weight + adapter.get_weight(weight.shape)
        return (adapter.apply_weight_decompose(new) if adapter.wd else new), None
    return adapter.get_merged_weight(1.0, shape=weight.shape)


def make_lycoris(folder, name, model, targets, make):
    """make(name, module) -> a LyCORIS module, which is filled with random numbers."""
    tensors = {}
    for target, text in targets:
        module = model.module(target, text)
        path = flat(f"text_model.{target}" if text else target)
        key = ("lora_te_" if text else "lora_unet_") + path
        adapter = make(key, module)
        for k, p in adapter.named_parameters():
            if k == "dora_scale":
                p.data = p.data * (1 + 0.2 * normal(*p.shape))
            else:
                p.data = normal(*p.shape, scale=0.1 if p.dim() == 1 else 0.7 if name.startswith("lokr") else 0.3)
        weight, bias = merged(adapter, module.weight)
        size = (weight - module.weight).std()
        renamed = {"weight": "diff", "bias": "diff_b"} if isinstance(adapter, FullModule) else {}
        kept = isinstance(adapter, (FullModule, NormModule))
        state = dict(adapter.named_parameters()) if kept else adapter.custom_state_dict()
        tensors |= {f"{key}.{renamed.get(k, k)}": v for k, v in state.items()}
        module.weight.data = weight.detach().float()
        if bias is not None:
            module.bias.data = bias.detach().float()
        assert size > 0.01 * module.weight.std(), f"{name}: {key} changes nothing"
    save(tensors, folder / f"{name}.safetensors")


BOTH = [(n, False) for n in UNET] + [(n, True) for n in TEXT]
CONVS = [(n, False) for n in UNET if "conv" in n and "shortcut" not in n]
SOME = [(n, False) for n in (UNET[2], UNET[5], UNET[6], UNET[9])] + [(TEXT[2], True)]
NORMS = [("conv_norm_out", False), ("down_blocks.0.resnets.0.norm1", False), (f"{DOWN}.transformer_blocks.0.norm2", False),
         ("final_layer_norm", True)]


def lycoris_cases():
    dora = lambda out: lambda n, m: LoConModule(n, m, 1.0, 3, 2.0, weight_decompose=True, wd_on_out=out)
    return {
        "locon": (BOTH, lambda n, m: LoConModule(n, m, 1.0, 3, 2.0)),
        "tucker": (CONVS, lambda n, m: LoConModule(n, m, 1.0, 3, 2.0, use_tucker=True)),
        "loha": (BOTH[::2], lambda n, m: LohaModule(n, m, 1.0, 3, 2.0)),
        "loha-tucker": (CONVS, lambda n, m: LohaModule(n, m, 1.0, 2, 2.0, use_tucker=True)),
        "lokr": (BOTH[1::2], lambda n, m: LokrModule(n, m, 1.0, 2, 1.0)),
        "lokr-both": (SOME, lambda n, m: LokrModule(n, m, 1.0, 1, 0.5, decompose_both=True, factor=4)),
        "lokr-tucker": (CONVS, lambda n, m: LokrModule(n, m, 1.0, 2, 1.0, use_tucker=True)),
        "lokr-whole": (SOME, lambda n, m: LokrModule(n, m, 1.0, 10000, 3.0, full_matrix=True)),
        "dora-rows": (BOTH[1::2], dora(True)),
        "dora-channels": (BOTH[::2], dora(False)),
        "loha-dora": (SOME, lambda n, m: LohaModule(n, m, 1.0, 2, 2.0, weight_decompose=True)),
        "full": (SOME, lambda n, m: FullModule(n, m, 1.0)),
        "norms": (NORMS, lambda n, m: NormModule(n, m, 1.0)),
    }


# ---------------------------------------------------------------- all of them


def sample(weight):
    values = weight.detach().float().flatten()
    return values[:: max(1, len(values) // SAMPLES)].contiguous().clone()


def differences(model, base):
    """A sample of every weight and bias that is another than the base's."""
    out = {}
    for name, module in model.names.items():
        for kind in ("weight", "bias"):
            now, then = getattr(module, kind, None), getattr(base.names[name], kind, None)
            if isinstance(now, torch.Tensor) and not torch.equal(now, then):
                out[f"{name.removesuffix('weight')}{kind}"] = sample(now)
    return out


@torch.no_grad()
def main():
    root = pathlib.Path(sys.argv[1])
    folder, checkpoint = root / "adapters", root / MODEL
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    base, tensors, cases = Model(checkpoint), {}, []
    case = models.CASES[MODEL]
    image = checkpoints.picture(case["height"], case["width"], 1)
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        scheduler = lambda: models.make_scheduler(checkpoint, {"sampler": "ddim"})
        render = lambda parts: models.run_pipeline(parts, scheduler(), RUN, image, noise)
        plain = render(base.parts)

        def finish(name, file, model, weight, styles=()):
            changed = differences(model, base)
            picture = render(model.parts)
            print(f"  {name}: {len(changed)} tensors, {models.psnr(picture, plain):.1f} dB from the base")
            assert changed and models.psnr(picture, plain) < 45, f"{name} proves too little"
            tensors.update({f"{name}:{k}": v for k, v in changed.items()})
            tensors[f"{name}.picture"] = torch.from_numpy(picture).half().contiguous()
            cases.append({"name": name, "files": [file, *styles], "weight": weight, "tensors": sorted(changed)})

        make_styles(folder, base)
        model = Model(checkpoint)
        load_with_diffusers(model, folder / "kohya.safetensors", 0.7)
        finish("kohya", "kohya.safetensors", model, 0.7,
               ["original.safetensors", "old.safetensors", "new.safetensors", "plain.safetensors", "bare.safetensors"])
        make_metadata(folder, base)
        model = Model(checkpoint)
        load_with_diffusers(model, folder / "metadata.safetensors", 1.0)
        finish("metadata", "metadata.safetensors", model, 1.0)

        targets = [n for n in UNET if n not in ("conv_in", "time_embedding.linear_1")]
        configs = {"dora": peft.LoraConfig(r=3, lora_alpha=2, use_dora=True, target_modules=targets),
                   "peft-loha": peft.LoHaConfig(r=2, alpha=3, target_modules=targets, use_effective_conv2d=True),
                   "peft-lokr": peft.LoKrConfig(r=2, alpha=3, target_modules=targets, use_effective_conv2d=True,
                                                alpha_pattern={"attn1.to_q": 1})}
        for name, config in configs.items():
            model = Model(checkpoint)
            make_peft(folder, name, model, config)
            finish(name, name, model, 1.0)
        for name, (targets, make) in lycoris_cases().items():
            model = Model(checkpoint)
            make_lycoris(folder, name, model, targets, make)
            finish(name, f"{name}.safetensors", model, 1.0)
    tensors["input"] = torch.from_numpy(image).half()
    packed.save_tensors(tensors, folder / "golden.safetensors")
    (folder / "golden.json").write_text(json.dumps({"model": MODEL, "run": RUN, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
