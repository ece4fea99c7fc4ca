"""What each style should look like: the pictures the mini model learns to make.

Every function takes frames `x` (B,3,H,W) in [0,1], H and W multiples of 16, and the noise latent `e`
(B,16,H/8,W/8) the U-Net starts from. All random texture (paper, bristles, grain, mosaic seeds) is a fixed function
of that noise, and every regular pattern (hatching, dots, grids) has a period of 8 pixels or divides it. So (frame, noise) decides the
target completely, one step has nothing left to average over, and the texture stays put when the noise does.

Nothing here uses statistics of the whole picture: tone follows a fixed curve of the neighbourhood's brightness, so
that a change in one corner or in the exposure cannot make every line of the picture pump.
"""
import math

import torch
import torch.nn.functional as F

_cache = {}


def _cached(key, make):
    """Constants are made once a device: no copies from the host inside a CUDA graph capture."""
    if key not in _cache:
        _cache[key] = make()
    return _cache[key]


# ---------------------------------------------------------------------------------------------- building blocks

def blur(x, sigma):
    """Gaussian blur."""
    def kernel():
        radius = max(1, math.ceil(2.6 * sigma))
        at = torch.arange(-radius, radius + 1, dtype=torch.float32, device=x.device)
        weight = torch.exp(-at * at / (2 * sigma * sigma))
        return weight / weight.sum()
    weight = _cached(('gauss', round(sigma, 3), x.device), kernel)
    radius = len(weight) // 2
    batch, channels, height, width = x.shape
    y = F.pad(x.reshape(batch * channels, 1, height, width), (radius,) * 4, mode='reflect')
    y = F.conv2d(F.conv2d(y, weight.view(1, 1, 1, -1)), weight.view(1, 1, -1, 1))
    return y.view(batch, channels, height, width)


def colour(x, *rgb):
    """An RGB constant that broadcasts over x."""
    return _cached(('colour', rgb, x.device),
                   lambda: torch.tensor(rgb, dtype=torch.float32, device=x.device).view(1, 3, 1, 1))


def luminance(x):
    return (x * colour(x, .299, .587, .114)).sum(1, keepdim=True)


def saturate(x, amount):
    grey = luminance(x)
    return grey + (x - grey) * amount


def smoothstep(x, low, high):
    t = ((x - low) / (high - low)).clamp(0, 1)
    return t * t * (3 - 2 * t)


def mix(a, b, t):
    return a + (b - a) * t


def sobel(x):
    """Horizontal and vertical gradient."""
    p = F.pad(x, (1, 1, 1, 1), mode='reflect')
    gx = (p[..., :-2, 2:] + 2 * p[..., 1:-1, 2:] + p[..., 2:, 2:]
          - p[..., :-2, :-2] - 2 * p[..., 1:-1, :-2] - p[..., 2:, :-2]) / 8
    gy = (p[..., 2:, :-2] + 2 * p[..., 2:, 1:-1] + p[..., 2:, 2:]
          - p[..., :-2, :-2] - 2 * p[..., :-2, 1:-1] - p[..., :-2, 2:]) / 8
    return gx, gy


def local_mean(x, sigma=24.):
    """Very wide blur, made at an eighth of the size."""
    small = blur(F.avg_pool2d(x, 8), sigma / 8)
    return F.interpolate(small, scale_factor=8., mode='bilinear', align_corners=False)


def tone(grey):
    """Fixed contrast curve; a gamma from the neighbourhood's brightness opens up dark rooms and calms bright skies."""
    around = local_mean(grey).clamp(.03, .97)
    wanted = .30 + .40 * around
    gamma = (torch.log(wanted) / torch.log(around)).clamp(.55, 1.35)
    black = .03 ** gamma                                  # a toe: the bare power would be steepest where all is noise
    lifted = ((grey.clamp(0, 1) + .03).pow(gamma) - black) / (1.03 ** gamma - black)
    return ((lifted - .04) / .88).clamp(0, 1)


def relief(grey, sigma, floor):
    """Brightness relative to the neighbourhood: .72 wherever it is flat, bright or dark, and less in dark detail.

    What is darker than `floor` counts little, so that the noise of near-black makes no lines and a plain dark
    garment stays plain.
    """
    return (grey + floor) / (blur(grey, sigma) + floor) * .72


def grain(e, softness=0.):
    """Fine texture of unit variance and two-pixel grain: the 16 channels are the 4x4 sub-cells of each 8x8 cell."""
    t = F.pixel_shuffle(e[:, :16].float(), 4)
    t = F.interpolate(t, scale_factor=2., mode='bilinear', align_corners=False) * 1.6
    return blur(t, softness) * (1 + 1.1 * softness) if softness > 0 else t


def cloud(e, channel):
    """Smooth field of about unit variance with features of 16 to 24 pixels."""
    t = F.avg_pool2d(F.pad(e[:, channel:channel + 1].float(), (1, 1, 1, 1), mode='reflect'), 3, 1) * 3
    return F.interpolate(t, scale_factor=8., mode='bicubic', align_corners=False)


def kuwahara(x, radius, sharpness, sectors=8):
    """Generalised Kuwahara filter: each pixel takes the mean of its calmest sectors. Paint-like flat areas."""
    def kernels():
        at = torch.arange(-radius, radius + 1, dtype=torch.float32, device=x.device)
        y, xx = torch.meshgrid(at, at, indexing='ij')
        angle, distance = torch.atan2(y, xx), (xx * xx + y * y).sqrt()
        out = []
        for i in range(sectors):
            away = torch.remainder(angle - 2 * math.pi * i / sectors + math.pi, 2 * math.pi) - math.pi
            weight = torch.exp(-(away / (math.pi / sectors * .9)) ** 2) * torch.exp(-(distance / (.55 * radius)) ** 2 / 2)
            weight = weight * (distance <= radius + .3)
            weight[radius, radius] = 2. / sectors
            out.append(weight / weight.sum())
        return torch.stack(out)[:, None]
    weight = _cached(('kuwahara', radius, sectors, x.device), kernels)
    batch, channels, height, width = x.shape
    p = F.pad(x - .5, (radius,) * 4, mode='reflect').reshape(batch * channels, 1, height + 2 * radius, width + 2 * radius)
    mean = F.conv2d(p, weight)
    variance = F.conv2d(p * p, weight) - mean * mean
    mean = mean.view(batch, channels, sectors, height, width)
    variance = variance.view(batch, channels, sectors, height, width).clamp_min(0).sum(1, keepdim=True)
    vote = 1 / (1e-4 + variance * 60).pow(sharpness / 2)
    vote = vote / vote.amax(2, keepdim=True)
    vote = vote / vote.sum(2, keepdim=True)
    return (mean * vote).sum(2) + .5


def flow(grey, sigma, prior=2e-4):
    """Unit tangent of the edges nearby. A weak constant direction rules flat areas, where the edges are noise."""
    gx, gy = sobel(blur(grey, 1.2))
    tensor = blur(torch.cat([gx * gx, gx * gy, gy * gy], 1), sigma) + .5 * prior
    angle = .5 * torch.atan2(2 * tensor[:, 1:2], tensor[:, 0:1] - tensor[:, 2:3] + 1e-9) + math.pi / 2
    return torch.cos(angle), torch.sin(angle)


def smear(x, tx, ty, steps, stride):
    """Average x along the tangent field, both ways (line integral convolution)."""
    batch, channels, height, width = x.shape
    base_x = torch.arange(width, device=x.device, dtype=torch.float32).view(1, 1, -1)
    base_y = torch.arange(height, device=x.device, dtype=torch.float32).view(1, -1, 1)
    field, total, weights = torch.cat([x, tx, ty], 1), x.clone(), 1.
    for sign in (1., -1.):
        px, py = base_x.expand(batch, height, width), base_y.expand(batch, height, width)
        dx, dy = tx[:, 0] * sign, ty[:, 0] * sign
        for i in range(steps):
            px, py = px + dx * stride, py + dy * stride
            grid = torch.stack([px * 2 / (width - 1) - 1, py * 2 / (height - 1) - 1], -1)
            s = F.grid_sample(field, grid, mode='bilinear', padding_mode='border', align_corners=True)
            weight = math.exp(-((i + 1) / (steps * .75)) ** 2)
            total, weights = total + weight * s[:, :channels], weights + weight
            nx, ny = s[:, channels], s[:, channels + 1]
            turn = (1. - 2. * (nx * dx + ny * dy < 0).float()) * (nx * nx + ny * ny + 1e-6).rsqrt()
            dx, dy = nx * turn, ny * turn
    return total / weights


def ink_lines(grey, sigma, strength, threshold, hardness):
    """Extended difference of Gaussians: 1 on paper, 0 on the lines."""
    d = (1 + strength) * blur(grey, sigma) - strength * blur(grey, sigma * 1.6)
    return torch.where(d >= threshold, torch.ones_like(d), 1 + torch.tanh(hardness * (d - threshold)))


def outlines(x, sigma):
    """Clean comic outlines, 1 on paper and 0 on the line."""
    lines = ink_lines(relief(luminance(kuwahara(x, 3, 6.)), 9., .08), sigma, 13., .42, 5.)
    return smoothstep(lines, .15, .9)


def pixels(x):
    """Pixel-centre coordinates (x, y), each (1,1,H,W)."""
    at = lambda n: torch.arange(n, device=x.device, dtype=torch.float32) + .5
    y, xx = torch.meshgrid(at(x.shape[2]), at(x.shape[3]), indexing='ij')
    return xx[None, None], y[None, None]


def triangle(u):
    """Triangle wave: 1 at whole numbers, 0 half-way."""
    return (torch.remainder(u, 1.) - .5).abs() * 2


def hatch(x, a, b, jitter):
    """Parallel lines a*x + b*y over the 8-pixel lattice."""
    xx, yy = pixels(x)
    return triangle((a * xx + b * yy) / 8 + jitter)


# ---------------------------------------------------------------------------------------------- the styles

def photo(x, e):
    return x


def oil(x, e):
    """Flat dabs smeared along the edges, bristle marks in relief, light from the upper left."""
    body = kuwahara((saturate(x, 1.3) - .5) * 1.08 + .5, 5, 8.)
    tx, ty = flow(luminance(x), 6.)
    body = saturate(mix(body, smear(body, tx, ty, 5, 1.4), .5), 1.25)
    bristle = smear(grain(e, 1.1), tx, ty, 8, 1.5) * 2
    gx, gy = sobel(bristle * .30 + luminance(body) * 1.6)
    light = (-.75 * gx - .65 * gy).clamp(-.4, .4)
    return (body * (1 + .05 * bristle) + light * .26).clamp(0, 1)


def watercolor(x, e):
    """Pale washes on warm paper, pigment pooling at the edges and in clouds."""
    wash = kuwahara(saturate(x, 1.2), 5, 6.)
    grey = luminance(wash)
    wash = mix(wash, tone(grey) / (grey + .03) * wash, .6).clamp(0, 1)
    wash = 1 - (1 - wash) * .80
    gx, gy = sobel(blur(wash, 1.1))
    edge = (gx * gx + gy * gy).sum(1, keepdim=True).sqrt()
    density = (edge * 10).clamp(0, 1.3) + .12 * cloud(e, 1) + .09 * grain(e, .6) - .18
    out = wash - (wash - wash * wash) * density
    paper = colour(x, .985, .975, .945) * (1 - .015 * grain(e, .5).clamp(-2, 2))
    return mix(saturate(out, 1.45), paper, smoothstep(luminance(out), .80, .97) * .9).clamp(0, 1)


def pencil(x, e):
    """Graphite: dodged tone, outlines, and two directions of hatching in the shade."""
    grey = tone(luminance(x))
    shade = smoothstep(((grey + .06) / (blur(grey, 6.) + .08)).clamp(0, 1), .25, .98) * smoothstep(grey, -.25, .25)
    lines = ink_lines(relief(grey, 10., .12), .9, 13., .54, 4.)
    jitter, dark, tooth = .10 * cloud(e, 2), blur(grey, 1.5), grain(e, .4)
    marks = (.42 * smoothstep(hatch(x, 1, 1, jitter), .20, .80) * smoothstep(.62 - dark, 0, .34)
             + .32 * smoothstep(hatch(x, 1, -1, jitter), .25, .85) * smoothstep(.32 - dark, 0, .24)
             + .20 * smoothstep(.80 - dark, 0, .8))
    marks = marks * (1 + .30 * tooth).clamp(.2, 2)
    value = (shade * .65 + .35) * (.35 + .65 * lines) * (1 - marks.clamp(0, .85))
    value = .08 + .90 * value.clamp(0, 1) - .010 * tooth
    return (value * colour(x, .985, .975, .955) + (1 - value) * colour(x, .03, .035, .05)).clamp(0, 1)


def ink(x, e):
    """Black ink on cream paper: lines, engraved shading, solid blacks."""
    grey = tone(luminance(kuwahara(x, 3, 5.)))
    lines = ink_lines(relief(grey, 12., .09), 1., 17., .47, 5.)
    shade = blur(grey, 2.)
    area = ((.48 - shade) / .42).clamp(0, 1)
    cover = .95 - .75 * area
    engraved = 1 - smoothstep(hatch(x, 0, 2, .05 * cloud(e, 3)), cover - .12, cover + .12) * smoothstep(area, 0., .3)
    solid = smoothstep(shade, .06, .22)
    value = blur(smoothstep(lines * engraved * solid, .15, .80), .45)
    return mix(colour(x, .06, .05, .09), colour(x, .965, .94, .88) * (1 - .012 * grain(e, .5)), value).clamp(0, 1)


def cartoon(x, e):
    """Flat bands of saturated colour inside dark outlines."""
    flat = kuwahara(kuwahara(x, 5, 8.), 4, 8.)
    grey = luminance(flat)
    steps = tone(grey) * 4
    whole = torch.floor(steps)
    banded = (whole + smoothstep(steps - whole, .25, .75)) / 4
    flat = flat * ((banded * .9 + .10) / (grey + .05)).clamp(0, 3)
    flat = saturate(flat, 1.5).clamp(0, 1).pow(.92)
    return (flat * (.08 + .92 * outlines(x, 1.2))).clamp(0, 1)


def cells(x, e, size, jitter):
    """Voronoi cells from one seed a `size` square, moved by the noise: (cell colour, distance to the border, dx, dy)."""
    batch, _, height, width = x.shape
    rows, cols, pool = height // size, width // size, size // 8
    shift = .5 * torch.erf(F.avg_pool2d(e[:, :2].float(), pool) * pool / 2 ** .5)          # even in +-.5
    at = lambda n: torch.arange(n, device=x.device, dtype=torch.float32) + .5
    gy, gx = torch.meshgrid(at(rows), at(cols), indexing='ij')
    sx, sy = (gx + shift[:, 0] * jitter) * size, (gy + shift[:, 1] * jitter) * size
    where = torch.stack([sx * 2 / width - 1, sy * 2 / height - 1], -1)
    tint = F.grid_sample(blur(x, 2.2), where, mode='bilinear', padding_mode='border', align_corners=False)
    seeds = F.pad(torch.cat([sx[:, None], sy[:, None], tint], 1), (1, 1, 1, 1), mode='replicate')
    seeds[:, 0, :, 0] -= size
    seeds[:, 0, :, -1] += size
    seeds[:, 1, 0] -= size
    seeds[:, 1, -1] += size
    near = torch.stack([seeds[:, :, i:i + rows, j:j + cols] for i in range(3) for j in range(3)], 1)
    near = near[:, :, :, :, None, :, None].expand(-1, -1, -1, -1, size, -1, size).reshape(batch, 9, 5, height, width)
    xx, yy = pixels(x)
    distance = ((near[:, :, 0] - xx[:, 0][:, None]) ** 2 + (near[:, :, 1] - yy[:, 0][:, None]) ** 2).sqrt()
    nearest, index = distance.topk(2, 1, largest=False)
    own = torch.gather(near[:, :, 2:], 1, index[:, :1, None].expand(-1, -1, 3, -1, -1))[:, 0]
    dx = xx - torch.gather(near[:, :, 0], 1, index[:, :1])
    dy = yy - torch.gather(near[:, :, 1], 1, index[:, :1])
    return own, nearest[:, 1:2] - nearest[:, :1], dx, dy


def mosaic(x, e):
    """Irregular tiles, each of one colour and slightly domed, in pale grout."""
    tile, edge, dx, dy = cells(saturate(x, 1.3), e, 16, .75)
    tile = ((tile - .5) * 1.12 + .52).clamp(0, 1) * (1 + .011 * (-dx - dy).clamp(-9, 9))
    return mix(colour(x, .87, .85, .81), tile, smoothstep(edge, 1.0, 3.2)).clamp(0, 1)


def neon(x, e):
    """Glowing outlines in a dark scene; the colour is the object's own, or follows the edge's direction."""
    soft = blur(x, 1.1)
    gx, gy = sobel(soft)
    contrast = (gx * gx + gy * gy).sum(1, keepdim=True).sqrt()
    grey = luminance(soft)
    edge = smoothstep(contrast, .035, .16)
    chroma = soft - grey
    angle = torch.atan2(luminance(gy), luminance(gx) + 1e-6) * 2
    palette = torch.cat([.60 + .40 * torch.cos(angle), .28 + .30 * torch.cos(angle - 2.4), .80 + .20 * torch.cos(angle - 4.)], 1)
    hue = mix(palette, (chroma * 3.2 + .55).clamp(0, 1), smoothstep(chroma.abs().amax(1, keepdim=True), .05, .16))
    lit = hue * edge
    glow = lit + 1.3 * blur(lit, 2.5) + 1.5 * blur(lit, 7.)
    base = grey.pow(1.7) * colour(x, .16, .14, .42) + colour(x, .012, .008, .035) + .20 * soft * soft
    return (1 - (1 - base).clamp(0, 1) * torch.exp(-1.15 * glow) + .25 * edge ** 3).clamp(0, 1)


def vintage(x, e):
    """Faded colour film with halation and grain."""
    grey = luminance(x)
    halo = blur(smoothstep(grey, .68, 1.), 6.) * colour(x, .30, .10, .03)
    out = (1 - (1 - saturate(x, .62)) * (1 - halo)).clamp(0, 1)
    out = torch.cat([out[:, :1].pow(.88) * .90 + .085, out[:, 1:2].pow(.97) * .86 + .070,
                     out[:, 2:].pow(1.10) * .68 + .115], 1)
    out = mix(out, out * out * (3 - 2 * out), .35)
    return (out + .042 * grain(e) * (1 - (grey - .5).abs())).clamp(0, 1)


def charcoal(x, e):
    """Smudged tone, broad dark lines and diagonal paper tooth."""
    grey = tone(luminance(x))
    tx, ty = flow(grey, 3., 5e-5)
    smudged = smear(grey, tx, ty, 6, 1.2)
    tooth = smear(grain(e), tx * 0 + .7071, ty * 0 + .7071, 3, 1.2) * 1.5
    lines = ink_lines(mix(smudged, relief(smudged, 12., .10), .85), 1.7, 14., .44, 4.)
    value = (.12 + .88 * blur(smudged, 1.)) * (.30 + .70 * lines)
    value = value + .16 * tooth * (1 - (value - .45).abs() * 1.6).clamp(0, 1)
    return mix(colour(x, .07, .065, .07), colour(x, .93, .91, .87), smoothstep(value, -.05, .92)).clamp(0, 1)


def popart(x, e):
    """Screen print: four inks, halftone dots where they meet, a second palette for warm things."""
    body = kuwahara(x, 4, 8.)
    grey = blur(tone(luminance(body)), 1.)
    xx, yy = pixels(x)
    dot = torch.maximum(triangle(xx / 8) + triangle(yy / 8), triangle(xx / 8 + .5) + triangle(yy / 8 + .5)) - 1
    inks = [colour(x, .10, .05, .28), colour(x, .90, .10, .42), colour(x, 1., .72, .10), colour(x, 1., .965, .82)]
    out = inks[0].expand_as(x)
    for threshold, ink_colour in zip((.22, .46, .72), inks[1:]):
        out = mix(out, ink_colour, smoothstep((grey - threshold) / .16 + (dot - .5) * 1.1, -.18, .18))
    cool = smoothstep(blur(body[:, 2:] - body[:, :1], 1.5), .0, .24)
    out = mix(out, out.flip(1) * colour(x, .75, 1., 1.), cool)
    return (out * (.06 + .94 * outlines(x, 1.3))).clamp(0, 1)


def pixelart(x, e):
    """Blocks of eight pixels and few colours."""
    small = ((F.avg_pool2d(saturate(x, 1.35), 8) - .5) * 1.25 + .5).clamp(0, 1) * 6
    whole = torch.floor(small)
    small = (whole + smoothstep(small - whole, .3, .7)) / 6
    return F.interpolate(small, scale_factor=8., mode='nearest').clamp(0, 1)


def blueprint(x, e):
    """White outlines on blue, with a drawing grid."""
    grey = tone(luminance(kuwahara(x, 3, 5.)))
    gx, gy = sobel(blur(grey, .9))
    lines = smoothstep((gx * gx + gy * gy).sqrt(), .03, .14)
    xx, yy = pixels(x)
    grid = (torch.maximum(smoothstep(triangle(xx / 32), .94, 1.), smoothstep(triangle(yy / 32), .94, 1.)) * .16
            + torch.maximum(smoothstep(triangle(xx / 8), .80, 1.), smoothstep(triangle(yy / 8), .80, 1.)) * .035)
    value = (lines * .92 + grid + .10 * smoothstep(grey, .5, .9)).clamp(0, 1)
    base = colour(x, .035, .17, .43) * (1 + .05 * cloud(e, 4).clamp(-2, 2))
    return mix(base, colour(x, .90, .96, 1.), value).clamp(0, 1)


STYLES = {f.__name__: f for f in (photo, oil, watercolor, pencil, ink, cartoon, mosaic, neon, vintage, charcoal, popart,
                                  pixelart, blueprint)}


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


def apply(style, mood, x, e):
    """The target of one style and mood."""
    return STYLES[style](MOODS[mood](x), e).float()
