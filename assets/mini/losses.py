"""How far two pictures, or two latents, are from each other, for training."""
import torch.nn.functional as F


def laplacian_loss(a, b, weights=(2., 1.5, 1.)):
    """Difference of the finer detail at three scales."""
    loss = 0
    for weight in weights:
        small_a, small_b = F.avg_pool2d(a, 2), F.avg_pool2d(b, 2)
        up = lambda x: F.interpolate(x, scale_factor=2., mode='bilinear', align_corners=False)
        loss = loss + ((a - up(small_a)) - (b - up(small_b))).abs().mean() * weight
        a, b = small_a, small_b
    return loss


def gradient_loss(a, b):
    d = a - b
    return (d[..., 1:] - d[..., :-1]).abs().mean() + (d[..., 1:, :] - d[..., :-1, :]).abs().mean()


def picture_loss(a, b):
    d = a - b
    return d.abs().mean() + 1.0 * d.square().mean() + .6 * laplacian_loss(a, b) + .5 * gradient_loss(a, b)
