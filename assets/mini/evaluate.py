"""How good a model is: figures against the style targets, steadiness on clips, and sheets to look at."""
import glob
import json
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import data
import exemplars
import targets
import text
from model import DEVICE, Model, log

STANDARD_PROMPT = dict(photo='photo', oil='oil painting', watercolor='watercolor', pencil='pencil sketch', ink='ink drawing',
                       cartoon='cartoon', mosaic='mosaic', neon='night neon', vintage='vintage film',
                       charcoal='charcoal drawing', popart='pop art', pixelart='pixel art', blueprint='blueprint',
                       comic='comic', stainedglass='stained glass', linocut='linocut', riso='risograph',
                       gold='gold etching', thermal='thermal camera')


def psnr(a, b):
    return -10 * torch.log10((a.clamp(0, 1) - b).square().mean((1, 2, 3)).clamp_min(1e-8))


def ssim(a, b):
    a, b = targets.luminance(a.clamp(0, 1)), targets.luminance(b)
    smooth = lambda x: targets.blur(x, 1.5)
    ma, mb = smooth(a), smooth(b)
    va, vb, cov = smooth(a * a) - ma * ma, smooth(b * b) - mb * mb, smooth(a * b) - ma * mb
    return (((2 * ma * mb + 1e-4) * (2 * cov + 9e-4)) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4))).mean((1, 2, 3))


def save_sheet(path, columns):
    """Columns of pictures (each (rows,3,H,W)) as one JPEG."""
    sheet = torch.cat([torch.cat(list(column), 1) for column in columns], 2)
    array = (sheet.float().clamp(0, 1).permute(1, 2, 0).cpu().numpy() * 255 + .5).astype(np.uint8)
    Image.fromarray(array).save(path, quality=86)


def flicker(frames, before):
    """Mean frame-to-frame change where the input stands still (its own change, smoothed, stays below .012)."""
    moved = (before[1:] - before[:-1]).abs().mean(1, keepdim=True)
    still = targets.blur(moved, 3.) < .012
    change = (frames[1:] - frames[:-1]).abs().mean(1, keepdim=True)
    return (change * still).sum().item() / max(1, still.sum().item())


def load_clips(root, device):
    """{name: (frames,3,256,256)}: the packed clips, and held-out stills under changing sensor noise."""
    clips = {}
    for folder in sorted(glob.glob(os.path.join(root, 'clips', '*'))):
        files = sorted(glob.glob(folder + '/*.webp'))
        clips[os.path.basename(folder)] = torch.stack([data.to_tensor(data.decode(f)) for f in files]).to(device)
    stills = data.held_out_crops(root).to(device)[1::8][:4]
    generator = torch.Generator('cpu').manual_seed(7)
    for i, still in enumerate(stills):
        noise = torch.randn(8, 3, *still.shape[1:], generator=generator).to(device) * .012
        clips['still%d' % i] = (still + noise).clamp(0, 1)
    return clips


def paintings(root, count):
    """Style pictures from the training set: (count,3,224,224)."""
    files = [row['file'] for row in data.read_sources(root) if row['kind'] == 'art']
    whole = [Image.fromarray(data.decode(os.path.join(root, file))) for file in files[::max(1, len(files) // count)][:count]]
    square = [image.resize((exemplars.SIDE,) * 2, Image.BICUBIC,
                           ((w - min(w, h)) // 2, (h - min(w, h)) // 2, (w + min(w, h)) // 2, (h + min(w, h)) // 2))
              for image in whole for w, h in [image.size]]
    return torch.stack([data.to_tensor(np.asarray(image)) for image in square]).to(DEVICE) if square else None


def with_pictures(root, model, crops, noise, out, filters):
    """How near frames with a style picture come to what was taught, in dB; writes pictures.jpg.

    "picture": the frame drawn with a style picture and no style in words; "none": the same without; "moved": the
    filter's picture of the frame itself, before its colours are moved.
    """
    torch.manual_seed(13)
    frames, others, figures = crops[:6], crops.roll(len(crops) // 2, 0)[:6], {}
    columns = [frames]
    for style in ('oil', 'pencil', 'cartoon', 'pixelart', 'stainedglass', 'riso'):
        draw = lambda x: filters[style](x, noise.expand(len(x), -1, -1, -1))
        made = draw(frames)
        usual = [q.expand(len(frames), *q.shape) for q in exemplars.usual(torch.cat([draw(x) for x in crops.split(16)]))]
        pictures = F.interpolate(exemplars.graded(draw(others)), size=(exemplars.SIDE,) * 2, mode='bicubic', antialias=True)
        pictures = pictures.clamp(0, 1)
        wanted = exemplars.moved(made, usual, exemplars.colours(pictures))
        drawn = torch.cat([model.draw(x[None], 'photo', noise, picture=p[None]) for x, p in zip(frames, pictures)])
        plain = model.draw(frames, 'photo', noise)
        mean = lambda a: psnr(a, wanted).mean().item()
        figures[style] = dict(picture=mean(drawn), none=mean(plain), moved=mean(made))
        small = F.interpolate(pictures, size=frames.shape[2:], mode='bilinear', align_corners=False)
        columns += [small, wanted, drawn]
    save_sheet(os.path.join(out, 'pictures.jpg'), columns)
    shown = paintings(root, 6)
    if shown is not None:
        columns = [crops[:6]]
        for picture in shown:
            drawn = model.draw(crops[:6], 'photo', noise, picture=picture[None])
            drawn[0, :, :112, :112] = F.avg_pool2d(picture, 2)             # the picture itself, in the corner
            columns.append(drawn)
        save_sheet(os.path.join(out, 'paintings.jpg'), columns)
    return figures


def evaluate(root, folder, out, filters=targets.STYLES, steps=(1, 2, 4), with_clips=True):
    """Compare a model with the style targets on the held-out crops; returns the figures and writes the sheets."""
    os.makedirs(out, exist_ok=True)
    torch.backends.cudnn.allow_tf32 = False                                  # as a CPU would see it
    model, result = Model(folder), dict(styles={}, flicker={}, prompts={})
    generator = torch.Generator('cpu').manual_seed(11)
    noise = torch.randn(1, 16, 32, 32, generator=generator).to(DEVICE)
    crops = data.held_out_crops(root).to(DEVICE)
    torch.manual_seed(12)
    damaged = data.degrade(crops, torch.ones(len(crops), dtype=torch.bool, device=DEVICE))
    shown = list(range(0, len(crops), max(1, len(crops) // 8)))[:8]
    made_columns, target_columns = [crops[shown]], [crops[shown]]
    for style, make in filters.items():
        wanted = torch.cat([make(x, noise.expand(len(x), -1, -1, -1)) for x in crops.split(16)])
        given = damaged if style == 'photo' else crops
        row = {}
        for count in steps:
            made = model.draw(given, STANDARD_PROMPT[style], noise, count)
            row[str(count)] = (psnr(made, wanted).mean().item(), ssim(made, wanted).mean().item())
            if count == 1:
                made_columns.append(made[shown])
                target_columns.append(wanted[shown])
        rebuilt = model.rebuild(wanted)
        row['autoencoder'] = (psnr(rebuilt, wanted).mean().item(), ssim(rebuilt, wanted).mean().item())
        row['input'] = (psnr(given, wanted).mean().item(), ssim(given, wanted).mean().item())
        result['styles'][style] = row
        log(style, ' '.join('%s %.2f/%.3f' % (k, *v) for k, v in row.items()))
    keys = result['styles']['photo']
    result['mean'] = {k: sum(r[k][0] for r in result['styles'].values()) / len(result['styles']) for k in keys}
    log('mean PSNR', {k: round(v, 2) for k, v in result['mean'].items()})
    save_sheet(os.path.join(out, 'styles.jpg'), made_columns)
    save_sheet(os.path.join(out, 'targets.jpg'), target_columns)

    # wording never trained: which target is the picture nearest to?
    rng, right, total, wrong = random.Random(99), 0, 0, []
    few = crops[shown][:4]
    wanted = {s: make(few, noise.expand(len(few), -1, -1, -1)) for s, make in filters.items()}
    for style in filters:
        for _ in range(6):
            words = text.prompt(style, 'none', rng, held_out=True)
            made = model.draw(few, words, noise)
            nearest = min(wanted, key=lambda s: (made - wanted[s]).square().mean().item())
            right, total = right + (nearest == style), total + 1
            if nearest != style:
                wrong.append((words, style, nearest))
    result['prompts'] = dict(right=right, total=total, wrong=wrong)
    log('unseen wording: %d of %d' % (right, total), wrong)

    result['pictures'] = with_pictures(root, model, crops, noise, out, filters)
    log('with a style picture', {s: {k: round(v, 1) for k, v in row.items()} for s, row in result['pictures'].items()})

    if with_clips:
        for name, frames in load_clips(root, DEVICE).items():
            base = flicker(frames, frames)
            row = dict(input=base)
            for style, make in filters.items():
                made = model.draw(frames, STANDARD_PROMPT[style], noise)
                wanted = torch.cat([make(x, noise.expand(len(x), -1, -1, -1)) for x in frames.split(16)])
                row[style] = (flicker(made, frames) / base, flicker(wanted, frames) / base)
            result['flicker'][name] = row
            log('flicker', name, {k: v if k == 'input' else tuple(round(u, 2) for u in v) for k, v in row.items()})
        mean = lambda names: {s: [sum(result['flicker'][n][s][i] for n in names) / len(names) for i in (0, 1)] for s in filters}
        result['flicker_mean'] = mean(list(result['flicker']))
        result['flicker_mean_without_cockatoo'] = mean([n for n in result['flicker'] if n != 'cockatoo'])
        log('flicker mean', {s: [round(u, 2) for u in v] for s, v in result['flicker_mean'].items()})
    with open(os.path.join(out, 'evaluation.json'), 'w') as file:
        json.dump(result, file, indent=1)
    return result


def look(root, folder, out):
    """Sheets to judge by eye: the files of DATA/look (faces, rooms, ...) at 512 in every style, moods, free prompts."""
    os.makedirs(out, exist_ok=True)
    model = Model(folder)
    noise = torch.randn(1, 16, 64, 64, generator=torch.Generator('cpu').manual_seed(13)).to(DEVICE)
    files = sorted(glob.glob(os.path.join(root, 'look', '*')))
    if not files:
        return
    frames = torch.stack([data.to_tensor(data.decode(f)) for f in files]).to(DEVICE)
    for part in range(0, len(frames), 2):
        rows = frames[part:part + 2]
        drawn = [rows] + [model.draw(rows, STANDARD_PROMPT[s], noise) for s in targets.STYLES]
        for i in range(0, len(drawn), 7):
            save_sheet(os.path.join(out, 'look%d-%d.jpg' % (part, i // 7)), drawn[i:i + 7])
    small = F.interpolate(frames, size=(256, 256), mode='area')
    noise = noise[..., :32, :32]
    free = ['', 'at sunset', 'at night', 'in winter', 'sepia', 'oil painting at night', 'watercolor, golden hour', 'monet',
            'rembrandt portrait', 'stained glass', 'anime girl', 'cyberpunk city', 'show me as a comic', '8 bit hero', 'a cat']
    save_sheet(os.path.join(out, 'prompts.jpg'), [small] + [model.draw(small, p, noise) for p in free])
    save_sheet(os.path.join(out, 'small.jpg'), [small] + [model.draw(small, p, noise) for p in STANDARD_PROMPT.values()])


def check(folder):
    """Load the folder with diffusers and transformers and compare with this file's own networks."""
    from diffusers import AutoencoderTiny, EulerDiscreteScheduler, UNet2DConditionModel
    from safetensors.torch import load_file
    from transformers import CLIPTextModel, CLIPTokenizer, CLIPVisionModelWithProjection
    model = Model(folder)
    relative = lambda a, b: ((a - b).norm() / b.norm()).item()
    unet = UNet2DConditionModel.from_pretrained(folder + '/unet', torch_dtype=torch.float32).to(DEVICE)
    vae = AutoencoderTiny.from_pretrained(folder + '/vae', torch_dtype=torch.float32).to(DEVICE)
    writer = CLIPTextModel.from_pretrained(folder + '/text_encoder', torch_dtype=torch.float32).to(DEVICE)
    tokenizer = CLIPTokenizer.from_pretrained(folder + '/tokenizer')
    viewer = CLIPVisionModelWithProjection.from_pretrained(folder + '/image_encoder', torch_dtype=torch.float32).to(DEVICE)
    scheduler = EulerDiscreteScheduler.from_pretrained(folder + '/scheduler')
    torch.manual_seed(0)
    x, words, t = torch.randn(2, 32, 32, 32), torch.randn(2, 77, 256), torch.tensor([999, 249])
    y = torch.rand(2, 3, 256, 256) * 2 - 1
    rng = random.Random(5)
    prompts = [text.prompt(rng.choice(list(text.WORDS)), 'none', rng, held_out=i % 2 == 0) for i in range(300)]
    prompts += ['A Cat, in OIL painting style!! 4k', '', 'monet & friends (1890)']
    same = sum(tokenizer(p, padding='max_length', max_length=77, truncation=True).input_ids == model.tokenizer(p) for p in prompts)
    with torch.no_grad():
        print('unet', relative(model.unet(x, t, words), unet(x, t, words).sample), sum(p.numel() for p in unet.parameters()))
        print('encoder', relative(model.ae.encoder(y), vae.encode(y).latents))
        print('decoder', relative(model.ae.decoder(x[:, :16]), vae.decode(x[:, :16]).sample))
        ids = torch.tensor([model.tokenizer(p) for p in prompts[:8]])
        print('text', relative(model.writer(ids), writer(ids).last_hidden_state))
        print('prompts tokenised alike: %d of %d' % (same, len(prompts)))
        noise = torch.randn(1, 16, 32, 32)
        frame, latents = (y[:1] + 1) / 2, vae.encode(y[:1]).latents
        for steps in (1, 2, 4):
            scheduler.set_timesteps(steps)
            context = writer(torch.tensor([model.tokenizer('oil painting')])).last_hidden_state
            z = noise * scheduler.init_noise_sigma
            for stop in scheduler.timesteps:
                v = unet(torch.cat([scheduler.scale_model_input(z, stop), latents], 1), stop, context).sample
                z = scheduler.step(v, stop, z).prev_sample
            theirs = vae.decode(z).sample.add(1).div(2).clamp(0, 1)
            print('%d steps, diffusers Euler against draw(): %.1f dB' % (
                steps, psnr(model.draw(frame, 'oil painting', noise, steps), theirs).item()), scheduler.timesteps.tolist())
        pictures = torch.rand(2, 3, exemplars.SIDE, exemplars.SIDE)
        seen = viewer((pictures - model.viewer.mean) / model.viewer.spread).image_embeds
        print('image encoder', relative(model.viewer(pictures), seen))
        weights = dict(image_proj={}, ip_adapter={})
        for name, value in load_file(folder + '/ip_adapter.safetensors').items():
            part, rest = name.split('.', 1)
            weights[part][rest] = value.float()
        unet._load_ip_adapter_weights([weights])
        theirs = unet(x, t, words, added_cond_kwargs=dict(image_embeds=[seen[:, None]])).sample
        print('unet with style pictures', relative(model.unet(x, t, words, model.adapter(seen)), theirs),
              'without', relative(model.unet(x, t, words), theirs))
