"""Prompts the mini model is taught, and its CLIP-layout tokenizer, in plain Python."""
import collections
import json
import os
import random
import re

# How people name each style. HELD_OUT_WORDS and HELD_OUT_TEMPLATES are never trained: they measure unknown wording.
# These words, those that a look below has taken over too, are the text that the tokenizer is made from.
FIRST_WORDS = dict(
    photo=['photo', 'photograph', 'realistic photo', 'sharp photo', 'restored photo', 'natural photo', 'clean photo',
           'high quality photograph', 'photorealistic', 'photo realistic', 'dslr photo', 'real life', 'realistic', 'natural',
           'enhanced photo', 'sharpen', 'denoise', 'enhance', 'restore', 'original', 'no style', 'portrait photo', 'raw photo',
           'hdr photo', 'camera', 'webcam', 'video frame', 'unchanged', 'normal', 'plain photo', 'snapshot', 'photography'],
    oil=['oil painting', 'oil on canvas', 'painted in oil', 'impasto oil painting', 'van gogh painting', 'van gogh', 'gogh',
         'impressionist painting', 'impressionism', 'expressive brush strokes', 'thick brush strokes', 'oil paint', 'oil',
         'painting', 'post-impressionism', 'in the style of van gogh', 'rembrandt', 'rembrandt portrait', 'baroque painting',
         'renaissance painting', 'classical painting', 'old master painting', 'oils', 'painted portrait', 'cezanne', 'renoir',
         'starry night', 'acrylic painting', 'acrylic', 'palette knife painting', 'expressionist painting', 'brushwork',
         'munch', 'klimt', 'painterly', 'fauvism', 'matisse', 'paint strokes', 'canvas painting', 'da vinci', 'vermeer'],
    watercolor=['watercolor', 'watercolour', 'watercolor painting', 'watercolour painting', 'aquarelle', 'water colour',
                'painted in watercolor', 'wet watercolor on paper', 'loose watercolor', 'watercolor wash', 'gouache',
                'monet', 'claude monet', 'monet painting', 'turner', 'water color', 'watercolor sketch', 'pastel painting',
                'pastel', 'soft washes', 'tempera', 'ghibli', 'ghibli watercolor', 'storybook illustration', 'wet on wet',
                'water lilies', 'chinese painting', 'fresco', 'childrens book illustration'],
    pencil=['pencil sketch', 'pencil drawing', 'graphite drawing', 'drawn in pencil', 'hatched pencil drawing', 'pencil',
            'graphite sketch', 'hand drawn sketch', 'sketch', 'drawing', 'sketchbook page', 'graphite', 'line drawing',
            'pencil portrait', 'sketchy drawing', 'cross hatching', 'doodle', 'rough sketch', 'drawn with a pencil',
            'pencil shading', 'leonardo sketch', 'sketched', 'hand drawn', 'architectural sketch'],
    ink=['ink drawing', 'pen and ink', 'black ink', 'woodcut', 'linocut', 'ink illustration', 'engraving', 'ink',
         'black and white ink', 'brush and ink', 'manga ink', 'comic inks', 'manga', 'etching', 'lithograph', 'pen drawing',
         'india ink', 'sumi-e', 'calligraphy ink', 'durer', 'stencil', 'block print', 'noir comic', 'inked', 'sin city',
         'ballpoint pen', 'ink sketch', 'black and white comic'],
    cartoon=['cartoon', 'comic', 'cartoon style', 'cel shading', 'cel shaded', 'comic book', 'anime', 'animated film', 'toon',
             'flat colors with outlines', 'graphic novel', 'anime style', 'disney', 'pixar', 'simpsons', 'comic strip',
             'animation', 'cartoonish', 'tintin', 'vector art', 'flat illustration', 'illustration', 'saturday morning cartoon',
             'caricature', 'superhero comic', 'borderlands', 'marvel comic', 'cartoon character', 'animated'],
    mosaic=['mosaic', 'tile mosaic', 'roman mosaic', 'byzantine mosaic', 'ceramic tiles', 'made of tiles', 'pebble mosaic',
            'tessellation', 'glass tiles', 'stained glass', 'stained glass window', 'tiles', 'tiled', 'church window', 'gaudi',
            'tesserae', 'voronoi', 'broken tiles', 'mosaic tiles', 'low poly', 'leaded glass', 'cubism', 'cubist', 'picasso',
            'smalti', 'floor mosaic'],
    neon=['neon', 'night neon', 'neon lights', 'neon glow', 'cyberpunk', 'glowing neon outlines', 'synthwave', 'neon sign',
          'glowing edges', 'tron', 'vaporwave', 'blade runner', 'glow', 'glowing', 'laser light', 'blacklight', 'fluorescent',
          'neon outline', 'hologram', 'electric', 'outrun', 'light painting', 'glow in the dark', 'neon tubes', 'sci-fi neon',
          'futuristic'],
    vintage=['vintage film', 'old film', 'retro film', 'analog film', 'faded film photo', 'film grain', 'kodak film', 'polaroid',
             '1970s photo', 'nostalgic film still', '35mm film', 'vintage', 'retro', 'vintage photo', 'old photo', 'analog',
             'instagram', 'lomo', 'lomography', '70s', '1960s', 'super 8', 'faded', 'retro photo', 'film photo', 'old movie',
             'kodachrome', 'grainy film', 'vintage look', 'wes anderson'],
    charcoal=['charcoal', 'charcoal drawing', 'charcoal sketch', 'drawn in charcoal', 'smudged charcoal', 'conte crayon',
              'rough charcoal on paper', 'black chalk', 'chalk', 'chalk drawing', 'charcoal portrait', 'coal', 'soft charcoal',
              'charcoal on paper', 'smudged drawing', 'burnt wood drawing', 'kollwitz', 'dark chalk', 'crayon'],
    popart=['pop art', 'pop art print', 'halftone', 'halftone dots', 'warhol', 'silk screen print', 'screen print', 'popart',
            'lichtenstein', 'comic halftone', 'ben day dots', 'andy warhol', 'andy warhol print', 'roy lichtenstein', 'pop-art',
            'screenprint', 'risograph', 'poster', 'psychedelic poster', 'pop', 'silkscreen', '60s poster', 'duotone', 'banksy',
            'printed poster', 'campbell soup'],
    pixelart=['pixel art', '8 bit', '8-bit game', '16 bit game', 'pixelated', 'pixels', 'retro game', 'low resolution pixel art',
              'arcade game', 'sprite art', 'pixel', 'pixelart', '8-bit', '8bit', '16-bit', 'minecraft', 'nintendo', 'gameboy',
              'video game sprite', 'nes game', 'lego', 'blocky', 'voxel', 'pixel style', 'snes', 'dos game', 'atari'],
    blueprint=['blueprint', 'technical drawing', 'architectural blueprint', 'white lines on blue', 'cyanotype', 'schematic',
               'engineering drawing', 'blue print plan', 'blue print', 'blueprint drawing', 'floor plan', 'architect plan',
               'technical plan', 'cad drawing', 'construction plan', 'engineering plan', 'wireframe', 'technical blueprint',
               'draft', 'patent drawing'])
# Further looks. Their words are no part of that text: the tokenizer can spell them.
LOOK_WORDS = dict(
    comic=['comic', 'comic book', 'comic strip', 'superhero comic', 'marvel comic', 'comic halftone', 'comic style', 'comic page',
           'printed comic', 'american comic', 'comic panel', 'old comic', 'vintage comic', 'comic art', 'bold comic'],
    stainedglass=['stained glass', 'stained glass window', 'church window', 'leaded glass', 'cathedral window',
                  'stained glass panel', 'tiffany glass', 'glass window', 'stained window', 'chapel window', 'coloured glass'],
    linocut=['linocut', 'woodcut', 'block print', 'lino print', 'linocut print', 'woodblock', 'woodblock print',
             'carved print', 'relief print', 'lino', 'wood engraving', 'two color print', 'printed from a block'],
    riso=['risograph', 'riso', 'riso print', 'risograph print', 'two color riso', 'spot inks', 'misregistered print',
          'zine print', 'zine', 'duotone', 'duotone print', 'pink and blue print'],
    gold=['gold etching', 'gold', 'gold on black', 'gilded', 'golden engraving', 'golden lines', 'gold leaf', 'gold engraving',
          'gold foil', 'golden', 'engraved in gold', 'golden drawing', 'black and gold'],
    thermal=['thermal', 'thermal camera', 'heat map', 'infrared', 'thermal vision', 'heat camera', 'thermal image',
             'thermal imaging', 'predator vision', 'heatmap', 'heat vision', 'infrared camera', 'false color'])
TAKEN = {word for words in LOOK_WORDS.values() for word in words}
WORDS = {style: [w for w in words if w not in TAKEN] for style, words in FIRST_WORDS.items()} | LOOK_WORDS
FIRST_HELD_OUT_WORDS = dict(
    photo=['clear photograph', 'real photo', 'natural photography'], oil=['rembrandt oil portrait', 'impressionist oil', 'thick oil paint'],
    watercolor=['monet watercolor', 'watercolor illustration', 'soft watercolour'], pencil=['graphite pencil sketch', 'sketched in pencil', 'rough pencil'],
    ink=['ink engraving', 'black pen and ink', 'manga ink drawing'], cartoon=['anime cartoon', 'disney cartoon', 'comic cartoon'],
    mosaic=['glass mosaic', 'mosaic of tiles', 'stained glass mosaic'], neon=['neon cyberpunk', 'glowing neon', 'neon city lights'],
    vintage=['vintage film look', 'retro 70s film', 'old vintage photo'], charcoal=['charcoal chalk', 'rough charcoal', 'charcoal smudges'],
    popart=['warhol pop art', 'halftone poster', 'pop art poster'], pixelart=['8 bit pixel art', 'retro pixel game', 'nintendo pixel art'],
    blueprint=['blueprint plan', 'architect blueprint', 'technical schematic'])
HELD_OUT_WORDS = FIRST_HELD_OUT_WORDS | dict(
    mosaic=['glass mosaic', 'mosaic of tiles', 'smalti mosaic'], cartoon=['anime cartoon', 'disney cartoon', 'toon cartoon'],
    comic=['comic book page', 'superhero comic page', 'old comic print'],
    stainedglass=['stained glass church window', 'church glass', 'leaded window'],
    linocut=['lino block print', 'woodcut print', 'carved linocut'], riso=['riso zine', 'risograph duotone', 'two color risograph'],
    gold=['gold line etching', 'gold on black drawing', 'golden etching'],
    thermal=['thermal heat map', 'infrared vision', 'thermal infrared image'])
MOOD_WORDS = dict(
    none=[],
    sunset=['at sunset', 'golden hour', 'sunset light', 'warm evening light', 'at dusk', 'in warm light', 'sunset', 'sunrise',
            'at dawn', 'warm light', 'in the evening sun', 'orange light'],
    night=['at night', 'moonlit', 'night scene', 'in the moonlight', 'at midnight', 'dark blue night', 'night', 'moonlight',
           'by night', 'nighttime', 'in the dark'],
    winter=['in winter', 'snowy', 'winter day', 'cold and snowy', 'frosty', 'covered in snow', 'winter', 'snow', 'in the snow',
            'icy', 'frozen'],
    sepia=['sepia', 'sepia toned', 'in sepia', 'brown toned', 'monochrome sepia', 'sepia tone', 'old brown photo'])

# The inks of pop art. These words are no part of the text that the tokenizer is made from: it can spell them.
PALETTE_WORDS = {colour: [colour, 'in ' + colour, colour + ' inks', 'all ' + colour, 'in ' + other, colour + ' colors', other]
                 for colour, other in (('red', 'red and cream'), ('green', 'green and yellow'), ('blue', 'blue and white'),
                                       ('purple', 'purple and pink'))}

# {s} the style, {c} what is in the picture, {a} an ornament
TEMPLATES = [
    '{s}', '{s}', 'a {s}', '{s} style', 'in the style of {s}', '{c}, {s}', 'a {s} of {c}', '{s} of {c}', '{c} as a {s}',
    '{c} in {s} style', 'make it a {s}', 'make it {s}', 'turn this into a {s}', 'turn into {s}', 'turn it into {s}',
    'turn {c} into a {s}', '{s}, highly detailed', '{s}, masterpiece', 'beautiful {s}, best quality', '{c}, {a}, {s}', '{s}, {a}',
    '{a} {s}', 'a {s} with {a} look', '{c} {s}', 'show me as {s}', 'show me as a {s}', 'show {c} as {s}', 'convert to {s}',
    'convert this to a {s}', 'change to {s}', 'make me look like a {s}', 'draw me as {s}', 'paint me as {s}', 'as {s}', 'as a {s}',
    '{s} effect', '{s} filter', '{s} look', 'like a {s}', 'looks like {s}', 'transform into {s}', 'render as {s}', 'i want {s}',
    'give me a {s}', '{s} portrait of {c}', '{s} version of {c}', '{c} but {s}', '{s} artwork', '{s} art', '{a} {s} of {c}, {a}',
    'this is {s}', '{s} please', 'now {s}', 'make everything {s}']
HELD_OUT_TEMPLATES = ['{s} rendition', 'display me as {s}', '{c} rendered as a {s}, {a}', 'switch to {s}', 'the {s} look of {c}',
                      'could you make this {s}', 'restyle it as {s}']
SUBJECTS = ('a man,a woman,a person,a face,my face,a portrait,a girl,a boy,a cat,a dog,a bird,a horse,a city,a street,a house,'
            'a building,a room,a desk,a tree,a forest,mountains,a lake,the sea,a beach,a river,flowers,a garden,a car,a train,'
            'a boat,food,fruit,a cup of coffee,people talking,a crowd,a man with glasses,a woman with long hair,'
            'someone at a computer,hands,a landscape,a still life,a castle,a bridge,the sky,clouds,a field,an old man,a child,'
            'two people,a dancer,a musician,a robot,a wizard,the scene,the frame,this,everything,me,us,my cat,my dog,my room,'
            'the video,a panda,a tiger,a fox,a dragon,a knight,an astronaut,a skyscraper,a village,a market,a kitchen,'
            'an office,a window,a guitar,a bicycle,a ship,a plane').split(',')
ORNAMENTS = ('colorful,detailed,dramatic,soft,bright,dark,vivid,elegant,moody,dreamy,epic,beautiful,simple,rough,delicate,'
             'high contrast,cinematic,intricate,4k,trending,sharp focus,wide shot,close up,by a famous artist,studio light,'
             'professional,award winning,modern,classic,minimal,8k,ultra detailed,artstation,best quality,hd,abstract,'
             'traditional,stylish,cute,fantasy,gentle,strong,clean').split(',')
OTHER_WORDS = ('the quick brown fox jumps over the lazy dog. a video frame from a webcam in real time. light shadow color '
               'colour black white red green blue yellow orange purple pink gray brown gold silver water fire earth wind sun '
               'moon star world time year day night morning evening spring summer autumn winter north south east west left '
               'right up down front back top bottom big small old new good great long short high low young hot cold open close '
               'stand sit walk run look see smile laugh cry think speak play work read write draw paint make take give hold '
               'turn move stop start begin end first last next many much some any all none each every other another same '
               'different')


def prompt(style, mood, rng, held_out=False, words=None):
    """A random prompt for a style and mood; held_out: wording never used in training; words: instead of today's."""
    word = rng.choice((words or (HELD_OUT_WORDS if held_out else WORDS))[style])
    text = rng.choice(HELD_OUT_TEMPLATES if held_out else TEMPLATES)
    text = text.format(s=word, c=rng.choice(SUBJECTS), a=rng.choice(ORNAMENTS))
    if mood != 'none':
        words = MOOD_WORDS.get(mood) or PALETTE_WORDS[mood]
        text = rng.choice(['{p}, {m}', '{m}, {p}', '{p} {m}']).format(p=text, m=rng.choice(words))
    elif rng.random() < .15:
        text += ', ' + rng.choice(ORNAMENTS)
    return text


def training_prompts(style, mood, rng, count=320):
    """The pool of prompts that stand for one style and mood; photo also answers to no style at all."""
    pool = [prompt(style, mood, rng) for _ in range(count * (4 if mood == 'none' else 1))]
    if mood == 'none':
        pool += WORDS[style] * 6
    if style == 'photo':
        moods = MOOD_WORDS[mood] or ['']
        plain = [rng.choice(['{c}', '{c}, {a}', '{a} {c}', 'a photo of {c}', '{c} {a}']).format(
            c=rng.choice(SUBJECTS), a=rng.choice(ORNAMENTS)) for _ in range(len(pool) // 2)]
        pool += [', '.join(filter(None, [p, rng.choice(moods)])) for p in plain] + moods * 30
    return pool


# Looks that the model was taught, and that are not good enough to be offered: leads and dark lines cover what they show
UNLISTED = ('stainedglass', 'gold')


def style_table():
    """What the program needs to know about the training and the words: {'styles': {name: phrases}, 'moods': {...}}.
    The program draws no style that is not in it. `detail`, how much of the input's fine detail pictures get, was chosen by eye on held-out photos."""
    palettes = ['%s pop art' % c for c in PALETTE_WORDS]
    return dict(default='photo', strength='blend', guidance=False, lattice=16, detail=dict(photo=.5, vintage=.3),
                styles={s: WORDS[s] + (palettes if s == 'popart' else []) for s in WORDS if s not in UNLISTED},
                moods={m: w for m, w in MOOD_WORDS.items() if w})


# ---------------------------------------------------------------------------------------------- tokenizer

PATTERN = re.compile(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[a-z]+|[0-9]|[^\sa-z0-9]+", re.I)


def byte_characters():
    """The printable character CLIP writes for each byte."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(c) for b, c in zip(plain + rest, plain + [256 + i for i in range(len(rest))])}


BYTES = byte_characters()


def merge(symbols, pair):
    """Join every occurrence of the pair."""
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i:i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def spell(word):
    """A word as its byte characters, the last marked as the end of the word."""
    symbols = [BYTES[b] for b in word.encode()]
    return symbols[:-1] + [symbols[-1] + '</w>']


def train_tokenizer(size=1395, seed=3):
    """Byte-pair merges of the prompts above: (vocabulary, merges), exactly `size` tokens with the two special ones."""
    rng = random.Random(seed)
    texts = []
    for style, mood in ((s, m) for s in FIRST_WORDS for m in MOOD_WORDS for _ in range(140)):
        held_out = rng.random() < .1
        texts.append(prompt(style, mood, rng, held_out, FIRST_HELD_OUT_WORDS if held_out else FIRST_WORDS))
    texts += [w for words in (*FIRST_WORDS.values(), *FIRST_HELD_OUT_WORDS.values(), *MOOD_WORDS.values()) for w in words] * 6
    texts += [OTHER_WORDS] * 8 + [' '.join(SUBJECTS + ORNAMENTS)] * 20
    count = collections.Counter(w for t in texts for w in PATTERN.findall(t.lower()))
    words = {w: spell(w) for w in sorted(count)}
    vocabulary = list(BYTES.values()) + [c + '</w>' for c in BYTES.values()]
    merges = []
    while len(vocabulary) < size - 2:
        pairs = collections.Counter()
        for word, symbols in words.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += min(count[word], 200)
        best = max(pairs.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append(best)
        vocabulary.append(best[0] + best[1])
        words = {w: merge(s, best) if best[0] in s else s for w, s in words.items()}
    vocabulary += ['<|startoftext|>', '<|endoftext|>']
    assert len(set(vocabulary)) == size, 'a merge spelled an existing token'
    return {token: i for i, token in enumerate(vocabulary)}, merges


def write_tokenizer(folder):
    """Train the tokenizer and write it in the layout of transformers' CLIPTokenizer."""
    vocabulary, merges = train_tokenizer()
    special = dict(bos_token='<|startoftext|>', eos_token='<|endoftext|>', pad_token='<|endoftext|>', unk_token='<|endoftext|>')
    config = dict(tokenizer_class='CLIPTokenizer', model_max_length=77, **special, do_lower_case=True,
                  add_prefix_space=False, errors='replace')
    os.makedirs(folder, exist_ok=True)
    write = lambda name, text: open(os.path.join(folder, name), 'w', encoding='utf-8').write(text)
    write('vocab.json', json.dumps(vocabulary, ensure_ascii=False))
    write('merges.txt', '#version: 0.2\n' + ''.join('%s %s\n' % pair for pair in merges))
    write('tokenizer_config.json', json.dumps(config, indent=1))
    write('special_tokens_map.json', json.dumps(special, indent=1))


class Tokenizer:
    """CLIP's rules: lower case, byte pairs inside words, 77 ids, padded with the end token."""

    def __init__(self, folder):
        self.ids = json.load(open(os.path.join(folder, 'vocab.json'), encoding='utf-8'))
        lines = open(os.path.join(folder, 'merges.txt'), encoding='utf-8').read().split('\n')[1:]
        self.rank = {tuple(line.split(' ')): i for i, line in enumerate(lines) if line}

    def word(self, word):
        symbols = spell(word)
        while len(symbols) > 1:
            pair = min(zip(symbols, symbols[1:]), key=lambda p: self.rank.get(p, 1 << 30))
            if pair not in self.rank:
                break
            symbols = merge(symbols, pair)
        return [self.ids[s] for s in symbols]

    def __call__(self, text, length=77):
        start, end = self.ids['<|startoftext|>'], self.ids['<|endoftext|>']
        ids = [start]
        for word in PATTERN.findall(' '.join(text.lower().split())):
            ids += self.word(word)
        ids = ids[:length - 1] + [end]
        return ids + [end] * (length - len(ids))
