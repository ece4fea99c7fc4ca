"""Style pictures for training: pairs of a picture and what a frame becomes with its colours and the kind of its marks.

A style picture is another frame drawn by the same filter, in random colours, or a painting as it is. The target is the
filter's picture of the frame, with its colours moved to the mean and covariance of the style picture. What is moved is
measured against the mean and covariance that the filter's pictures have in general, not against those of this one, so
that a change in one corner of the frame changes no colour elsewhere.
"""
import math

import torch
import torch.nn.functional as F

from filters import cached, luminance

SIDE = 224                 # pixels of a style picture, as the image encoder sees it
FLOOR = .02                # what has less contrast than this, counts as if it had this much


def axes(device):
    """Brightness, then two axes of hue, as the rows of a rotation."""
    return cached(('axes of hue', device), lambda: torch.tensor(
        [[3 ** -.5] * 3, [2 ** -.5, 0, -2 ** -.5], [-6 ** -.5, 2 * 6 ** -.5, -6 ** -.5]], device=device))


def factor(c):
    """The lower triangular L of L L' = c, for matrices c (...,3,3)."""
    a = c[..., 0, 0].clamp_min(1e-8).sqrt()
    b, d = c[..., 1, 0] / a, c[..., 2, 0] / a
    e = (c[..., 1, 1] - b * b).clamp_min(1e-8).sqrt()
    f = (c[..., 2, 1] - d * b) / e
    g = (c[..., 2, 2] - d * d - f * f).clamp_min(1e-8).sqrt()
    zero = torch.zeros_like(a)
    return torch.stack([a, zero, zero, b, e, zero, d, f, g], -1).view(*a.shape, 3, 3)


def colours(x):
    """Mean (B,3) of pictures x along the axes, and the factor of the covariance (B,3,3)."""
    y = torch.einsum('ij,bjhw->bihw', axes(x.device), x).flatten(2)
    mean = y.mean(2)
    y = y - mean[..., None]
    floor = cached(('floor', x.device), lambda: torch.eye(3, device=x.device) * FLOOR ** 2)
    return mean, factor(y @ y.transpose(1, 2) / y.shape[2] + floor)


def usual(x):
    """The colours that pictures x (B,3,H,W), all by one filter, have in general: (mean (3), factor (3,3))."""
    mean, spread = colours(x.transpose(0, 1).flatten(1)[None, :, :, None])
    return mean[0], spread[0] * .92                                        # one picture has less contrast than all


def inverse(spread):
    """Of a lower triangular (...,3,3)."""
    a, b, d = spread[..., 0, 0], spread[..., 1, 0], spread[..., 2, 0]
    e, f, g = spread[..., 1, 1], spread[..., 2, 1], spread[..., 2, 2]
    zero = torch.zeros_like(a)
    return torch.stack([1 / a, zero, zero, -b / (a * e), 1 / e, zero, (b * f - d * e) / (a * e * g), -f / (e * g), 1 / g],
                       -1).view(spread.shape)


def moved(x, source, wanted):
    """Pictures x with their colours moved: source and wanted are (mean (B,3), factor (B,3,3))."""
    turn = axes(x.device)
    gain = wanted[1] @ inverse(source[1])
    y = torch.einsum('ij,bjhw->bihw', turn, x) - source[0][..., None, None]
    y = torch.einsum('bij,bjhw->bihw', gain, y) + wanted[0][..., None, None]
    return torch.einsum('ji,bjhw->bihw', turn, y).clamp(0, 1)


def graded(x, least=0.):
    """Pictures in random colours: hue turned, saturation, contrast and tint changed, one in four as a ramp of two colours.

    least: how much of its own colours a picture keeps.
    """
    rand = lambda *shape: torch.rand(len(x), *shape, device=x.device)
    turn, grey = axes(x.device), luminance(x)
    angle = (rand() - .5) * 2 * math.pi * (rand() < .6).float()
    full, zero, one = (.25 + 1.5 * rand()), torch.zeros_like(angle), torch.ones_like(angle)
    hue = torch.stack([one, zero, zero, zero, full * angle.cos(), -full * angle.sin(), zero, full * angle.sin(),
                       full * angle.cos()], -1).view(-1, 3, 3)
    y = torch.einsum('bij,bjhw->bihw', turn.T @ hue @ turn, x)
    y = (y - .5) * (.7 + .5 * rand(1, 1, 1)) + .5 + .24 * (rand(1, 1, 1) - .5) + .16 * (rand(3, 1, 1) - .5)
    dark, light = .35 * rand(3, 1, 1), 1 - .6 * rand(3, 1, 1) * rand(1, 1, 1)
    ramp = dark + (light - dark) * grey
    y = torch.where(rand(1, 1, 1) < .25, ramp + .3 * (y - luminance(y)), y)
    return (y + (x - y) * (least + (1 - least) * (rand(1, 1, 1) < .15).float())).clamp(0, 1)


def cropped(x, side=SIDE):
    """Random squares of pictures (B,3,H,W), at .6 to 1 of their size, half of them mirrored."""
    count = len(x)
    rand = lambda: torch.rand(count, 1, device=x.device)
    span = .6 + .4 * rand()
    at = cached(('crop', side, x.device), lambda: (torch.arange(side, device=x.device) + .5) / side * 2 - 1)
    mirror = (rand() < .5).float() * 2 - 1
    across = at * span * mirror + (1 - span) * (rand() * 2 - 1)
    down = at * span + (1 - span) * (rand() * 2 - 1)
    grid = torch.stack([across[:, None, :].expand(count, side, side), down[:, :, None].expand(count, side, side)], -1)
    return F.grid_sample(x, grid, mode='bilinear', padding_mode='border', align_corners=False)


def seen_smaller(x, side=SIDE):
    """Four pictures beside each other, as marks look in a larger picture: x (4B,3,H,W) -> (B,3,side,side)."""
    count, (channels, height, width) = len(x) // 4, x.shape[1:]
    whole = x.view(count, 2, 2, channels, height, width).permute(0, 3, 1, 4, 2, 5).reshape(count, channels, 2 * height, 2 * width)
    return F.interpolate(whole, size=(side, side), mode='bicubic', antialias=True, align_corners=False).clamp(0, 1)
