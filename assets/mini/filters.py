"""Building blocks of the pictures the mini model learns to make: tones, lines, strokes, screens, tiles."""
import math

import torch
import torch.nn.functional as F

_cache = {}


def cached(key, make):
    """Constants are made once a device: no copies from the host inside a CUDA graph capture."""
    if key not in _cache:
        _cache[key] = make()
    return _cache[key]


def blur(x, sigma):
    """Gaussian blur."""
    def kernel():
        radius = max(1, math.ceil(2.6 * sigma))
        at = torch.arange(-radius, radius + 1, dtype=torch.float32, device=x.device)
        weight = torch.exp(-at * at / (2 * sigma * sigma))
        return weight / weight.sum()
    weight = cached(('gauss', round(sigma, 3), x.device), kernel)
    radius = len(weight) // 2
    batch, channels, height, width = x.shape
    y = F.pad(x.reshape(batch * channels, 1, height, width), (radius,) * 4, mode='reflect')
    y = F.conv2d(F.conv2d(y, weight.view(1, 1, 1, -1)), weight.view(1, 1, -1, 1))
    return y.view(batch, channels, height, width)


def colour(x, *rgb):
    """An RGB constant that broadcasts over x."""
    return cached(('colour', rgb, x.device),
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
    return F.conv_transpose2d(e[:, 10:13].float(), cached(('film', e.device), patterns), stride=8)


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
    weight = cached(('kuwahara', radius, sectors, x.device), kernels)
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
    return cached(('pair', pair, x.device),
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


def edges(x, sigma, steps, stride):
    """(strength, trust) of the edges of all channels, both of them summed along the edge.

    Gradients are added with their signs: an edge that goes on fills its gaps, while those of fur and leaves, light to
    dark and dark to light, take each other away. Trust is the share that is left: 1 on a clear edge.
    """
    gx, gy = sobel(blur(x, sigma))
    sum_up = lambda q: q.sum(1, keepdim=True)
    tensor = blur(torch.cat([sum_up(gx * gx - gy * gy), sum_up(2 * gx * gy)], 1), 1.2 + sigma)
    angle = .5 * torch.atan2(tensor[:, 1:], tensor[:, :1] + 1e-9) + math.pi / 2
    size = sum_up(gx * gx + gy * gy).add(1e-9).sqrt()
    along = smear(torch.cat([gx, gy, size], 1), torch.cos(angle), torch.sin(angle), steps, stride)
    strength = sum_up(along[:, :-1].square()).add(1e-9).sqrt()
    return strength, strength / (along[:, -1:] + 1e-4)


def crest(strength, sigma, width):
    """A line of so many pixels' half width along the ridges of a map of strength: 1 on the ridge, 0 beside it.

    The way to the ridge is the Newton step across it, so the line is as sharp however wide the ridge is, and two
    ridges side by side stay two lines.
    """
    soft = blur(strength, sigma)
    gx, gy = sobel(soft)
    (xx, xy), yy = sobel(gx), sobel(gy)[1]
    half = ((xx - yy).square() / 4 + xy * xy + 1e-12).sqrt()
    bend = half - (xx + yy) / 2                                            # how sharply it falls to both sides
    angle = .5 * torch.atan2(-2 * xy, yy - xx + 1e-9)
    away = (gx * torch.cos(angle) + gy * torch.sin(angle)) / bend.clamp_min(1e-5)
    return torch.exp(-(away / width).square()) * smoothstep(bend / (soft + 1e-3), .02, .12)


def narrow(grey, radius, ground):
    """How far what is narrower than twice the radius stands out of the ground: letters and twigs, but no plain edge.

    Both dark and light things count, but what is nearer to the ground is a gap between them.
    """
    most = lambda q: F.max_pool2d(q, 2 * radius + 1, 1, radius)
    depth = torch.maximum(-most(-most(grey)) - grey, grey - most(-most(-grey)))
    return blur(torch.minimum(depth, (grey - ground).abs()), .6)


def tangle(grey, sigma):
    """How much the edges nearby run in all directions: 0 along a contour, 1 in leaves and fur."""
    gx, gy = sobel(blur(grey, 1.))
    same = blur(torch.cat([gx * gx - gy * gy, 2 * gx * gy, gx * gx + gy * gy], 1), sigma)
    along = (same[:, :2].square().sum(1, keepdim=True) + 1e-12).sqrt() / (same[:, 2:] + 1e-5)
    return 1 - smoothstep(along, .20, .75)


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


def dots(x):
    """Two round dots a square of 8 pixels, as a screen of 45 degrees: 1 in their middles, 0 half-way between."""
    xx, yy = pixels(x)
    return torch.maximum(triangle(xx / 8) + triangle(yy / 8), triangle(xx / 8 + .5) + triangle(yy / 8 + .5)) - 1


# (a, b) of hatch(): six directions whose lines are about 4 pixels apart and repeat on the 8-pixel lattice
SIX_WAYS = ((2, 0), (2, 1), (1, 2), (0, 2), (-1, 2), (-2, 1))


FOUR_WAYS = ((1, 0), (1, 1), (0, 1), (-1, 1))              # the same, about 8 pixels apart


def strokes(x, tx, ty, jitter, turn=0., sharpness=6., ways=SIX_WAYS):
    """Hatching whose lines run along the tangent (tx, ty), turned by `turn`: the nearest of the directions, blended."""
    total, weights = 0., 0.
    angle = torch.atan2(ty, tx) + turn
    for a, b in ways:
        along = math.atan2(a, -b)                                          # the direction of a line of this hatching
        weight = torch.exp(sharpness * (torch.cos(2 * (angle - along)) - 1))
        total, weights = total + weight * hatch(x, a, b, jitter), weights + weight
    return total / weights


def planted(e, detail, wide, narrow):
    """The seeds of a pavement, one a square of 8 pixels: (x, y, how much it stands back).

    One of the four seeds in a square of 16 leads. The other three stand back, by 1 where there is no detail and by 0
    where there is. wide, narrow: how far the noise moves seeds where there is none and where there is, in pixels.
    """
    rows, cols = detail.shape[2] // 8, detail.shape[3] // 8
    shift = .5 * torch.erf(e[:, :2].float() / 2 ** .5)                     # even in +-.5
    at = lambda n: torch.arange(n, device=e.device, dtype=torch.float32)
    row, col = torch.meshgrid(at(rows), at(cols), indexing='ij')
    fine = F.avg_pool2d(detail, 8)[:, 0]
    coarse = F.interpolate(F.avg_pool2d(fine[:, None], 2), size=(rows, cols), mode='nearest')[:, 0]
    leads = ((row % 2 == 0) & (col % 2 == 0)).float()
    reach = mix(torch.full_like(coarse, wide), torch.full_like(coarse, narrow), coarse)
    home_x = (col + .5) * 8 + leads * 4 * (1 - coarse)                     # a lone tile sits in its square's middle
    home_y = (row + .5) * 8 + leads * 4 * (1 - coarse)
    return home_x + shift[:, 0] * reach, home_y + shift[:, 1] * reach, (1 - leads) * (1 - coarse)


def settled(sx, sy, index, light, xx, yy):
    """Seeds moved to the middle of their tile, whose pixels weigh as much as `light` says."""
    own = index.flatten(1)
    gather = lambda q: torch.zeros_like(light[:, :sx[0].numel()]).scatter_add_(1, own, q)
    weight = gather(light) + 1e-3
    middle = lambda q, home: (gather(light * q.flatten()[None]) + 1e-3 * home.flatten(1)) / weight
    return middle(xx, sx).view_as(sx), middle(yy, sy).view_as(sy)


def tiles(x, e, detail, edge):
    """A pavement of tiles of 16 pixels that part into tiles of 8 where `detail` (0 to 1) is high.

    One seed a square of 8 pixels. In a square of 16 one of the four leads and the other three are held back by a
    penalty that detail takes away, so a tile grows out of nothing and nothing jumps. The seeds are moved by the noise,
    then twice to the middle of their tile, where edges (`edge`, B,1,H,W) weigh little: borders settle on edges.
    Returns (index of the tile of every pixel, squared distances to its seed and the second's, both seeds' places).
    """
    batch, _, height, width = x.shape
    rows, cols = height // 8, width // 8
    sx, sy, follows = planted(e, detail, 7., 3.2)
    penalty = follows * 160.
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
            sx, sy = settled(sx, sy, index, light, xx, yy)
    place = lambda q, k: torch.gather(q.flatten(1), 1, k.flatten(1)).view(batch, 1, height, width)
    places = (place(q, k) for k in (index, other) for q in (sx, sy))
    return (index, best[:, None], second[:, None], *places)


def paved(x, pavement):
    """Every tile of tiles() in its mean colour, and how far each pixel is from its tile's border."""
    index, first, second, sx, sy, ox, oy = pavement
    batch, _, height, width = x.shape
    own = index.flatten(1)
    total = lambda q: torch.zeros(batch, height // 8 * (width // 8), device=x.device).scatter_add_(1, own, q.flatten(1))
    count = total(torch.ones_like(first)) + 1e-6
    tint = torch.stack([torch.gather(total(x[:, c]) / count, 1, own) for c in range(3)], 1).view_as(x)
    return tint, (second - first) / (2 * ((ox - sx) ** 2 + (oy - sy) ** 2).add(1.).sqrt())


def tesserae(x, e, detail, edge, tx, ty):
    """A pavement of square tiles in rows: as tiles(), but every tile is turned to the edges nearby and hardly moved.

    tx, ty: unit tangent of the edges, see flow(). A pixel belongs to the tile whose seed is nearest in the tile's own
    frame, by the fourth powers, so that the tiles are squares with softened corners.
    Returns (index of the tile of every pixel, distance from its border, place within the tile: (x, y) in pixels).
    """
    batch, _, height, width = x.shape
    rows, cols = height // 8, width // 8
    sx, sy, follows = planted(e, detail, 5., 1.6)
    penalty = (follows * 200.).flatten(1)
    turned = F.avg_pool2d(torch.cat([tx * tx - ty * ty, 2 * tx * ty], 1), 8)     # twice the angle: a mean is one
    angle = .5 * torch.atan2(turned[:, 1], turned[:, 0] + 1e-6)
    pc, ps = torch.cos(angle).flatten(1), torch.sin(angle).flatten(1)
    xx, yy = (q[0, 0] for q in pixels(x))
    own_row, own_col = (yy / 8).long(), (xx / 8).long()
    light = (1 / (1 + 25 * edge))[:, 0].flatten(1)
    for turn in range(3):
        best = torch.full((batch, height, width), 1e9, device=x.device)
        second, index = best.clone(), torch.zeros_like(best, dtype=torch.long)
        px, py = sx.flatten(1), sy.flatten(1)
        for i in range(-2, 3):
            for j in range(-2, 3):
                k = ((own_row + i).clamp(0, rows - 1) * cols + (own_col + j).clamp(0, cols - 1))
                pick = lambda q: q[:, k.flatten()].view(batch, height, width)
                dx, dy, c, s = xx - pick(px), yy - pick(py), pick(pc), pick(ps)
                u, v = (dx * c + dy * s) ** 2, (dy * c - dx * s) ** 2
                distance = (u * u + v * v + 1e-6).sqrt() + pick(penalty)
                nearer, same = distance < best, k == index
                second = torch.where(nearer, best, torch.where(same, second, torch.minimum(second, distance)))
                best, index = torch.where(nearer, distance, best), torch.where(nearer, k.expand_as(index), index)
        if turn < 2:
            sx, sy = settled(sx, sy, index, light, xx, yy)
    place = lambda q: torch.gather(q.flatten(1), 1, index.flatten(1)).view(batch, 1, height, width)
    return index, ((second.sqrt() - best.sqrt()) / 2)[:, None], xx - place(sx), yy - place(sy)


def tile_values(x, index):
    """The mean of x over the tile of every pixel."""
    batch, channels, height, width = x.shape
    own = index.flatten(1)
    total = lambda q: torch.zeros(batch, height // 8 * (width // 8), device=x.device).scatter_add_(1, own, q.flatten(1))
    count = total(torch.ones_like(x[:, :1])) + 1e-6
    return torch.stack([torch.gather(total(x[:, c]) / count, 1, own) for c in range(channels)], 1).view_as(x)
