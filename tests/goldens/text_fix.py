#!/usr/bin/env python3
"""Writes ../data/text_fix.json.gz: token ids as transformers 4's slow CLIPTokenizer gives them, with ftfy and without, for
tests/test_prompts.c.

Needs transformers 4, whose CLIPTokenizer that is (made with 4.57.1, tokenizers 0.22.1, ftfy 6.3.1), so it is installed
apart from the 5 that the other scripts use:

    pip install --target DIR --no-deps transformers==4.57.1 tokenizers==0.22.1 huggingface_hub==0.35.3
    PYTHONPATH=DIR python tests/goldens/text_fix.py

ftfy also mends text that was decoded from the wrong encoding, which is not built: what it does so is left out of these.
So is U+0345, which that tokenizer's expression takes for a letter, since its capital is one.
"""
import gzip
import json
import os
import random
import sys
import tempfile
import unicodedata

import ftfy
import transformers

import tokenizer as fast

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = """“an oil painting” ‘of’ a ‛cat‟|it’s the artist’s|ʼtis ‚low‛ „low‟|oﬃce ﬁne ﬂag eﬀect ﬆop ﬅop|Ĳssel ĳs ŉ Ǆ ǅ ǆ ǉ ǋ Ǳ
ＬＯＵＤ　ＮＯＩＳＥＳ １２３ ！？（ａ）|ｶﾞｷﾞ ﾊﾟ ｱｲｳ ￡￥ ﾡ|a&amp;b &lt;tag&gt; &quot;x&quot; &apos;y&apos;|&eacute;t&eacute; &EACUTE; &Eacute; &NTILDE; &SZLIG; &szlig;
&amp;amp;lt; &amp;eacute;|&#65;&#x42;&#X43; &#8364; &#128; &#150; &#0; &#xD800; &#1114112; &#59; &#12ab; &#x; &#; &; &nosuch; &copy;&reg;&trade; &hellip; &mdash; &nbsp;x &alefsym; &Omega;&omega;
<b>&amp;</b>|a &lt;b|&lt; < &lt;|\x1b[1;31mred\x1b[0m|a\x01b\x02\x7fc\u206a\ufeff\ufffb|\x93quoted\x94 \x85 \x80|a\u2028b\u2029c\u0085d\re
zero\u200bwidth\u200djoin\u00adsoft|👩‍👩‍👧 👍🏽 ❤️|你好world水彩画|漢字 かな カタカナ 한국어|ΑΣ ΣΑΣ ΌΣΟΣ Σ Σ. αΣ' ΣΑΣ-ΣΑ|İstanbul ISTANBUL ı|ǅungla|ẞ ß|don’t DON’T ’S 'S|½ ² ⅷ ①|𝒽𝑒 𝟙
<|endoftext|> a <|ENDOFTEXT|> <|StartOfText|>|e\u0301 A\u030a|ﷺ ﬓ|\ufb03ne art, \u201c4k\u201d, trending|a\u00a0b\u3000c\u2003d\u1680e|\x1c\x1d\x1e\x1fa|x\u202ey"""


def texts():
    rng = random.Random(41)
    listed = [t for line in TEXTS.split("\n") for t in (line.split("|") if "<|" not in line else [line])]
    made = [fast.random_text(rng) for _ in range(700)]
    parts = ["&amp;", "&eacute;", "&#39;", "“", "”", "’", "ﬁ", "Ａ", "１", "&lt;", "\x1b[0m", "ﬄ", "<", "\n", "Σ", "&", ";"]
    made += ["".join(rng.choices(parts + [" ", "a", "photo"], k=rng.randint(2, 12))) for _ in range(300)]
    return [t for t in [*fast.SENTENCES, *listed, *made] if fast.is_carried(t)]


def is_unmended(text):
    """Whether no wrong encoding is mended in it."""
    config = ftfy.TextFixerConfig(explain=False, fix_encoding=False)
    return ftfy.fix_text(text) == ftfy.fix_text(text, config)


def is_assigned(text):
    return all(unicodedata.category(c) not in ("Cn", "Co", "Cs") for c in text)


def main():
    assert transformers.__version__.startswith("4."), "this is transformers 4's"
    chosen = [t for t in texts() if is_unmended(t) and is_assigned(t) and "\u0345" not in t]
    with tempfile.TemporaryDirectory() as folder:
        fast.write_vocabulary(folder)
        slow = lambda: transformers.CLIPTokenizer(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"))
        with_ftfy = slow()
        assert with_ftfy.fix_text
        sys.modules["ftfy"] = None  # as if it were not installed
        basic = slow()
        assert not basic.fix_text
        rows = [[t, *(k(t, add_special_tokens=False).input_ids for k in (with_ftfy, basic))] for t in chosen]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("]],[", "]],\n[") + "\n"
    with gzip.GzipFile(os.path.join(HERE, "..", "data", "text_fix.json.gz"), "w", mtime=0) as f:
        f.write(text.encode())
    print(len(rows), "strings")


if __name__ == "__main__":
    main()
