#!/usr/bin/env python3
"""Writes ../data/prompts.json.gz and ../data/goldens/*/prompts.safetensors: how prompts are read that weigh their words or
are long, and what diffusers makes of them, for tests/test_prompts.c.

Run from the root of the source tree, with torch, diffusers and transformers (made with 5.23.0). What is written here is
the definition, after AUTOMATIC1111's web interface: its prompt_parser (weights), sd_hijack_clip (chunks) and sd_emphasis
("Original": words weigh what the encoder says of them, and each chunk's mean stays). Unlike there, BREAK begins a new
chunk inside brackets as well, and a chunk count ends at CHUNKS_MAX.
"""
import gzip
import json
import pathlib
import random
import re
import tempfile

import diffusers
import numpy as np
import torch
import transformers

import checkpoints
import models
from tokenizer import write_vocabulary

DATA = pathlib.Path("tests/data")
CHUNKS_MAX = 4
BACKTRACK = 20
MARK = re.compile(r"\\([][()\\])|(\\)|:\s*([-+]?[.\d]+)\s*\)|([][()])|([^][()\\:]+|:)")


def parse(text):
    """[[words, weight]...], where None in the place of words is a BREAK."""
    spans, opened = [], {"(": [], "[": []}

    def close(bracket, weight, first=None):
        for span in spans[opened[bracket].pop() if first is None else first:]:
            span[1] *= weight

    for literal, stray, weight, bracket, words in MARK.findall(text):
        if weight and opened["("]:
            close("(", float(weight))
        elif bracket and bracket in "([":
            opened[bracket].append(len(spans))
        elif bracket == ")" and opened["("]:
            close("(", 1.1)
        elif bracket == "]" and opened["["]:
            close("[", 1 / 1.1)
        elif weight:
            raise ValueError("left out of these goldens")
        else:
            parts = re.split(r"\s*\bBREAK\b\s*", words) if words else [literal or bracket]
            for i, part in enumerate(parts):
                spans += [[None, 1.0]] * (i > 0) + [[part, 1.0]]
    for bracket, weight in ("(", 1.1), ("[", 1 / 1.1):
        for first in opened[bracket]:
            close(bracket, weight, first)
    merged = []
    for words, weight in spans or [["", 1.0]]:
        if merged and words is not None and merged[-1][0] is not None and merged[-1][1] == weight:
            merged[-1][0] += words
        else:
            merged.append([words, 1.0 if words is None else weight])
    return merged


def chunks_of(tokenizer, text, length):
    """[[(id, weight)...]...] without what begins, ends and fills up chunks."""
    ids = lambda words: tokenizer(words, add_special_tokens=False).input_ids
    done, now, comma, comma_at = [], [], ids(","), None
    for words, weight in parse(text):
        if words is None:
            done, now, comma_at = done + [now], [], None
            continue
        for token in ids(words):
            if [token] == comma:
                comma_at = len(now)
            elif len(now) == length - 2 and comma_at is not None and len(now) - comma_at <= BACKTRACK:
                done, now, comma_at = done + [now[: comma_at + 1]], now[comma_at + 1 :], None
            if len(now) == length - 2:
                done, now, comma_at = done + [now], [], None
            now.append((token, weight))
    return done + [now] * bool(now or not done)


def framed(tokenizer, chunk, length):
    """Ids and weights of a whole chunk."""
    ids = [tokenizer.bos_token_id, *[i for i, _ in chunk], tokenizer.eos_token_id]
    fill = length - len(ids)
    return ids + [tokenizer.pad_token_id] * fill, [1.0, *[w for _, w in chunk], 1.0] + [1.0] * fill


# ---------------------------------------------------------------- texts

TEXTS = [
    "", " ", "a photo of a cat", "a (cat)", "a [cat]", "((cat))", "[[cat]]", "([cat])", "(cat:1.5)", "(cat : 0.5 )",
    "(cat:-0.5)", "(cat:+1.25)", "(cat:.5)", "(cat:2.)", "(a (b:1.2) c:1.5)", "(a [b] (c))", "a (b", "a [b", "a ((b) c",
    "a b) c", "a b] c", "(a]", "[a)", "[(a])", r"\(a\)", r"\[a\]", r"\\a", r"a\b", r"(a\):1.3)", r"(a\\:1.3)", "a:b", "(a:b)",
    "(a:b:1.2)", "(:1.2)", "()", "[]", "(a)(b)", "(a)[b]c", "an (important) word", "(unbalanced", "a (((house:1.3)) on a "
    "(hill:0.5), sun, (((sky))).", "a BREAK b", "BREAK a", "a BREAK", "BREAK", "a BREAK BREAK b", "aBREAK b", "a BREAKb",
    "a_BREAK b", "(a BREAK b:1.2)", "a,BREAK,b", "\u00e9BREAK", "a\nBREAK\tb", "(caf\u00e9:1.2) \u5199\u771f", "\U0001f3a8 (\U0001f308:1.4)",
    "(" * 20 + "a" + ")" * 12, "[" * 20 + "a" + "]" * 12, "1girl, solo, (masterpiece:1.2), [blurry], looking at viewer",
]


def long_texts():
    word = "a photo of the city at night with neon lights and rain on the street "
    yield (word * 8).strip()
    for at in 70, 54, 55, 56, 74, 75:
        yield "x " * at + ", " + "y " * 40
    yield ", ".join(["a cat"] * 60)
    yield "," * 80
    yield "a " * 75 + "," + "b " * 10
    yield "(a " * 20 + "b " * 80
    yield "(" + "red house, " * 40 + ":1.3) and [" + "blue sea, " * 30 + "]"
    yield "a BREAK " * 3 + word * 6
    yield word * 40
    yield ("w " * 30 + "BREAK ") * 6


def random_text(rng):
    parts = ["(", ")", "[", "]", ":1.2)", ":0.7)", ":-1)", "\\(", "\\)", "\\", ":", " ", ",", " BREAK ", "a", "cat",
             " at night", " photo of", "1.5", "\u00e9", "\u732b", "'s"]
    return "".join(rng.choices(parts, k=rng.randint(1, 24)))


def is_carried(text):
    """Whether nothing in it is read otherwise here: what changes from step to step, weights out of range or no numbers."""
    try:
        spans = parse(text)
    except ValueError:
        return False
    return all(abs(w) <= 10 for _, w in spans) and not re.search(r"\[[^][]*:\s*[-+.\d]+\s*]", text)


def text_cases():
    rng = random.Random(14)
    texts = [*TEXTS, *long_texts(), *filter(is_carried, (random_text(rng) for _ in range(500)))]
    with tempfile.TemporaryDirectory() as folder:
        write_vocabulary(folder)
        tokenizer = transformers.CLIPTokenizerFast.from_pretrained(folder, pad_token="!")
    for text in texts:
        chunks = chunks_of(tokenizer, text, 77)
        yield {"text": text, "spans": parse(text), "left_out": sum(map(len, chunks[CHUNKS_MAX:])),
               "chunks": [[[i for i, _ in c], runs([w for _, w in c])] for c in chunks[:CHUNKS_MAX]]}


def runs(values):
    """[value, how often]..."""
    out = []
    for v in values:
        if out and out[-1][0] == v:
            out[-1][1] += 1
        else:
            out.append([v, 1])
    return out


# ---------------------------------------------------------------- pictures

WEIGHED = "an (oil painting:1.4) of a [cat], ((night:0.9))"
LONG = "an oil painting, a cat at night, (oil:1.3), an oil painting BREAK a [cat] at night"
# Small networks hardly listen to their text: guidance makes it show.
PICTURES = {
    "turbo": [dict(name="weights", prompt=WEIGHED), dict(name="chunks", prompt=LONG),
              dict(name="blend", prompt="a cat", prompt_to=LONG, blend=0.5)],
    "sd15": [dict(name="weights", prompt=WEIGHED, negative="(cat:1.3)"),
             dict(name="chunks", prompt=LONG, negative="(cat:1.3)"),
             dict(name="long negative", prompt="oil", negative=LONG)],
    "sdxl": [dict(name="weights", prompt=WEIGHED, negative="(cat:1.3)"), dict(name="chunks", prompt=LONG),
             dict(name="blend", prompt="a cat", prompt_to=LONG, blend=0.5)],
}
GUIDANCE = {"turbo": 30.0, "sd15": 30.0, "sdxl": 30.0}


def emphasised(hidden, weights):
    weighed = hidden * torch.tensor(weights)[None, :, None]
    return weighed * (hidden.mean() / weighed.mean())


def chunk_embeds(parts, chunk_of):
    """What the U-Net attends to for one chunk, and its pooled text; chunk_of gives the chunk as a tokenizer has it."""
    names = [n for n in ("tokenizer", "tokenizer_2") if n in parts]
    whole = [framed(parts[n], chunk_of(parts[n]), parts["text_encoder"].config.max_position_embeddings) for n in names]
    texts, pooled = checkpoints.encode_tokens(parts, [torch.tensor([ids]) for ids, _ in whole])
    return torch.cat([emphasised(t, w) for t, (_, w) in zip(texts, whole)], -1), pooled


def embed(parts, text, count):
    """The whole prompt, filled up with the empty one's chunk to count chunks."""
    length = parts["text_encoder"].config.max_position_embeddings
    own = chunks_of(parts["tokenizer"], text, length)[:CHUNKS_MAX]
    get = lambda i: lambda tokenizer: (chunks_of(tokenizer, text, length)[:CHUNKS_MAX] + [[]] * count)[i]
    embeds = [chunk_embeds(parts, get(i)) for i in range(max(count, len(own)))]
    return torch.cat([e for e, _ in embeds], 1), embeds[0][1]


def count_chunks(parts, *texts):
    length = parts["text_encoder"].config.max_position_embeddings
    return max(min(len(chunks_of(parts["tokenizer"], t, length)), CHUNKS_MAX) for t in texts)


def picture_of(parts, index, run, scheduler, height, width, noise):
    sdxl = "text_encoder_2" in parts
    texts = [run["prompt"], run.get("prompt_to", ""), run.get("negative", "")]
    count = count_chunks(parts, *texts)
    both = [embed(parts, t, count) for t in texts]
    share = run.get("blend", 0)
    mix = lambda a, b: a if a is None else (1 - share) * a + share * b
    prompt, pooled = (mix(a, b) for a, b in zip(*both[:2]))
    negative, negative_pooled = both[2]
    if not texts[2] and index.get("force_zeros_for_empty_prompt"):
        negative, negative_pooled = torch.zeros_like(negative), torch.zeros_like(negative_pooled)
    arguments = dict(prompt_embeds=prompt, negative_prompt_embeds=negative, height=height, width=width, output_type="np",
                     num_inference_steps=run["steps"], guidance_scale=run["guidance"])
    settings = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
    if sdxl:
        arguments |= dict(pooled_prompt_embeds=pooled, negative_pooled_prompt_embeds=negative_pooled)
        settings = {"add_watermarker": False}
    pipe = models.PIPELINES["sdxl" if sdxl else "sd", "text"](**parts, scheduler=scheduler, **settings)
    pipe.set_progress_bar_config(disable=True)
    noise.start(run["seed"])
    return np.rint(pipe(**arguments).images[0] * 255).astype(np.uint8)


def halved(parts):
    """The networks with weights and what passes between layers rounded to FP16, computed in FP32."""
    rounded = lambda t: t.half().float() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
    networks = [p for p in parts.values() if isinstance(p, torch.nn.Module)]
    for layer in (m for network in networks for m in network.modules() if not list(m.children())):
        layer.register_forward_hook(lambda module, inputs, output: rounded(output))
        for parameter in layer.parameters():
            parameter.data = rounded(parameter.data)
    return parts


def decibels(picture, reference):
    return 10 * np.log10(255**2 / np.mean((picture.astype(float) - reference) ** 2))


@torch.no_grad()
def make_pictures(name, noise):
    folder = DATA / "goldens" / name
    golden, index = (json.loads((folder / f).read_text()) for f in ("golden.json", "model_index.json"))
    parts, out = models.load(folder), {}
    rest = models.make_scheduler(folder), golden["height"], golden["width"], noise
    for run in PICTURES[name]:
        run |= dict(steps=2, seed=5, guidance=GUIDANCE[name])
        out[run["name"]] = picture_of(parts, index, run, *rest)
    halved(parts)  # so much guidance enlarges rounding errors as well
    for run in PICTURES[name]:
        run["fp16"] = round(float(decibels(picture_of(parts, index, run, *rest), out[run["name"]])), 1)
    models.check_runs(name, out)
    checkpoints.save_readable({f"run.{k}": torch.from_numpy(v).half().contiguous() for k, v in out.items()},
                         folder / "prompts.safetensors")


def main():
    diffusers.utils.logging.set_verbosity_error()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        noise = models.Noise(pathlib.Path(scratch))
        for name in PICTURES:
            make_pictures(name, noise)
    result = {"texts": list(text_cases()), "pictures": PICTURES}
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":")).replace('},{"text"', '},\n{"text"')
    with gzip.GzipFile(DATA / "prompts.json.gz", "w", mtime=0) as f:
        f.write((text + "\n").encode())


if __name__ == "__main__":
    main()
