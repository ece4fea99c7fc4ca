"""What each style should look like: the pictures the mini model learns to make.

Every function takes frames `x` (B,3,H,W) in [0,1], H and W multiples of 16, and the noise latent `e`
(B,16,H/8,W/8) the U-Net starts from. All random texture (paper, bristles, grain, mosaic seeds) is a fixed function
of that noise. Hatching and dots have a period of 8 pixels or divide it, tiles and the dither of pixel art one of 16,
blueprint's grid one of 32. So (frame, noise) decides the target completely, one step has nothing left to average over,
and the texture stays put when the noise does.

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


def opened(x, amount):
    """The frame with so much of tone()'s curve on its brightness, in its own hues: dark rooms open up."""
    grey = luminance(x)
    return mix(x, x * ((tone(grey) + .03) / (grey + .03)), amount).clamp(0, 1)


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


def film(e):
    """Film grain of one pixel and unit variance: three channels of the noise, each with a fixed pattern a cell."""
    def patterns():
        draw = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(5))
        draw = draw - draw.mean((2, 3), keepdim=True)
        return (draw / draw.square().mean((2, 3), keepdim=True).sqrt() / 3 ** .5).to(e.device)
    return F.conv_transpose2d(e[:, 10:13].float(), _cached(('film', e.device), patterns), stride=8)


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


def flow(grey, sigma, prior, towards):
    """Unit tangent of the edges nearby. In flat areas, where the edges are noise, a weak prior rules the direction.

    towards: the prior's direction, (cosine, sine) of twice the angle of its normal; see drift().
    """
    gx, gy = sobel(blur(grey, 1.2))
    tensor = blur(torch.cat([gx * gx - gy * gy, 2 * gx * gy], 1), sigma)
    tensor = tensor + prior * towards
    angle = .5 * torch.atan2(tensor[:, 1:], tensor[:, :1] + 1e-9) + math.pi / 2
    return torch.cos(angle), torch.sin(angle)


def colour_pair(x, *pair):
    """A constant of two channels that broadcasts over x."""
    return _cached(('pair', pair, x.device),
                   lambda: torch.tensor(pair, dtype=torch.float32, device=x.device).view(1, 2, 1, 1))


def drift(e, channel, steady=0.):
    """A direction that turns slowly over the picture, from two channels of the noise, for flow().

    steady: how much of it is the same diagonal everywhere, as a hand hatches.
    """
    t = F.avg_pool2d(F.pad(e[:, channel:channel + 2].float(), (2, 2, 2, 2), mode='reflect'), 5, 1) * 5
    t = mix(t, colour_pair(e, 0., 1.), steady)
    return F.interpolate(t, scale_factor=8., mode='bilinear', align_corners=False)


def energy(grey, sigma):
    """Strength of lines and edges alike: one ridge for either, where a gradient alone has two along a line."""
    gx, gy = sobel(blur(grey, sigma))
    line = blur(grey, sigma) - blur(grey, sigma * 1.6)
    return (gx * gx + gy * gy + (1.6 / sigma * line) ** 2 + 1e-8).sqrt()


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


# (a, b) of hatch(): six directions whose lines are about 4 pixels apart and repeat on the 8-pixel lattice
SIX_WAYS = ((2, 0), (2, 1), (1, 2), (0, 2), (-1, 2), (-2, 1))


def strokes(x, tx, ty, jitter, turn=0., sharpness=6.):
    """Hatching whose lines run along the tangent (tx, ty), turned by `turn`: the nearest of six directions, blended."""
    total, weights = 0., 0.
    angle = torch.atan2(ty, tx) + turn
    for a, b in SIX_WAYS:
        along = math.atan2(a, -b)                                          # the direction of a line of this hatching
        weight = torch.exp(sharpness * (torch.cos(2 * (angle - along)) - 1))
        total, weights = total + weight * hatch(x, a, b, jitter), weights + weight
    return total / weights


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
    """Black ink on cream paper: lines, engraved shading that follows the forms, solid blacks."""
    grey = tone(luminance(kuwahara(x, 3, 5.)))
    lines = ink_lines(relief(grey, 12., .11), .95, 14., .45, 5.)
    shade = blur(grey, 2.5)
    tx, ty = flow(grey, 8., 3e-4, drift(e, 8, .75))
    jitter = .06 * cloud(e, 3)
    area = ((.62 - shade) / .56).clamp(0, 1)
    cover = 1.02 - .70 * area
    first = 1 - smoothstep(strokes(x, tx, ty, jitter), cover - .16, cover + .16) * smoothstep(area, 0., .25)
    cross = 1.25 - .75 * area
    second = 1 - smoothstep(strokes(x, tx, ty, jitter, 1.57), cross - .16, cross + .16) * smoothstep(area, .45, .75)
    solid = smoothstep(shade, .0, .10)
    value = blur(smoothstep(lines * first * second * solid, .15, .80), .45)
    return mix(colour(x, .06, .05, .09), colour(x, .965, .94, .88) * (1 - .012 * grain(e, .5)), value).clamp(0, 1)


def cartoon(x, e):
    """Flat bands of saturated colour inside dark outlines, both drawn from a frame that was smoothed twice."""
    flat = kuwahara(kuwahara(x, 5, 8.), 4, 8.)
    grey = luminance(flat)
    steps = tone(grey) * 5
    whole = torch.floor(steps)
    band = (whole + smoothstep(steps - whole, .28, .72)) / 5
    light = luminance(x)
    line = relief(mix(grey, blur(light, .8), .45), 9., .10)                # eyes and print keep some detail
    lines = smoothstep(ink_lines(line, 1.3, 13., .42, 5.), .15, .9)
    flat = flat * ((mix(grey, band, .65) * .92 + .11) / (grey + .06)).clamp(0, 3)
    flat = saturate(flat, 1.45).clamp(0, 1).pow(.94)
    return (flat * (.06 + .94 * lines)).clamp(0, 1)


def tiles(x, e, detail, edge):
    """A pavement of tiles of 16 pixels that part into tiles of 8 where `detail` (0 to 1) is high.

    One seed a square of 8 pixels. In a square of 16 one of the four leads and the other three are held back by a
    penalty that detail takes away, so a tile grows out of nothing and nothing jumps. The seeds are moved by the noise,
    then twice to the middle of their tile, where edges (`edge`, B,1,H,W) weigh little: borders settle on edges.
    Returns (index of the tile of every pixel, squared distances to its seed and the second's, both seeds' places).
    """
    batch, _, height, width = x.shape
    rows, cols = height // 8, width // 8
    shift = .5 * torch.erf(e[:, :2].float() / 2 ** .5)                     # even in +-.5
    at = lambda n: torch.arange(n, device=x.device, dtype=torch.float32)
    row, col = torch.meshgrid(at(rows), at(cols), indexing='ij')
    fine = F.avg_pool2d(detail, 8)[:, 0]
    coarse = F.interpolate(F.avg_pool2d(fine[:, None], 2), size=(rows, cols), mode='nearest')[:, 0]
    leads = ((row % 2 == 0) & (col % 2 == 0)).float()
    reach = mix(7. * torch.ones_like(coarse), torch.full_like(coarse, 3.2), coarse)
    home_x = (col + .5) * 8 + leads * 4 * (1 - coarse)                     # a lone tile sits in its square's middle
    home_y = (row + .5) * 8 + leads * 4 * (1 - coarse)
    sx, sy = home_x + shift[:, 0] * reach, home_y + shift[:, 1] * reach
    penalty = (1 - leads) * (1 - coarse) * 160.
    xx, yy = (q[0, 0] for q in pixels(x))
    own_row, own_col = (yy / 8).long(), (xx / 8).long()
    light = (1 / (1 + 25 * edge))[:, 0].flatten(1)
    for turn in range(3):
        best = torch.full((batch, height, width), 1e9, device=x.device)
        second, index = best.clone(), torch.zeros_like(best, dtype=torch.long)
        other = index.clone()
        px, py, pp = sx.flatten(1), sy.flatten(1), penalty.flatten(1)
        for i in range(-2, 3):
            for j in range(-2, 3):
                k = ((own_row + i).clamp(0, rows - 1) * cols + (own_col + j).clamp(0, cols - 1))
                pick = lambda q: q[:, k.flatten()].view(batch, height, width)
                distance = (pick(px) - xx) ** 2 + (pick(py) - yy) ** 2 + pick(pp)
                nearer, same = distance < best, k == index
                between = ~nearer & (distance < second) & ~same
                second = torch.where(nearer, best, torch.where(between, distance, second))
                other = torch.where(nearer, index, torch.where(between, k.expand_as(other), other))
                best, index = torch.where(nearer, distance, best), torch.where(nearer, k.expand_as(index), index)
        if turn < 2:
            own = index.flatten(1)
            gather = lambda q: torch.zeros_like(px).scatter_add_(1, own, q)
            weight = gather(light) + 1e-3
            middle = lambda q, home: (gather(light * q.flatten()[None]) + 1e-3 * home.flatten(1)) / weight
            sx, sy = middle(xx, sx).view_as(sx), middle(yy, sy).view_as(sy)
    place = lambda q, k: torch.gather(q.flatten(1), 1, k.flatten(1)).view(batch, 1, height, width)
    places = (place(q, k) for k in (index, other) for q in (sx, sy))
    return (index, best[:, None], second[:, None], *places)


def mosaic(x, e):
    """Tiles of one colour, slightly domed, small where there is detail and ending at its edges, in thin dark grout."""
    batch, _, height, width = x.shape
    calm = blur(opened(saturate(x, 1.3).clamp(0, 1), .5), 1.)
    gx, gy = sobel(calm)
    edge = (gx * gx + gy * gy).sum(1, keepdim=True).add(1e-8).sqrt()
    small = smoothstep(blur(edge, 5.), .015, .050)                         # thinner, paler grout between small tiles
    index, first, second, sx, sy, ox, oy = tiles(x, e, small, edge)
    own = index.flatten(1)
    total = lambda q: torch.zeros(batch, height // 8 * (width // 8), device=x.device).scatter_add_(1, own, q.flatten(1))
    count = total(torch.ones_like(edge)) + 1e-6
    tint = torch.stack([torch.gather(total(calm[:, c]) / count, 1, own) for c in range(3)], 1).view_as(x)
    xx, yy = pixels(x)
    tile = ((tint - .5) * 1.15 + .53).clamp(0, 1) * (1 + .012 * (sx + sy - xx - yy).clamp(-9, 9))
    border = (second - first) / (2 * ((ox - sx) ** 2 + (oy - sy) ** 2).add(1.).sqrt())
    grout = mix(.22 * tint + .05, .52 * tint + .03, small)
    return mix(grout, tile, smoothstep(border, .1, 1.5 - .4 * small)).clamp(0, 1)


def neon(x, e):
    """Glowing tubes along the edges of a dark scene, as bright as the edge is strong, in the object's own hue."""
    soft = blur(x, .7)
    grey = luminance(soft)
    strong = energy(relief(grey, 14., .12), .8)
    tube, core = smoothstep(strong, .034, .16), smoothstep(strong, .10, .30)
    gx, gy = sobel(blur(grey, 1.))
    body = blur(soft, 1.5)
    chroma = body - luminance(body)
    vivid = chroma.abs().amax(1, keepdim=True)
    angle = torch.atan2(gy, gx + 1e-6) * 2
    palette = torch.cat([.58 + .42 * torch.cos(angle), .36 + .34 * torch.cos(angle - 2.4),
                         .84 + .16 * torch.cos(angle - 4.)], 1)
    own = (.5 + .5 * chroma / (chroma.amax(1, keepdim=True) + .015)).clamp(0, 1)
    hue = mix(palette, own, smoothstep(vivid, .02, .10))
    lit = hue * tube
    glow = 1.9 * lit + .5 * blur(lit, 2.2) + 1.2 * blur(lit, 9.)
    base = grey.pow(1.7) * colour(x, .10, .09, .30) + colour(x, .010, .008, .030) + .16 * soft * soft
    return (1 - (1 - base).clamp(0, 1) * torch.exp(-1.1 * glow) + .32 * core * tube).clamp(0, 1)


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
    """Broad dark lines and smudged tone that catches on the paper's tooth; the lights stay bare paper."""
    grey = tone(luminance(x))
    tx, ty = flow(grey, 7., 2e-4, drift(e, 8, .6))
    smudged = mix(smear(grey, tx, ty, 5, 1.2), grey, .35)
    tooth = .55 * grain(e, .35) + .75 * smear(grain(e, .8), tx, ty, 5, 1.4)
    dark = 1 - blur(smudged, 1.)
    rub = smoothstep(dark + .085 * tooth, .26, .92)                         # coal catches on what stands out
    lines = ink_lines(mix(smudged, relief(smudged, 12., .12), .85), 1.4, 12., .40, 4.)
    edge = smoothstep(energy(smudged, 2.), .03, .16) * .25
    value = (1 - .84 * rub) * (1 - edge) * (.30 + .70 * lines)
    value = value + .04 * tooth * (1 - (value - .5).abs() * 2).clamp(0, 1)
    return mix(colour(x, .065, .06, .065), colour(x, .945, .93, .90), smoothstep(value, -.02, 1.04)).clamp(0, 1)


# Four inks from dark to light; a prompt names all but the first by the word
PALETTES = dict(plain=((.10, .05, .28), (.90, .10, .42), (1., .72, .10), (1., .965, .82)),
                red=((.09, .04, .06), (.84, .09, .12), (.98, .60, .50), (.99, .95, .84)),
                green=((.03, .15, .13), (.05, .55, .32), (.80, .86, .20), (.98, .97, .82)),
                blue=((.05, .06, .24), (.10, .34, .84), (.38, .80, .95), (.97, .97, .90)),
                purple=((.15, .03, .25), (.50, .16, .70), (1., .50, .70), (1., .93, .93)))


def popart(x, e, palettes=()):
    """Screen print: four flat inks, halftone dots in the mid-tones only, dark outlines.

    palettes: the palette of each picture, () for the plain one, which prints cool things in other inks than warm ones.
    """
    body = kuwahara(x, 4, 8.)
    grey = blur(tone(luminance(body)), 1.)
    xx, yy = pixels(x)
    dot = torch.maximum(triangle(xx / 8) + triangle(yy / 8), triangle(xx / 8 + .5) + triangle(yy / 8 + .5)) - 1
    names = tuple(palettes) or ('plain',) * len(x)
    inks = _cached(('inks', names, x.device), lambda: torch.tensor([PALETTES[n] for n in names], device=x.device))
    plain = _cached(('plain', names, x.device),
                    lambda: torch.tensor([float(n == 'plain') for n in names], device=x.device))
    inks = inks[..., None, None]
    out = mix(inks[:, 0], inks[:, 1], smoothstep(grey, .20, .30))
    share = smoothstep((grey - .48) / .28 + (dot - .5), -.24, .24)         # the dots: from the second ink to the third
    out = mix(out, inks[:, 2], share)
    out = mix(out, inks[:, 3], smoothstep(grey, .70, .77))
    cool = smoothstep(blur(body[:, 2:] - body[:, :1], 1.5), .0, .24) * plain.view(-1, 1, 1, 1)
    out = mix(out, out.flip(1) * colour(x, .75, 1., 1.), cool)
    line = relief(mix(luminance(kuwahara(body, 3, 6.)), blur(luminance(x), .7), .60), 9., .10)
    return (out * (.05 + .95 * smoothstep(ink_lines(line, 1.2, 13., .41, 5.), .15, .9))).clamp(0, 1)


# The 40 colours of pixel art: greys, earths, reds, yellows, greens, blues, violets
PIXEL_COLOURS = """0b0a14 1d1a2b 343148 4f4d5c 7c7a80 a9a7a8 dcdce0 fbf9f2 2a1518 55261f 8a3f2b bf6b3f e29a5f f3c58f
fde3bd 6b5f54 a01f33 d93a3a f2642a 3c2a12 6f5620 a98a2f e3c24a f8e98a 12301f 1f5531 3f7f3c 79ac4a b9d56f 0e2a3d 174a6b
2474a5 45a6d3 8fd2ea 1c1a52 2d4a9e 4f78d8 4a1f5c b05aa6 ab9c88"""


def pixelart(x, e):
    """Blocks of eight pixels in a palette of 40 colours: dithered between two of them, with dark outlines."""
    colours = _cached(('pixels', x.device), lambda: torch.tensor(
        [[int(h[i:i + 2], 16) / 255 for i in (0, 2, 4)] for h in PIXEL_COLOURS.split()], device=x.device))
    axes = _cached(('axes', x.device), lambda: torch.tensor(
        [[.42, .60, .20], [.70, -.70, 0.], [-.30, -.30, .60]], device=x.device))
    batch, _, height, width = x.shape
    flat = mix(x, kuwahara(x, 4, 8.), .75)                                 # texture would be speckles
    small = F.avg_pool2d(opened(saturate(flat, 1.4).clamp(0, 1), .3), 8)
    small = small + .5 * (small - blur(small, 1.2))                        # a block's own contrast: eyes stay eyes
    small = ((small - .5) * 1.12 + .51).clamp(0, 1)
    line = relief(luminance(kuwahara(x, 3, 6.)), 14., .10)
    outline = F.avg_pool2d(smoothstep(ink_lines(line, 2.2, 13., .40, 5.), .15, .9), 8)
    rows, cols = height // 8, width // 8
    order = _cached(('dither', x.device), lambda: torch.tensor([[-.38, .13], [.38, -.13]], device=x.device))
    order = order.repeat((rows + 1) // 2, (cols + 1) // 2)[:rows, :cols]
    small = small * (.45 + .55 * smoothstep(outline, .30, .80)) + .022 * order
    apart = small.permute(0, 2, 3, 1)[..., None, :] - colours              # (B, rows, cols, 40, 3)
    distance = (apart[..., None, :] * axes).sum(-1).square().sum(-1)
    near = torch.softmax(-distance * 900, -1)                              # the nearest colour, but without a jump
    blocks = (near[..., None] * colours).sum(-2).permute(0, 3, 1, 2)
    return F.interpolate(blocks, scale_factor=8., mode='nearest').clamp(0, 1)


def blueprint(x, e):
    """White lines on blue, one along each edge, with a drawing grid and faint shading."""
    grey = tone(luminance(mix(kuwahara(x, 3, 5.), x, .4)))
    lines = smoothstep(energy(relief(grey, 14., .14), .8), .036, .16)
    xx, yy = pixels(x)
    grid = (torch.maximum(smoothstep(triangle(xx / 32), .94, 1.), smoothstep(triangle(yy / 32), .94, 1.)) * .16
            + torch.maximum(smoothstep(triangle(xx / 8), .80, 1.), smoothstep(triangle(yy / 8), .80, 1.)) * .035)
    value = (lines * .90 + grid + .16 * smoothstep(grey, .35, .95)).clamp(0, 1)
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
