#!/usr/bin/env python3
"""Writes ../data/tokenizer.json.gz: token ids as transformers' fast CLIPTokenizer gives them, for tests/test_tokenizer.c.

Run from anywhere, with transformers installed (made with 5.23.0, tokenizers 0.23.3). The vocabulary is CLIP's own, built
from assets/clip. If the shipped model is there, its tokenizer is written about as well.
"""
import gzip
import json
import os
import random
import tempfile
import unicodedata

from transformers import CLIPTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, '..', 'data')
MINI = 'assets/mini/model/tokenizer'
START, END = '<|startoftext|>', '<|endoftext|>'


def byte_chars():
    """The printable character that stands for each byte, in the order of CLIP's vocabulary."""
    order = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in order]
    return [chr(b) for b in order] + [chr(256 + i) for i in range(len(others))]


def write_vocabulary(folder):
    lines = gzip.open(os.path.join(HERE, '..', '..', 'assets', 'clip', 'bpe_simple_vocab_16e6.txt.gz')).read().decode().split('\n')
    merges = lines[1:48895]
    chars = byte_chars()
    tokens = chars + [c + '</w>' for c in chars] + [''.join(m.split()) for m in merges] + [START, END]
    with open(os.path.join(folder, 'vocab.json'), 'w') as f:
        json.dump({t: i for i, t in enumerate(tokens)}, f)
    with open(os.path.join(folder, 'merges.txt'), 'w') as f:
        f.write('#version: 0.2\n' + '\n'.join(merges) + '\n')


def token(text, normalized=True, **more):
    return dict(content=text, lstrip=False, normalized=normalized, rstrip=False, single_word=False, **more)


# tokenizer_config.json and special_tokens_map.json as they occur; None: no such file.
ALL_END = dict(bos_token=START, eos_token=END, pad_token=END, unk_token=END)
ADDED = dict(bos_token=dict(token(START), __type='AddedToken'), eos_token=dict(token(END), __type='AddedToken'),
             pad_token=END, unk_token=dict(token(END), __type='AddedToken'), model_max_length=77, do_lower_case=True)
VARIANTS = {
    'plain': (ALL_END | dict(model_max_length=77), ALL_END),
    'bare': (None, None),
    'sd15': (ADDED, dict(bos_token=token(START), eos_token=token(END), pad_token=END, unk_token=token(END))),
    'sd21': (ADDED, dict(bos_token=token(START), eos_token=token(END), pad_token='!', unk_token=token(END))),
    'later wins': (None, dict(bos_token=START, eos_token=END, unk_token=END, pad_token=token(END))),
    'decoder': (dict(added_tokens_decoder={'0': token('!', False, special=True), '49406': token(START, special=True),
                                           '49407': token(END, False, special=True)},
                     bos_token=START, eos_token=END, pad_token='!', unk_token=END, model_max_length=77),
                dict(bos_token=START, eos_token=END, pad_token=END, unk_token=END)),
}

SENTENCES = """an oil painting of a lighthouse in a storm|a photo of the city at night, neon lights, 4k, trending
make it a pencil sketch!|portrait of my grandmother, 35mm film (1970s), f/1.8|it's what they'd've wanted; we're sure I'll go, you'm not
Ein Gemälde der Straße im Überfluß, größer als Öl|Une forêt d'été, l'œuvre naïve, ça et là|El niño soñó con una cigüeña pingüina ¿no? ¡sí!
Łódź, gęś, źdźbło i żółw|Příliš žluťoučký kůň úpěl ďábelské ódy|İstanbul'da ılık bir akşam, ŞİŞLİ|Việt Nam: một buổi sáng đẹp trời
Съешь же ещё этих мягких французских булок|Їжак і ґава б'ються|ΑΒΓ ΣΑΣ ὈΔΥΣΣΕΎΣ οδός|Ας μιλήσουμε, ΐΰ ΅
مرحبا بالعالم، لوحة زيتية|السَّلَامُ عَلَيْكُمْ ١٢٣|שלום עולם, צִיּוּר שֶׁמֶן|ברוך הבא ״כן״
สวัสดีชาวโลก ภาพวาดสีน้ำมัน ๑๒๓|नमस्ते दुनिया, तैल चित्र क्षत्रिय|বাংলা ছবি আঁকা|தமிழ் ஓவியம்|ગુજરાતી ચિત્ર|తెలుగు చిత్రం|ಕನ್ನಡ ಚಿತ್ರ|മലയാളം ചിത്രം
你好,世界。水彩画,夜晚的城市|漢字と仮名、カタカナ・ひらがな|がぎぐげご パピプペポ|안녕하세요 세계 유화|ｆｕｌｌ ｗｉｄｔｈ　１２３
ქართული ნახატი ႠႡႢ|Հայերեն նկար ԱԲԳ|አማርኛ ሥዕል|ខ្មែរ គំនូរ|မြန်မာ ပန်းချီ|ລາວ ພາບ|བོད་སྐད རི་མོ|ᠮᠣᠩᠭᠣᠯ|ᏣᎳᎩ ꮳꮃꭹ|Ελ ǅ ǈ ǲ ẞ ﬁ ﬂ
👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ☕️ 🎨🖼️ 1️⃣|🦄🌈✨ unicorn 🤖|½ ¾ ² ³ ⅷ Ⅻ ① ㊿ ௧ ৩|𝔄𝔅ℂ 𝒽𝑒𝓁𝓁𝑜 𝟙𝟚𝟛 𐐀𐐁|∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ≠ ∞
don't DON'T don’t 'tis rock'n'roll ''' 's 'S 'LL'd|a-b_c.d/e\\f @#$%^&*()+={}[]|~`<>?,;:"|1234567890 3.14159 -273.15 1e10 0x1F 12:30 50%""".replace('\n', '|').split('|')

SPECIALS = [START, END, START.upper(), END.upper(), '<|EndOfText|>', '<|startoftext|', '|endoftext|>', '<|endoftext|>>',
            '<<|endoftext|>', '!', '!!', '!!!<|ENDOFTEXT|>!!', '<|endoftext', "<|endoftext|>'s", '</w>', 'a</w>']

# Ranges of code points, by what they exercise.
RANGES = [(0x20, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58A), (0x591, 0x5F4),
          (0x600, 0x6FF), (0x900, 0x97F), (0xE01, 0xE5B), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1FFE),
          (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x23FF), (0x2460, 0x24FF),
          (0x3001, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAD9), (0xFB00, 0xFB4F), (0xFF01, 0xFFEE),
          (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x20000, 0x2A6DF)]
SPACES = ' \t\n\r\x0b\x0c\x85\xa0\u1680\u180e\u2000\u2003\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff'
CONTROLS = [chr(c) for c in [*range(1, 32), *range(0x7F, 0xA0)]] + ['\u200c', '\u200d', '\u200e', '\u202e', '\ufe0f',
                                                                   '\ufffd', '\ufffe', '\U000e0041']


def is_assigned(c):
    """In Unicode 14, which is what Python 3.11 knows; newer characters differ between libraries of different age."""
    return unicodedata.category(chr(c)) not in ('Cn', 'Cs', 'Co')


def random_char(rng):
    low, high = rng.choice(RANGES)
    while True:
        c = rng.randint(low, high)
        if is_assigned(c):
            return chr(c)


def random_text(rng):
    """A few runs, each of one kind: characters of one range, spaces, controls, digits, a marker, part of a sentence."""
    parts = []
    for _ in range(rng.randint(1, 5)):
        kind = rng.random()
        if kind < .35:
            low, high = rng.choice(RANGES)
            parts += [chr(c) for c in (rng.randint(low, high) for _ in range(rng.randint(1, 8))) if is_assigned(c)]
        elif kind < .5:
            sentence = rng.choice(SENTENCES)
            at = rng.randrange(len(sentence))
            parts.append(sentence[at:at + rng.randint(1, 20)])
        elif kind < .6:
            parts += rng.choices(SPACES, k=rng.randint(1, 3))
        elif kind < .68:
            parts += rng.choices(CONTROLS, k=rng.randint(1, 2))
        elif kind < .76:
            parts.append(random_char(rng) + ''.join(chr(rng.randint(0x300, 0x36F)) for _ in range(rng.randint(1, 4))))
        elif kind < .82:
            parts.append(rng.choice(["'s", "'t", "'re", "'VE", "'m", "'ll", "'D", "'", "''", "\u2019s"]))
        elif kind < .88:
            parts.append(str(rng.randrange(10 ** rng.randint(1, 8))))
        elif kind < .92:
            parts.append(rng.choice(SPECIALS))
        else:
            parts.append(random_char(rng))
        if rng.random() < .3:
            parts.append(' ')
    return unicodedata.normalize(rng.choice(['NFC', 'NFD', 'NFC']), ''.join(parts))


def make_texts():
    rng = random.Random(2)
    texts = ['', ' ', *SENTENCES, *SPECIALS]
    texts += [unicodedata.normalize('NFD', s) for s in SENTENCES] + [s.upper() for s in SENTENCES]
    texts += ['photo ' * 100, 'x' * 1000, 'supercalifragilisticexpialidocious' * 12, 'é' * 300, '1' * 90, '!' * 200,
              ' '.join('!' * 75) + ' <|endoftext|> a', 'a ' * 74 + 'b', 'a ' * 75 + 'b', 'a ' * 76 + 'b']
    texts += [random_text(rng) for _ in range(2200)]
    return texts


def is_carried(text):
    return '\0' not in text and not any(0xD800 <= ord(c) < 0xE000 for c in text)


def load(folder, config, special):
    for name, content in (('tokenizer_config.json', config), ('special_tokens_map.json', special)):
        path = os.path.join(folder, name)
        if content is not None:
            with open(path, 'w') as f:
                json.dump(content, f)
        elif os.path.exists(path):
            os.remove(path)
    return CLIPTokenizerFast.from_pretrained(folder)


def cases(tokenizer, texts):
    """[text, ids cut to 77 without the padding, how many the text needs]"""
    cut = tokenizer(texts, truncation=True, max_length=77).input_ids
    full = tokenizer(texts).input_ids
    return [[t, c, len(f)] for t, c, f in zip(texts, cut, full)]


def hash_ids(lists):
    """FNV-1a, 64 bits, over the ids as 4 little-endian bytes, each list followed by 0xFFFFFFFF."""
    h = 0xcbf29ce484222325
    for ids in lists:
        for b in b''.join(i.to_bytes(4, 'little') for i in ids) + b'\xff\xff\xff\xff':
            h = (h ^ b) * 0x100000001b3 % 2 ** 64
    return '%016x' % h


def code_points(tokenizer):
    """For each run of up to 256 assigned code points: first, count, hash of the ids of "a" + the character + "b"."""
    rows, run = [], []
    for c in range(1, 0x110001):
        if c < 0x110000 and is_assigned(c):
            run.append(c)
        if run and (run[-1] != c or len(run) == 256):
            texts = ['a' + chr(x) + 'b' for x in run]
            rows.append([run[0], len(run), hash_ids(tokenizer(texts).input_ids)])
            run = []
    return rows


def main():
    texts = [t for t in make_texts() if is_carried(t)]
    result = {'variants': []}
    with tempfile.TemporaryDirectory() as folder:
        write_vocabulary(folder)
        for name, (config, special) in VARIANTS.items():
            tokenizer = load(folder, config, special)
            chosen = texts if name == 'plain' else SPECIALS + texts[1:400:9]
            result['variants'].append(dict(name=name, config=config, special=special, pad=tokenizer.pad_token_id,
                                           cases=cases(tokenizer, chosen)))
            if name == 'plain':
                result['code_points'] = code_points(tokenizer)
    mini = os.path.join(HERE, '..', '..', MINI)
    if os.path.isdir(mini):
        tokenizer = CLIPTokenizerFast.from_pretrained(mini)
        result['variants'].append(dict(name='mini', folder=MINI, pad=tokenizer.pad_token_id,
                                       cases=cases(tokenizer, texts[:400])))
    with gzip.GzipFile(os.path.join(DATA, 'tokenizer.json.gz'), 'w', mtime=0) as f:
        f.write(json.dumps(result, ensure_ascii=False, separators=(',', ':')).replace('],[', '],\n[').encode())
    print('strings', sum(len(v['cases']) for v in result['variants']), 'code point runs', len(result['code_points']))


if __name__ == '__main__':
    main()
