"""What each style should look like: the pictures the mini model learns to make.

Every function takes frames `x` (B,3,H,W) in [0,1], H and W multiples of 32, and the noise latent `e`
(B,16,H/8,W/8) the U-Net starts from. All random texture (paper, bristles, grain, mosaic seeds) is a fixed function
of that noise. Hatching, dots and the dither of pixel art have a period of 8 pixels or divide it, tiles one of 16,
blueprint's grid one of 32. So (frame, noise) decides the target completely, one step has nothing left to average over,
and the texture stays put when the noise does.

Nothing here uses statistics of the whole picture: tone follows a fixed curve of the neighbourhood's brightness, so
that a change in one corner or in the exposure cannot make every line of the picture pump.
"""
import torch
import torch.nn.functional as F

from filters import (blur, cached, cloud, colour, colour_pair, crest, dots, drift, edges, energy, film, flow, grain,
                     ink_lines, kuwahara, local_mean, luminance, mix, narrow, opened, pixels, relief, saturate, smear,
                     smoothstep, sobel, strokes, tangle, tesserae, tile_values, tone, triangle)
from looks import LOOKS


# ---------------------------------------------------------------------------------------------- the styles

def photo(x, e):
    return x


def oil(x, e):
    """Dabs smeared along the edges, in flat areas along a slow drift; broad and narrow bristles in relief."""
    grey = luminance(x)
    body = kuwahara((saturate(x, 1.3) - .5) * 1.08 + .5, 5, 8.)
    tx, ty = flow(grey, 6., 3e-4, drift(e, 8))
    busy = smoothstep(blur(energy(grey, 1.2), 5.), .015, .06)              # narrow strokes where there is detail
    sharp = grey - blur(grey, 2.)                                          # eyes stay eyes
    body = saturate(mix(body, smear(body, tx, ty, 6, 1.5), .7 - .35 * busy) + .55 * sharp * busy, 1.25)
    broad, narrow = grain(e, 2.2), grain(e, 1.)
    bristle = smear(mix(broad * .75, narrow, busy), tx, ty, 8, 1.6) * 2
    gx, gy = sobel(bristle * mix(torch.full_like(busy, .24), torch.full_like(busy, .20), busy) + luminance(body) * 1.6)
    light = (-.75 * gx - .65 * gy).clamp(-.4, .4)
    return (body * (1 + .06 * bristle) + light * .26).clamp(0, 1)


def watercolor(x, e):
    """Three transparent washes with dark rims and wobbling borders; the lights stay white paper."""
    batch, _, height, width = x.shape
    xx, yy = pixels(x)
    wobble = torch.stack([(xx + .7 * cloud(e, 6))[:, 0] * 2 / width - 1,
                          (yy + .7 * cloud(e, 7))[:, 0] * 2 / height - 1], -1)
    base = F.grid_sample(kuwahara(x, 4, 8.), wobble, mode='bilinear', padding_mode='border', align_corners=False)
    wash = kuwahara(base, 5, 8.)
    grey = luminance(wash)
    steps = tone(grey) * 4
    whole = torch.floor(steps)
    band = (whole + smoothstep(steps - whole, .24, .76)) / 4
    wash = wash * ((mix(grey, band, .6) * .80 + .23) / (grey + .08)).clamp(0, 3)
    wash = 1 - (1 - wash) * .92
    light = luminance(wash)
    rim = (blur(light, 3.) - light).clamp(0, 1) * 5 + (blur(light, 1.2) - light).clamp(0, 1) * 4
    drawn = (blur(luminance(x), 2.2) - blur(luminance(x), .7) - .012).clamp(0, .25)       # the finest brush
    pigment = (.9 + rim + 5. * drawn + .08 * cloud(e, 1) * light + .05 * grain(e, .6) * light).clamp(.3, 2.2)
    out = torch.exp(torch.log(saturate(wash, 1.55).clamp(.03, .995)) * pigment)     # Beer's law: more pigment, darker
    bare = smoothstep(blur(band, 1.2), .62, .98)
    paper = colour(x, .985, .975, .95) * (1 - .012 * grain(e, .5).clamp(-2, 2))
    return (mix(out, torch.ones_like(out), bare * .92) * paper).clamp(0, 1)


def pencil(x, e):
    """Graphite on white paper: fine outlines, and hatching that follows the forms, crossed in the darks."""
    grey = tone(luminance(x))
    dark = 1 - blur(kuwahara(grey, 3, 5.), 1.2)
    tx, ty = flow(grey, 9., 3e-4, drift(e, 8, .75))
    tooth, jitter = grain(e, .4), .06 * cloud(e, 2)
    first = smoothstep(strokes(x, tx, ty, jitter), .75 - .65 * dark, 1.15 - .65 * dark)
    second = smoothstep(strokes(x, tx, ty, jitter, 1.1), .80 - .5 * dark, 1.2 - .5 * dark)
    marks = .58 * first * smoothstep(dark, .26, .60) + .50 * second * smoothstep(dark, .55, .90)
    smudge = .42 * smoothstep(dark, .12, 1.)                               # graphite rubbed into the paper
    lines = ink_lines(relief(grey, 10., .12), .9, 13., .54, 4.)
    soft = smoothstep(energy(grey, 1.1), .02, .15) * .12
    value = (1 - marks * (1 + .28 * tooth).clamp(.2, 2)).clamp(.12, 1) * (1 - smudge) * (1 - soft) * (.16 + .84 * lines)
    value = .06 + .94 * value.clamp(0, 1) - .008 * tooth
    return (value * colour(x, .985, .98, .965) + (1 - value) * colour(x, .05, .055, .07)).clamp(0, 1)


def ink(x, e):
    """Black ink on cream paper: bold lines, engraved shading of one even slope that gives way to the forms, solid blacks."""
    body = kuwahara(kuwahara(x, 4, 6.), 3, 6.)
    grey = tone(luminance(body))
    fine = tone(luminance(mix(body, x, .45)))
    lines = ink_lines(relief(fine, 12., .10), 1.2, 15., .46, 5.)
    shade = blur(grey, 3.5)
    tx, ty = flow(grey, 12., 8e-3, drift(e, 8, 1.))                        # one slope where no strong form says another
    area = ((.56 - shade) / .46).clamp(0, 1)
    cover = .963 - .68 * area
    first = 1 - smoothstep(strokes(x, tx, ty, .04 * cloud(e, 3)), cover - .19, cover + .19) * smoothstep(area, .04, .35)
    solid = smoothstep(shade, .11, .31)                                    # black soon: hatching moves, black does not
    value = blur(smoothstep(lines * first * solid, .15, .80), .45)
    return mix(colour(x, .05, .045, .08), colour(x, .97, .945, .885) * (1 - .012 * grain(e, .5)), value).clamp(0, 1)


def cartoon(x, e):
    """Flat bands of saturated colour inside bold outlines, both drawn from a frame that was smoothed twice."""
    flat = kuwahara(kuwahara(x, 6, 8.), 6, 6.)
    grey = luminance(flat)
    steps = tone(mix(blur(grey, 3.), grey, .3)) * 4                        # bands with smooth borders, not of every fold
    whole = torch.floor(steps)
    band = (whole + smoothstep(steps - whole, .32, .68)) / 4
    light = luminance(x)
    line = relief(mix(luminance(kuwahara(x, 4, 8.)), blur(light, .9), .32), 10., .10)      # eyes and print keep some detail
    lines = smoothstep(ink_lines(line, 1.6, 14., .46, 5.), .20, .80)
    flat = flat * ((mix(grey, band, .70) * .93 + .14) / (grey + .06)).clamp(0, 3)
    flat = saturate(flat, 1.7).clamp(0, 1).pow(.90)
    return (flat * (.03 + .97 * lines)).clamp(0, 1)


def mosaic(x, e):
    """Square tiles of one colour in rows along the forms, small where there is detail, in thin dark grout."""
    calm = blur(opened(x, .5), 1.2)
    gx, gy = sobel(calm)
    edge = (gx * gx + gy * gy).sum(1, keepdim=True).add(1e-8).sqrt()
    small = smoothstep(blur(edge, 5.), .010, .038)
    tx, ty = flow(luminance(calm), 6., 3e-4, colour_pair(x, 1., 0.))       # upright rows where no edge says another way
    index, border, dx, dy = tesserae(x, e, small, edge, tx, ty)
    vivid = saturate(calm + .7 * (calm - blur(calm, 7.)), 1.45)            # each against its neighbours: eyes stay eyes
    vivid = ((vivid - .5) * 1.10 + .55).clamp(.05, 1)
    tint = mix(tile_values(vivid, index), blur(vivid, 1.), .45 * small)    # small tiles show the picture within
    vary = tile_values(F.interpolate(e[:, 2:5].float(), scale_factor=8., mode='nearest'), index).clamp(-2, 2)
    tint = tint * (1 + (.04 + .05 * (1 - small)) * vary[:, :1] + .03 * (vary - vary[:, :1]))
    tile = tint * (1 + .016 * (-dx - dy).clamp(-9, 9))                     # tipped to the light
    grout = mix(.46 * tint, .48 * tint + .02, small)
    return mix(grout, tile, smoothstep(border, .1, 1.3 - .4 * small)).clamp(0, 1)


def neon(x, e):
    """Thin tubes along the edges of a dark scene, in the object's own vivid hue; where there are many they glow less."""
    soft = blur(mix(x, kuwahara(x, 4, 7.), .55), .7)                       # fur and leaves would be sparks
    grey = luminance(soft)
    shape = relief(grey, 14., .10)
    strong = energy(shape, 1.)
    crowd = blur(strong, 8.)
    clear = strong / (.045 + .70 * crowd)
    calm = 1 - smoothstep(crowd, .012, .05) * tangle(grey, 4.)
    tube = crest(strong, .6, 1.5 + .7 * smoothstep(clear, .8, 2.5)) * smoothstep(clear, .50, 2.0) * (.2 + .8 * calm)
    tube = torch.maximum(tube, smoothstep(narrow(shape, 3, .74), .20, .46) * (.5 + .5 * calm))
    body = blur(soft, 2.)
    chroma = body - luminance(body)
    vivid = chroma.abs().amax(1, keepdim=True)
    tx, ty = flow(grey, 4., 0., 0.)
    angle = torch.atan2(ty, tx) * 2
    palette = torch.cat([.56 - .44 * torch.cos(angle), .30 - .30 * torch.cos(angle - 2.4),
                         .86 - .14 * torch.cos(angle - 4.)], 1)
    own = (.42 + .60 * chroma / (chroma.amax(1, keepdim=True) + .01)).clamp(0, 1)
    hue = mix(palette, own, smoothstep(vivid, .02, .09))
    lit = hue * tube
    halo = 1.8 * blur(lit, 2.2) + 3.4 * blur(lit, 6.) + 3. * local_mean(lit, 20.)
    glow = 2.6 * lit + 1.7 * halo / (1 + 8. * blur(tube, 7.))
    base = grey.clamp_min(0).pow(1.8) * colour(x, .07, .04, .22) + colour(x, .012, .005, .040) + .19 * saturate(soft * soft, 1.6)
    return (1 - (1 - base).clamp(0, 1) * torch.exp(-1.1 * glow) + .25 * tube * smoothstep(clear, 1., 3.)).clamp(0, 1)


def vintage(x, e):
    """Faded colour film: halation around the lights, lifted blacks, warm whites, fine grain."""
    grey = luminance(x)
    halo = blur(smoothstep(grey, .62, .98), 7.) * colour(x, .42, .13, .03)
    out = (1 - (1 - saturate(x, .68)) * (1 - halo)).clamp(0, 1)
    out = torch.cat([out[:, :1].pow(.86) * .90 + .085, out[:, 1:2].pow(.97) * .86 + .065,
                     out[:, 2:].pow(1.12) * .66 + .120], 1)
    out = mix(out, out * out * (3 - 2 * out), .45)
    return (out + .038 * film(e) * (1 - (grey - .5).abs())).clamp(0, 1)


def charcoal(x, e):
    """Broad dry lines and fine ones over smudged tone; deep blacks, and the lights stay bare paper."""
    grey = tone(luminance(x))
    body = kuwahara(grey, 4, 6.)
    tx, ty = flow(body, 12., 2e-3, drift(e, 8, .9))                        # one slope, but along strong forms
    tooth, streak = grain(e, .5), smear(grain(e, 1.), tx, ty, 6, 1.5) * 1.4
    dark = 1 - blur(mix(body, grey, .25), 1.2)
    middle = smoothstep(dark, .18, .45) * (1 - smoothstep(dark, .62, .90))
    rub = .56 * smoothstep(dark, .18, .86) + .38 * smoothstep(dark, .48, .94) + middle * (.035 * tooth + .050 * streak)
    fine = 1 - ink_lines(relief(mix(smear(body, tx, ty, 4, 1.2), grey, .25), 10., .15), 1.3, 13., .41, 4.)
    broad = 1 - ink_lines(relief(body, 20., .16), 2.6, 8., .44, 3.5)
    value = (1 - rub) * (1 - .80 * fine) * (1 - (.66 + .10 * streak) * broad)
    return mix(colour(x, .055, .05, .055), colour(x, .945, .93, .90), smoothstep(value, -.02, 1.04)).clamp(0, 1)


# Four inks from dark to light; a prompt names all but the first by the word
PALETTES = dict(plain=((.09, .03, .26), (.94, .07, .40), (1., .78, .06), (1., .97, .84)),
                red=((.09, .04, .06), (.84, .09, .12), (.98, .60, .50), (.99, .95, .84)),
                green=((.03, .15, .13), (.05, .55, .32), (.80, .86, .20), (.98, .97, .82)),
                blue=((.05, .06, .24), (.10, .34, .84), (.38, .80, .95), (.97, .97, .90)),
                purple=((.15, .03, .25), (.50, .16, .70), (1., .50, .70), (1., .93, .93)))


# Of the plain palette: the inks of cool things and of green ones
OTHER_INKS = (((.04, .04, .30), (.07, .30, .88), (.16, .80, .94), (1., .97, .84)),
              ((.02, .12, .16), (.02, .52, .36), (.70, .88, .16), (1., .97, .84)))


def popart(x, e, palettes=()):
    """Screen print: four bold inks, halftone dots wherever two of them meet, dark outlines.

    palettes: the palette of each picture, () for the plain one, which prints cool and green things in other inks.
    """
    body = kuwahara(kuwahara(x, 5, 8.), 3, 8.)
    grey = tone(luminance(blur(body, .8)))
    names = tuple(palettes) or ('plain',) * len(x)
    inks = cached(('inks', names, x.device), lambda: torch.tensor([PALETTES[n] for n in names], device=x.device))
    others = cached(('others', x.device), lambda: torch.tensor(OTHER_INKS, device=x.device))[..., None, None]
    plain = cached(('plain', names, x.device),
                    lambda: torch.tensor([float(n == 'plain') for n in names], device=x.device)).view(-1, 1, 1, 1)
    dot = dots(x)
    share = [smoothstep((grey - level) / reach + (dot - .5) * 1.1, -.14, .14) for level, reach in ((.24, .13), (.46, .24), (.73, .18))]
    printed = lambda four: mix(mix(mix(four[:, 0], four[:, 1], share[0]), four[:, 2], share[1]), four[:, 3], share[2])
    hue = blur(body, 1.5)
    cool = smoothstep(hue[:, 2:] - hue[:, :1], -.01, .13) * plain
    green = smoothstep(hue[:, 1:2] - torch.maximum(hue[:, :1], hue[:, 2:]), .0, .06) * plain
    out = mix(mix(printed(inks[..., None, None]), printed(others[:1]), cool), printed(others[1:]), green)
    line = relief(mix(luminance(kuwahara(body, 3, 6.)), blur(luminance(x), .8), .50), 10., .10)
    return (out * (.03 + .97 * smoothstep(ink_lines(line, 1.5, 14., .46, 5.), .20, .80))).clamp(0, 1)


# The 40 colours of pixel art: greys, earths, reds, yellows, greens, blues, violets
PIXEL_COLOURS = """0d0b1a 2a2440 48475a 7b7b88 a9abb3 d9dbe0 fdfbf4 2b1218 5a2a26 94402f c9663a ee9a5c fac48c
ffe6c0 7a5a48 8e1238 da2b34 ff5a4a f5831f ffb224 ffde4a fff59a b7cf3a a5957e 8f7a22 0f3326 1c6b36 3fa53c 8cd34a 0c5a6a
1fa7a0 141c3f 24529e 2f86e0 5fc0f2 b8eaff 5a7aa0 4a1a78 8f35b5 ffa3cf"""


def pixelart(x, e):
    """Blocks of four pixels in 40 vivid colours: flat clusters in dark outlines, dithered in soft mid-tones."""
    colours = cached(('pixels', x.device), lambda: torch.tensor(
        [[int(h[i:i + 2], 16) / 255 for i in (0, 2, 4)] for h in PIXEL_COLOURS.split()], device=x.device))
    axes = cached(('axes', x.device), lambda: torch.tensor(
        [[.42, .60, .20], [.70, -.70, 0.], [-.30, -.30, .60]], device=x.device))
    height, width = x.shape[2:]
    flat = kuwahara(x, 4, 4.)                                              # texture would be speckles, and its noise
    light = luminance(flat)
    flat = mix(light, luminance(x), .5) + 1.5 * blur(flat - light, 1.8)    # colours are calmer blurred than brightness
    small = F.avg_pool2d(opened(flat.clamp(0, 1), .3), 4)
    grey = luminance(small)
    finer = blur(grey, .6) - blur(grey, 3.)
    small = mix(small, kuwahara(small, 2, 4.), .8) + .42 * finer           # a block's own contrast: eyes stay eyes
    small = ((small - .5) * 1.12 + .52).clamp(0, 1)
    light = luminance(small)
    above = F.pad(light, (1, 0, 1, 0), mode='replicate')[..., :-1, :-1]
    small = small * (1 + .3 * smoothstep(light - above, .06, .40))         # edges turned to the light
    line = relief(luminance(kuwahara(x, 3, 6.)), 14., .10)
    outline = F.avg_pool2d(smoothstep(ink_lines(line, 1.8, 13., .40, 5.), .15, .9), 4)
    order = cached(('dither', x.device), lambda: torch.tensor([[-.38, .13], [.38, -.13]], device=x.device))
    order = order.repeat(height // 8, width // 8)
    plain = 1 - smoothstep(blur(finer.abs(), 2.), .006, .03)
    middle = (1 - (2 * light - 1) ** 2).clamp(0, 1)
    small = small * (.30 + .70 * smoothstep(outline, .25, .80)) + .07 * order * plain * middle
    seen = lambda c: (c[..., None, :] * axes).sum(-1)                      # a matrix product would be rounded on a GPU
    apart = seen(small.permute(0, 2, 3, 1))[..., None, :] - seen(colours)              # (B, rows, cols, 40, 3)
    near = torch.softmax(-400 * apart.square().sum(-1), -1)                # the nearest colour, but without a jump
    blocks = (near[..., None] * colours).sum(-2).permute(0, 3, 1, 2)
    return F.interpolate(blocks, scale_factor=4., mode='nearest').clamp(0, 1)


def blueprint(x, e):
    """Bold unbroken white lines on blue where something stands out, dimmer ones for the rest, few in texture."""
    calm = kuwahara(x, 3, 6.)
    calmer = kuwahara(calm, 4, 6.)

    def seen(q):
        """Brightness against the neighbourhood, and colour, which alone parts some things from their ground."""
        grey = luminance(q)
        return torch.cat([relief(tone(grey), 20., .14), .7 * (q - grey)[:, ::2]], 1)
    broad, trust = edges(seen(calmer), 1.8, 8, 2.)
    fine, trust_fine = edges(seen(mix(calm, x, .2)), .9, 4, 1.5)
    crowd = blur(fine, 14.)
    wild = tangle(luminance(calm), 7.) * smoothstep(crowd, .035, .07)      # fur, leaves, stones
    clear = broad / (.022 + (.85 + .40 * wild) * blur(broad, 14.))         # what stands out among its neighbours
    clear_fine = fine / (.035 + 1.1 * crowd)
    bold = smoothstep(clear, .55, 1.45) * smoothstep(trust, .55, .90)
    thin = smoothstep(clear_fine, .75, 1.7) * smoothstep(trust_fine, .50, .85) * smoothstep(fine, .022, .055)
    letters = blur(relief(tone(luminance(mix(calm, x, .3))), 14., .14), .5)
    stroke = torch.maximum(smoothstep(narrow(letters, 2, .74), .20, .42), smoothstep(narrow(letters, 3, .74), .34, .58))
    beside = .8 * smoothstep(blur(stroke, 1.5), .1, .5)                    # letters are strokes, not outlines of strokes
    lines = torch.maximum(
        crest(broad, .7, 3. + .8 * smoothstep(clear, 1., 2.5)) * bold * (1 - beside * (1 - bold)),
        crest(fine, .6, 2.2 + smoothstep(clear_fine, 1.2, 2.4)) * thin * (.97 - .6 * wild) * (1 - beside))
    lines = torch.maximum(lines, stroke)
    xx, yy = pixels(x)
    grid = (torch.maximum(smoothstep(triangle(xx / 32), .94, 1.), smoothstep(triangle(yy / 32), .94, 1.)) * .16
            + torch.maximum(smoothstep(triangle(xx / 8), .80, 1.), smoothstep(triangle(yy / 8), .80, 1.)) * .035)
    shade = smoothstep(blur(luminance(calmer), 1.5), .35, .95)
    value = (lines * .85 + grid * (1 - lines) + .14 * shade).clamp(0, 1)
    base = colour(x, .030, .155, .41) * (1 + .05 * cloud(e, 4).clamp(-2, 2))
    return mix(base, colour(x, .92, .97, 1.), value).clamp(0, 1)


STYLES = {f.__name__: f for f in (photo, oil, watercolor, pencil, ink, cartoon, mosaic, neon, vintage, charcoal, popart,
                                  pixelart, blueprint)} | LOOKS


# ---------------------------------------------------------------------------------------------- the moods
# Grades of light, applied to the frame before the style.

def none(x):
    return x


def sunset(x):
    grade = mix(colour(x, .10, .0, .10), colour(x, .16, .09, .0), luminance(x))
    return (saturate(x, 1.1) * colour(x, 1.12, .84, .62) + grade).clamp(0, 1)


def night(x):
    grey = luminance(x)
    lamps = smoothstep(grey, .80, 1.) * colour(x, .35, .30, .12)
    dimmed = mix(saturate(x, .45), x, smoothstep(grey, .75, 1.)) * colour(x, .34, .44, .72)
    return (dimmed * (.55 + .6 * grey) + lamps).clamp(0, 1)


def winter(x):
    snow = .15 + .45 * smoothstep(luminance(x), .45, .85)
    return mix(saturate(x, .42) * colour(x, .93, 1., 1.10), colour(x, .93, .96, 1.), snow).clamp(0, 1)


def sepia(x):
    return (luminance(x) * colour(x, 1.06, .86, .62) + colour(x, .03, .015, .0)).clamp(0, 1)


MOODS = {f.__name__: f for f in (none, sunset, night, winter, sepia)}
MOODY_STYLES = ('photo', 'oil', 'watercolor', 'cartoon', 'mosaic', 'pixelart')      # styles that show a mood


def variants(style):
    """The moods, or palettes, that a style is taught beside the plain picture."""
    return [m for m in MOODS if m != 'none'] if style in MOODY_STYLES else [p for p in PALETTES if p != 'plain'] \
        if style == 'popart' else []


def apply(style, moods, x, e):
    """The targets of one style for frames x, each with its mood, or palette, or 'none'."""
    if style == 'popart':
        return popart(x, e, ['plain' if m == 'none' else m for m in moods]).float()
    graded = [x[i:i + 1] if m == 'none' else MOODS[m](x[i:i + 1]) for i, m in enumerate(moods)]
    return STYLES[style](torch.cat(graded), e).float()
