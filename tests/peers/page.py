#!/usr/bin/env python3
"""FIDELITY.md of what sd_shapes.py, style_shapes.py, kl_shapes.py and half_range.py have measured.

    page.py FILE.json... > FIDELITY.md

Where two files have the same row, the later one's counts. Rows that belong on the page and that no file has are there as
"not run". Needs no packages."""
import json
import sys

NETWORKS, STEPS = ["text", "encode", "unet", "decode"], ["1", "2", "4", "20"]
MODELS = {"SD-Turbo": NETWORKS, "Stable Diffusion 1.5": NETWORKS, "Stable Diffusion 2.1 (v)": NETWORKS,
          "LCM (guidance embedded)": NETWORKS, "SDXL-Turbo": ["text", "text2", "pooled", "encode", "unet", "decode"]}
CONTROLLED = {"SD-Turbo": ["1 ControlNet", "2 ControlNets"], "SDXL-Turbo": ["1 ControlNet"]}
STYLED = {"Stable Diffusion 1.5": ["a style picture", "a style picture (plus)"]}
ENCODERS = ["ViT-H of IP-Adapter", "ViT-bigG of IP-Adapter"]
VAES = ["AutoencoderKL of SD, 512x512", "AutoencoderKL of SDXL, 1024x1024"]
NATIVE = {"Stable Diffusion 2.1 (v)": ["768x768"], "SDXL-Turbo": ["512x512", "1024x1024"]}

INTRO = """# How close to diffusers

*Made by `tests/peers/page.py` from what was measured; change it there. `PARTS=fidelity tests/gpu.sh` measures all of it
anew on a machine with an NVIDIA GPU and Python's torch, diffusers, transformers and peft.*

Both programs get the same weights, the same noise and the same input picture. The weights are random, from a fixed
seed, in the shapes of the published models. The truth is diffusers in FP32 on the same GPU. Beside it stand diffusers in
FP16 and reverie, which computes in FP16, too: so the columns say what halved precision costs in either program.

Random weights show whether the arithmetic is right. They do not show how pictures of a trained model look, and their
inner values are smaller than those of trained ones; for the latter see *Range*.

"Holds" compares with the bounds that this project has set itself. "Not run" means that nobody has measured it yet."""


def scientific(value):
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def within_twice(theirs, ours, name):
    return ours <= 2 * theirs


def within_merge(theirs, ours, name):
    return within_twice(theirs, ours, name) if name.endswith("output") else ours <= 1e-3


def within_picture(theirs, ours, name):
    return ours >= min(40, theirs - 1)


TABLES = {
    "networks": {
        "title": "Networks", "figure": scientific, "last": "ratio", "holds": within_twice,
        "text": "Relative error against FP32 of what each network puts out. Bound: twice that of diffusers in FP16. `text2` "
                "and\n`pooled` are SDXL's second text encoder; `encode` and `decode` are a tiny autoencoder's; `embedding` and "
                "`tokens` are\nwhat IP-Adapters read of an image encoder, beside transformers.",
        "rows": [(m, n) for m, names in MODELS.items() for n in names] +
                [(m, n) for m in ENCODERS for n in ("embedding", "tokens")]},
    "pictures": {
        "title": "Pictures", "figure": lambda v: f"{v:.1f} dB", "last": "difference",
        "holds": within_picture,
        "text": "PSNR against FP32 of the picture after so many steps at strength 0.5, with the tiny autoencoder. The steps' "
                "timesteps\nand factors are reverie's own in all columns, as `tests/test_sampler.c` holds them against "
                "diffusers' schedulers.\nControlNets read the input picture; a style picture goes through IP-Adapter and ViT-H."
                "\nBound: 40 dB, or that of diffusers in FP16 less 1 dB.",
        "rows": [(m, n) for m in MODELS for n in STEPS] +
                [("Stable Diffusion 1.5", f"{n} {s}") for s in ("tcd", "pndm", "unipc", "dpm++", "dpm++-sde") for n in STEPS] +
                [(m, f"{n}, {names[-1]}") for m, names in CONTROLLED.items() for n in ("1", "4")] +
                [(m, f"{n}, {name}") for m, names in STYLED.items() for name in names for n in ("1", "4")]},
    "merges": {
        "title": "LoRA", "figure": scientific, "last": "ratio", "holds": within_merge,
        "text": "A LoRA of random factors for every linear layer and convolution of U-Net and text encoder, merged at weight "
                "1.\nThe truth is peft in FP32; beside it peft in FP16. Relative errors of the weights (every eighth row) and "
                "of\nwhat the networks then put out. Bound: 1e-3 for weights, as above for networks.",
        "rows": [(m, "") for m in MODELS]},
    "autoencoders": {
        "title": "AutoencoderKL", "figure": scientific, "last": "ratio", "holds": within_twice,
        "text": "Relative error against FP32. reverie encodes to the posterior's mean, and so does diffusers here. Bound: "
                "twice\nthat of diffusers in FP16.",
        "rows": [(m, n) for m in VAES for n in ("encode", "decode")]},
    "range": {
        "title": "Range", "figure": scientific, "last": None, "holds": None,
        "text": "Trained activations are larger than random ones. Some layers' weights are scaled up to the last power of two "
                "at which\ndiffusers in FP16 does not overflow (AutoencoderKL: to the first at which it does); relative error "
                "against FP32 there.",
        "rows": [("layers of Stable Diffusion 1.5", ""), ("AutoencoderKL of SDXL", "")]},
    "times": {
        "title": "Times", "figure": lambda v: f"{v:.2f} ms", "last": "ratio", "holds": None,
        "text": "Median of one frame, picture to picture on the GPU; of an autoencoder, of that half alone. Beside it PyTorch "
                "in FP16 as\none CUDA graph, on the same machine. ControlNets read a canny map that reverie makes in that time; "
                "diffusers has it\nalready.",
        "rows": [(m, f"{s}, 1 step") for m in MODELS for s in NATIVE.get(m, ["512x512"])] +
                [(m, f"512x512, 1 step, {n}") for m, names in (CONTROLLED | STYLED).items() for n in names] +
                [(m, n) for m in VAES for n in ("encode", "decode")]},
}


FAULTS = """## Where diffusers is not followed

`tests/test_sampler.c` compares samplers with diffusers 0.42.1 over strengths, spacings and 1 to 50 steps. There, diffusers
is taken to be wrong where a network that always knows picture and noise does not lead to the picture: then reverie does
what is right, and the tests ask diffusers in a way that it answers rightly.

| diffusers | what goes wrong | reverie |
|---|---|---|
| PNDMScheduler, image to image | the timestep that comes twice is cut off with the first ones, and the latent stays a step behind: at strength 0.5 a noise of 0.47 is left after 4 steps, 0.09 after 20, where the file asks for 0.03 | repeats the second of the timesteps that are left |
| PNDMScheduler, v-prediction | velocities of several noise levels are averaged as if they were of one: 0.44 is left after 4 steps, 0.09 after 20 | looks back on the noise they stand for; as diffusers with `--strength-grid diffusers` |
| PNDMScheduler, linspace | steps are 1000 / steps long, the timesteps lie further apart: 0.53 is left after 4 steps, 0.12 after 20 | goes to the next timestep; as diffusers with `--strength-grid diffusers` |
| DPMSolverMultistepScheduler, `sde-dpmsolver++`, order 3 | the last term has the wrong sign of its half, so that it does not vanish with small steps | has the sign that k-diffusion's has |
| UniPCMultistepScheduler, `bh1` with `final_sigmas_type` zero; `lower_order_final` false | infinity times nothing | ends with a step of the first order |
| UniPCMultistepScheduler, `final_sigmas_type` sigma_min with Karras or exponential sigmas | divides nothing by nothing | refuses it |
| LMSDiscreteScheduler, image to image | counts the steps left out among those it can look back on: at strength 0.5 the first of 4 steps takes a third-order weight with one prediction | looks back on the steps there were |
| DEISMultistepScheduler, one step with Karras or exponential sigmas | ends at the level where it begins, with all its noise | ends at timestep 0, as with several steps |"""


def read(paths):
    """The machines, and each row's figures with the number of its machine."""
    machines, rows = [], {}
    for path in paths:
        with open(path) as file:
            content = json.load(file)
        machines.append(content["machine"])
        for row in content["rows"]:
            if row["table"] not in TABLES:
                raise SystemExit(f"{path}: there is no table {row['table']!r}")
            key = row["table"], row["model"], row["name"]
            rows.pop(key, None)
            rows[key] = row["diffusers"], row["reverie"], len(machines) - 1
    return machines, rows


def keys_of(table, rows):
    """What belongs into the table, and what was measured besides, model by model. A name of "" stands for any."""
    measured = [(m, n) for t, m, n in rows if t == table]
    expected = TABLES[table]["rows"]
    models = list(dict.fromkeys(m for m, _ in [*expected, *measured]))
    for model in models:
        names = [n for m, n in measured if m == model]
        planned = [n for m, n in expected if m == model and (n or not names)]
        yield from ((model, n) for n in dict.fromkeys([*planned, *names]))


def figure(table, value):
    if value is None:
        return "not run"
    return value if isinstance(value, str) else TABLES[table]["figure"](value)


def is_number(value):
    return isinstance(value, (int, float))


def compared(table, theirs, ours):
    if not is_number(theirs) or not is_number(ours) or theirs == 0:
        return ""
    return f"{ours - theirs:+.1f} dB" if TABLES[table]["last"] == "difference" else f"{ours / theirs:.2f}"


def verdict(table, theirs, ours, name):
    holds = TABLES[table]["holds"]
    if not holds or theirs is None or ours is None:
        return ""
    if not is_number(ours):
        return "no"
    return "yes" if not is_number(theirs) or holds(theirs, ours, name) else "no"


def write_table(table, rows, numbers):
    about = TABLES[table]
    heads = ["model", "of", "diffusers FP16", "reverie"] + [about["last"]] * bool(about["last"]) + \
        ["holds"] * bool(about["holds"]) + ["run"]
    if table == "pictures":
        heads[1] = "steps"
    if table == "merges":
        heads[2] = "peft FP16"
    lines = [f"## {about['title']}", "", about["text"], "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for model, name in keys_of(table, rows):
        theirs, ours, run = rows.get((table, model, name), (None, None, None))
        cells = [model, name, figure(table, theirs), figure(table, ours)]
        cells += [compared(table, theirs, ours)] * bool(about["last"]) + [verdict(table, theirs, ours, name)] * bool(about["holds"])
        lines.append("| " + " | ".join([*cells, "" if run is None else str(numbers[run])]) + " |")
    return "\n".join(lines)


def write_machines(machines, numbers):
    fields = list(dict.fromkeys(f for i in numbers for f in machines[i]))
    lines = ["## Runs", "", "| run | " + " | ".join(fields) + " |", "|---" * (len(fields) + 1) + "|"]
    for index, number in numbers.items():
        lines.append(f"| {number} | " + " | ".join(machines[index].get(f, "not noted") for f in fields) + " |")
    return "\n".join(lines)


def page(paths):
    machines, rows = read(paths)
    used = sorted({run for _, _, run in rows.values()})
    numbers = {index: i + 1 for i, index in enumerate(used)}
    return "\n\n".join([INTRO, *(write_table(t, rows, numbers) for t in TABLES), FAULTS, write_machines(machines, numbers)]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: page.py FILE.json... > FIDELITY.md")
    sys.stdout.write(page(sys.argv[1:]))
