"""Looks beyond the thirteen styles, as filters like those of targets.py."""
import torch
import torch.nn.functional as F

from filters import (blur, cloud, colour, dots, drift, energy, flow, FOUR_WAYS, grain, ink_lines, kuwahara, luminance,
                     mix, opened, paved, pixels, relief, saturate, smoothstep, sobel, strokes, tiles, tone, triangle)


def comic(x, e):
    """A printed comic: own colours in flat tones, a screen of dots in the half-shadows, bold ink and solid blacks."""
    flat = kuwahara(kuwahara(x, 5, 9.), 5, 9.)
    grey = luminance(flat)
    toned = tone(blur(grey, 1.))
    steps = toned * 3
    whole = torch.floor(steps)
    band = (whole + smoothstep(steps - whole, .30, .70)) / 3
    tint = saturate(flat * ((band * .70 + .38) / (grey + .10)).clamp(0, 3), 1.7).clamp(0, 1)
    tint = mix(tint, colour(x, 1., .95, .78), .14)                         # yellowed newsprint
    shade = smoothstep((.50 - toned) / .26 + (dots(x) - .5) * 1.0, -.16, .16)
    tint = tint * mix(torch.ones_like(tint), colour(x, .44, .46, .66), shade)
    line = relief(mix(luminance(kuwahara(x, 4, 8.)), blur(luminance(x), .9), .40), 10., .10)
    lines = smoothstep(ink_lines(line, 1.6, 15., .48, 5.), .20, .80)
    black = smoothstep(blur(toned, 1.5), .12, .24)
    return mix(colour(x, .035, .03, .06), tint, lines * black).clamp(0, 1)


def stainedglass(x, e):
    """A church window: large panes of glowing colour in thick leads that follow the forms."""
    half = F.avg_pool2d(opened(saturate(x, 1.9).clamp(0, 1), .7), 2)
    noise = F.avg_pool2d(e[:, :2].float(), 2) * 2
    half = blur(half, 1.)
    gx, gy = sobel(half)
    edge = (gx * gx + gy * gy).sum(1, keepdim=True).add(1e-8).sqrt()
    small = smoothstep(blur(edge, 4.), .012, .045)
    tint, border = paved(half, tiles(half, noise, small, edge))
    up = lambda q: F.interpolate(q, scale_factor=2., mode='bilinear', align_corners=False)
    glass = saturate(tint, 1.5).clamp(.02, 1).pow(.75)
    glass = up(glass) * (.80 + .34 * smoothstep(up(border), .5, 6.)) * (1 + .07 * cloud(e, 5) + .03 * grain(e, 1.))
    lead = smoothstep(up(border), .35, 1.1)
    light = tone(luminance(mix(x, kuwahara(x, 3, 6.), .5)))                # what is painted on the glass: faces, letters
    painted = smoothstep(ink_lines(relief(light, 10., .10), 1.2, 13., .44, 5.), .1, .95)
    shaded = .45 + .55 * smoothstep(light, .05, .45)
    return mix(colour(x, .03, .03, .04), glass * (.12 + .88 * painted) * shaded, lead).clamp(0, 1)


def linocut(x, e):
    """A print of two blocks: black, carved with broad gouges along the forms, over flat ochre and paper."""
    body = kuwahara(kuwahara(x, 6, 9.), 4, 8.)
    grey = tone(luminance(body))
    shade = blur(grey, 2.5)
    fine = tone(luminance(mix(body, x, .5)))
    tx, ty = flow(grey, 14., 2.5e-3, drift(e, 8, .95))
    gouge = strokes(x, tx, ty, .05 * cloud(e, 3), ways=FOUR_WAYS)          # the carved lines open with the light
    cut = smoothstep(gouge + 3.4 * (shade - .36), .40, .80)
    edges = smoothstep(ink_lines(relief(fine, 12., .10), 1.6, 15., .46, 5.), .15, .85)
    value = blur(cut * edges * smoothstep(fine, .06, .18), .5)
    ground = mix(colour(x, .86, .44, .20), colour(x, .965, .92, .81), smoothstep(blur(fine, .8), .52, .60))
    return mix(colour(x, .06, .05, .06), ground * (1 - .015 * grain(e, .5)), value).clamp(0, 1)


def riso(x, e):
    """Two spot inks on paper, a little out of register: blue lines for the shade, pink dots for what is warm."""
    flat = opened(kuwahara(mix(x, kuwahara(x, 4, 8.), .6), 3, 8.), .5)
    grey = tone(luminance(flat))
    warm = blur(flat[:, :1] - .6 * flat[:, 1:2] - .4 * flat[:, 2:], 1.)
    shift = lambda q: F.pad(q, (4, 4, 4, 4), mode='replicate')[..., 6:6 + q.shape[2], 1:1 + q.shape[3]]
    tooth, xx, yy = .04 * grain(e, .5), *pixels(x)
    screen = lambda cover, pattern: smoothstep(cover + .40 * (pattern - .5) + tooth, .34, .66)
    fine = mix(grey, tone(luminance(x)), .5)
    dark = 1.10 - 1.35 * mix(fine, relief(fine, 12., .10), .25)
    blue = screen(dark.clamp(0, 1), triangle((xx + yy) / 8))
    pink = screen(shift((.62 - .66 * grey + 1.9 * warm).clamp(0, 1)), dots(x))
    inked = lambda cover, *rgb: 1 - cover * (1 - colour(x, *rgb))
    return (colour(x, .97, .95, .905) * inked(pink * .95, 1., .34, .46) * inked(blue * .95, .10, .30, .66)).clamp(0, 1)


def gold(x, e):
    """An etching in gold on black: the lights are hatched along the forms, edges gleam."""
    body = kuwahara(x, 4, 6.)
    grey = tone(luminance(body))
    shade = blur(grey, 2.5)
    tx, ty = flow(grey, 10., 1e-3, drift(e, 8, .85))
    cover = 1.12 - .95 * smoothstep(shade, .15, .90)
    first = smoothstep(strokes(x, tx, ty, .05 * cloud(e, 3)), cover - .2, cover + .2) * smoothstep(shade, .14, .42)
    fine = relief(tone(luminance(mix(body, x, .5))), 12., .12)
    edge = smoothstep(energy(fine, 1.0), .035, .16)
    value = torch.maximum(first * (.50 + .45 * smoothstep(shade, .4, .9)), edge)
    value = blur(value, .4)
    gleam = .88 + .12 * cloud(e, 4).clamp(-1.5, 1.5)
    metal = mix(colour(x, .50, .29, .06), colour(x, 1., .84, .46), value * gleam)
    return mix(colour(x, .025, .022, .03) + .03 * shade, metal, smoothstep(value, .05, .62)).clamp(0, 1)


# Of the heat camera: from cold to hot
HEAT = ((.02, .01, .10), (.22, .02, .48), (.66, .06, .50), (.95, .34, .16), (1., .78, .16), (1., 1., .86))


def thermal(x, e):
    """A heat camera: brightness as a ramp from violet by red to white, soft, with a faint rim around the forms."""
    grey = tone(luminance(blur(kuwahara(x, 3, 6.), 1.2)))
    fine = luminance(x) - blur(luminance(x), 2.5)
    at = ((grey - .5) * 1.12 + .5 + .7 * fine).clamp(0, 1) * (len(HEAT) - 1)
    out = colour(x, *HEAT[0]).expand_as(x)
    for i, tint in enumerate(HEAT[1:]):
        out = mix(out, colour(x, *tint), smoothstep(at, i, i + 1.))
    return (out * (1 - .10 * smoothstep(energy(grey, 1.4), .03, .15))).clamp(0, 1)


LOOKS = {f.__name__: f for f in (comic, stainedglass, linocut, riso, gold, thermal)}
