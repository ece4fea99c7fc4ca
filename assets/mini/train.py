#!/usr/bin/env python3
"""The mini model: prepare the pictures, train, export, evaluate. README.md has the command lines and the figures.

    train.py prepare  PACKAGES DATA      pick and pack the pictures and clips of unpacked Debian packages
    train.py train    DATA OUT           autoencoder, then U-Net, text encoder and decoder; writes OUT/model;
                                         --from MODEL goes on from a trained model; --pause and --resume part a run;
                                         --gpus N trains on N GPUs of this host
    train.py mix      A B SHARE OUT      weights between those of two models, SHARE of the way from A to B
    train.py evaluate DATA MODEL OUT     figures (evaluation.json) and picture sheets of a trained model
    train.py look     DATA MODEL OUT     sheets of your own pictures (DATA/look, 512x512) in every style
    train.py check    MODEL              load it with diffusers and transformers and compare (needs both)
    train.py selftest OUT                the whole thing in miniature on made-up pictures; a CPU is enough

The parts: data.py (pictures), targets.py and looks.py (what the styles look like, from filters.py), exemplars.py (style
pictures), batches.py, nets.py, text.py (prompts, tokenizer), model.py (schedule, export, drawing), losses.py, session.py
(averages, clock, guard, checkpoints), group.py (several GPUs), evaluate.py (figures and sheets); this file holds the
training itself.

The method in short. The model restyles a frame in one step: the U-Net gets pure noise and the encoded frame and
predicts the latent of the finished picture. Every texture of the target is a fixed function of that noise
(targets.py), so this is plain regression. Later steps of a several-step run are trained on what the model itself made
of the earlier ones. The decoder learns along with the U-Net.
"""
import argparse
import math
import os
import random
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import data
import group as groups
import nets
import targets
import text
from batches import Maker, Prompts
from evaluate import check, evaluate, look, psnr
from losses import picture_loss
from model import CUDA, DEVICE, START, Model, Schedule, export, log, mix
from session import Average, Clock, Guard, clip, optimiser, read_checkpoint, write_checkpoint

NODES = (999, 749, 499, 249)                 # the timesteps of 1, 2 and 4 trailing steps


def half_precision():
    return torch.autocast('cuda', dtype=torch.bfloat16) if CUDA else torch.autocast('cpu', enabled=False)


def compiled(module, wanted):
    return torch.compile(module, dynamic=False) if CUDA and wanted else module


def packed(x):
    return x.contiguous(memory_format=torch.channels_last)


def on_device(module):
    return module.to(DEVICE).to(memory_format=torch.channels_last)


# ---------------------------------------------------------------------------------------------- phase 1: autoencoder

def new_autoencoder(maker):
    """An untrained autoencoder whose latents have unit variance."""
    torch.manual_seed(10)
    ae = nets.Autoencoder()
    ae.start()
    ae = on_device(ae)
    frames, _, made, *_ = maker()
    ae.scale_latents(torch.cat([frames[::8], made[::8]]))
    return ae


def train_autoencoder(group, maker, ae, args, saved, mean, checkpoint):
    """Half photos, half targets; unit-variance latents. In place, averaged in the end. Returns False when paused."""
    group.seed(11 + (saved['steps'] if saved else 0))
    encoder, decoder = compiled(ae.encoder, args.compile), compiled(ae.decoder, args.compile)
    opt = optimiser(ae.parameters(), (.9, .99))
    if saved:
        read_checkpoint(saved, [ae], [opt])
    group.spread(ae)
    average = Average(ae, mean)
    highest = min(1.6e-3, 8e-4 * group.size ** .5) if args.start else 1.6e-3
    left = args.autoencoder_seconds * (1 - saved['part'] if saved else 1)
    clock, batch = Clock(group, lambda: left, args, saved), args.batch
    sums, seen = torch.zeros(2, device=DEVICE), 0
    while (part := clock.done()) < 1:
        save, stop = clock.due()
        if save:
            checkpoint('autoencoder', clock, [ae], [opt], [average])
        if stop:
            return False
        for entry in opt.param_groups:
            entry['lr'] = highest * clock.rate(part, 100)
        if clock.calls % 3 == 1:                                           # every made batch serves three steps
            frames, _, made, *_ = maker()
            pictures = torch.cat([frames, made])
            order = torch.cat([torch.randperm(maker.count, device=DEVICE), maker.count + torch.randperm(maker.count, device=DEVICE)])
        place = (clock.calls - 1) % 3 * (batch // 2)
        pick = torch.cat([order[place:place + batch // 2], order[maker.count + place:maker.count + place + batch - batch // 2]])
        y = packed(pictures[pick])
        with half_precision():
            z = encoder(y * 2 - 1).float()
            noisy = z + torch.randn_like(z) * (.06 * torch.rand(len(z), 1, 1, 1, device=DEVICE))
            out = decoder(packed(noisy)).add(1).div(2)
        flat = z.permute(1, 0, 2, 3).reshape(z.shape[1], -1)
        mean = flat.mean(1)
        covariance = (flat - mean[:, None]) @ (flat - mean[:, None]).T / flat.shape[1]
        unit = mean.square().mean() + 2 * (covariance - torch.eye(len(mean), device=DEVICE)).square().mean() \
            + .1 * F.relu(z.abs() - 3).square().mean()
        rebuilt = picture_loss(out.float(), y)
        loss = rebuilt + .1 * unit
        opt.zero_grad(set_to_none=True)
        loss.backward()
        group.average(ae.parameters())
        clip(list(ae.parameters()), 1.)
        opt.step()
        average.update()
        sums += torch.stack([rebuilt.detach(), unit.detach()])
        seen += 1
        if clock.calls in (1, 2) or clock.steps % args.log_every == 0:
            log('autoencoder step %d (%.0f%%) picture %.4f latent %.3f, %.0f images/s' % (
                clock.steps, 100 * part, *(sums / seen).tolist(), clock.speed(batch)))
            sums.zero_()
            seen = 0
    average.swap()
    log('autoencoder done,', clock.steps, 'steps')
    return True


@torch.no_grad()
def log_limits(maker, ae):
    """The autoencoder's own limit for each style in dB; mosaic and pixel art need 24 before the U-Net is trained."""
    made = maker()[2][:maker.plain]
    rebuilt = torch.cat([ae.decoder(ae.encoder(x * 2 - 1)).add(1).div(2) for x in made.split(maker.each)])
    figures = psnr(rebuilt, made).view(-1, maker.each).mean(1).tolist()
    log('through the autoencoder, dB:', {style: round(figure, 1) for style, figure in zip(maker.styles, figures)})


# ---------------------------------------------------------------------------------------------- phase 2: U-Net

def next_timesteps(t, twin):
    """Where each sample goes after a step at t: back to the start (999), or down as a 2- or 4-step run goes."""
    draw = torch.rand(len(t), device=t.device)[twin]
    deep = torch.rand(len(t), device=t.device)[twin]
    from_start = torch.where(deep < .4, NODES[1], torch.where(deep < .8, NODES[2], (100 + 898 * draw).long()))
    lower = torch.where(t == NODES[0], from_start, torch.where(
        t == NODES[1], NODES[2], torch.where(t == NODES[2], NODES[3], (t * deep).long())))
    again = (draw < .3) | (t <= NODES[3])
    return torch.where(again, NODES[0], lower), again


def train_unet(group, maker, ae, parts, tokenizer, args, saved, mean, checkpoint):
    """U-Net, text encoder, the networks of style pictures (`parts`) and the decoder together, in place, averaged in the
    end. Returns False when it was paused.

    Every made batch is used three times: first from pure noise, then from where the model's own answer leads
    (about a third of the samples start again), so that the later steps of a run learn to mend, not to copy.
    """
    group.seed(20 + (saved['steps'] if saved else 0))
    unet, writer, viewer, adapter = parts
    prompts, schedule = Prompts(tokenizer, maker), Schedule()
    ae.encoder.requires_grad_(False)
    run_unet, decoder = compiled(unet, args.compile), compiled(ae.decoder, args.compile)
    see = compiled(viewer, args.compile)
    main_parameters = [p for part in parts for p in part.parameters()]
    opt = optimiser([dict(params=main_parameters, scale=1.), dict(params=list(ae.decoder.parameters()), scale=.4)], (.9, .98))
    critic = on_device(nets.Critic())
    critic_opt = torch.optim.AdamW(critic.parameters(), lr=3e-4, betas=(.5, .9))
    modules, optimisers = [*parts, ae, critic], [opt, critic_opt]
    if saved:
        read_checkpoint(saved, modules, optimisers)
    group.spread(*modules)
    averages = [Average(*both) for both in zip((*parts, ae.decoder), mean or (None,) * 5)]
    guard = Guard(group, [*parts, ae.decoder, critic], optimisers, averages)
    uses, slots = 3, [dict(left=0) for _ in range(6)]
    clock = Clock(group, lambda: args.until - (time.time() - START), args, saved)
    sums, seen = torch.zeros(5, device=DEVICE), 0
    rebuilt_count = args.batch // 6
    pair_count = args.batch // 4
    single_count = args.batch - rebuilt_count - 2 * pair_count
    while (part := clock.done()) < 1:
        save, stop = clock.due()
        if save:
            checkpoint('unet', clock, modules, optimisers, averages)
        if stop:
            return False
        for entry in opt.param_groups:
            ready = min(1., part / .08) if entry['scale'] < 1 else 1.     # the decoder joins in gently
            entry['lr'] = args.rate * guard.rate * entry['scale'] * ready * clock.rate(part, 200)
        slot = slots[clock.calls % len(slots)]
        if slot['left'] == 0:
            frames, damaged, made, noise, pictures = (x.clone() for x in maker())
            with torch.no_grad(), half_precision():
                latents = torch.cat([ae.encoder(packed(x) * 2 - 1).float() for x in (damaged, made)])
            t = torch.full((maker.count,), NODES[0], device=DEVICE)
            slot.update(left=uses, frames=frames, target=made, noise=noise, pictures=pictures, condition=latents[:maker.count],
                        goal=latents[maker.count:], t=t, x=schedule.start(noise))
        slot['left'] -= 1
        t, x, goal = slot['t'], slot['x'], slot['goal']
        with half_precision():
            words = writer(prompts())
            v = run_unet(packed(torch.cat([x, slot['condition']], 1)), t, words, adapter(see(slot['pictures']))).float()
        a, g = schedule.at(t)
        x0 = a * x - g * v
        error = x0 - goal
        latent = error.square().mean() + .3 * error.abs().mean()

        # decode some: pairs of frames, single ones, and true latents to keep the decoder a decoder
        drawn = torch.randperm(len(maker.pairs), device=DEVICE)[:pair_count]
        pairs = maker.pairs[drawn]
        singles = maker.singles[torch.randperm(len(maker.singles), device=DEVICE)[:single_count]]
        chosen = torch.cat([pairs[:, 0], pairs[:, 1], singles])
        true = chosen[torch.randperm(len(chosen), device=DEVICE)[:rebuilt_count]]
        with half_precision():
            y = decoder(packed(torch.cat([x0[chosen], goal[true] + .03 * torch.randn_like(goal[true])]))).add(1).div(2)
        y = y.float()
        made, rebuilt, wanted = y[:len(chosen)], y[len(chosen):], slot['target'][chosen]
        picture = picture_loss(made, wanted)
        change = (made[:pair_count] - made[pair_count:2 * pair_count]) - (wanted[:pair_count] - wanted[pair_count:2 * pair_count])
        steady = (change.abs().mean((1, 2, 3)) * maker.calm[drawn]).mean()
        loss = .5 * latent + picture + .4 * picture_loss(rebuilt, slot['target'][true]) + args.steady * steady
        critic_part = (part - .6) / .1
        if args.critic and critic_part > 0:
            critic.requires_grad_(False)
            with half_precision():
                verdict = critic(slot['frames'][chosen], made)
            loss = loss - args.critic * min(1., critic_part) * verdict.float().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        group.average(main_parameters + list(ae.decoder.parameters()))
        clip(main_parameters, 1.)
        clip(list(ae.decoder.parameters()), .5)
        opt.step()
        for average in averages:
            average.update()
        if args.critic and critic_part > -.3:
            critic.requires_grad_(True)
            with half_precision():
                real, fake = critic(slot['frames'][chosen], wanted), critic(slot['frames'][chosen], made.detach())
            verdict_loss = F.relu(1 - real.float()).mean() + F.relu(1 + fake.float()).mean()
            critic_opt.zero_grad(set_to_none=True)
            verdict_loss.backward()
            group.average(critic.parameters())
            critic_opt.step()

        with torch.no_grad():
            x0 = x0.detach()
            t_next, again = next_timesteps(t, maker.twin)
            moved = schedule.advance(x, x0, t, t_next)
            slot['x'] = torch.where(again.view(-1, 1, 1, 1), schedule.start(slot['noise']), moved)
            slot['t'] = t_next
            first = (t == NODES[0]).float()
            each = error.detach().square().mean((1, 2, 3)) * first
            part_mean = lambda rows: each[rows].sum() / first[rows].sum().clamp_min(1)
            sums += torch.stack([latent.detach(), picture.detach(), steady.detach(), part_mean(slice(maker.plain)),
                                 part_mean(slice(maker.plain, None))])
            seen += 1
        if clock.calls in (1, 2) or clock.steps % args.log_every == 0:
            log('unet step %d (%.0f%%) latent %.4f picture %.4f steady %.4f first-step mse %.4f, with a style picture %.4f, %.0f samples/s' % (
                clock.steps, 100 * part, *(sums / seen).tolist(), clock.speed(maker.count)))
            if clock.calls > 2 and guard.check((sums / seen)[3].item()):
                log('the loss ran away: back to the last good weights, at %g times the rate' % guard.rate)
            sums.zero_()
            seen = 0
    for average in averages:
        average.swap()
    log('unet done,', clock.steps, 'steps')
    return True


# ---------------------------------------------------------------------------------------------- commands

def train(root, out, args):
    """The training; writes OUT/model, and OUT/checkpoint.pt where it was paused. Returns False then."""
    os.makedirs(out, exist_ok=True)
    for name in ('TRAINED', 'meeting'):
        if os.path.exists(os.path.join(out, name)):
            os.remove(os.path.join(out, name))
    text.write_tokenizer(os.path.join(out, 'tokenizer'))
    groups.launch(args.gpus, train_one, root, out, args)
    return os.path.exists(os.path.join(out, 'TRAINED'))


def train_one(group, root, out, args):
    """One process's share of the training. Process 0 writes the files and the log."""
    random.seed(0)
    group.seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    tokenizer = text.Tokenizer(os.path.join(out, 'tokenizer'))
    images = data.Images(root, DEVICE, args.limit, os.cpu_count() // group.size)
    log('pictures', tuple(images.pictures.shape), 'cut-outs', tuple(images.cutouts.shape))
    maker = Maker(images, args.each, args.size, args.more)
    if CUDA:
        torch.cuda.synchronize()
        begin = time.time()
        for _ in range(5):
            maker()
        torch.cuda.synchronize()
        log('a batch of %d takes %.1f ms to make' % (maker.count, (time.time() - begin) * 200))
    group.meet(os.path.join(out, 'meeting'))
    folder, place = os.path.join(out, 'model'), os.path.join(out, 'checkpoint.pt')
    saved, mean, start = None, None, args.start
    if args.resume:
        saved, mean, start = torch.load(place, map_location='cpu'), Model(folder), folder
        log('goes on in phase %s at %.0f%%, step %d' % (saved['phase'], 100 * saved['part'], saved['steps']))
    if start:
        model = Model(start)
        assert model.tokenizer.ids == tokenizer.ids, 'that model was trained with other words'
        ae, parts = on_device(model.ae.train()), [model.unet, model.writer, model.viewer, model.adapter]
    else:
        ae, unet = new_autoencoder(maker), nets.UNet()
        parts = [unet, nets.TextEncoder(len(tokenizer.ids)), nets.PictureEncoder(), nets.Adapter(unet.style_widths)]
    parts = [on_device(part.train()) for part in parts]

    def checkpoint(phase, clock, modules, optimisers, averages):
        """OUT/model with the averages in place of the weights, and OUT/checkpoint.pt with the rest."""
        if group.rank:
            return
        write_checkpoint(place, phase, clock, modules, optimisers)
        for average in averages:
            average.swap()
        export(folder, ae, *parts)
        for average in averages:
            average.swap()
        log('saved at step', clock.steps)

    if args.autoencoder_seconds and (saved is None or saved['phase'] == 'autoencoder'):
        if not train_autoencoder(group, maker, ae, args, saved, mean and mean.ae, checkpoint):
            return
        log_limits(maker, ae)
        saved = mean = None
    mean = mean and (mean.unet, mean.writer, mean.viewer, mean.adapter, mean.ae.decoder)
    if train_unet(group, maker, ae, parts, tokenizer, args, saved, mean, checkpoint) and group.rank == 0:
        export(folder, ae, *parts)
        open(os.path.join(out, 'TRAINED'), 'w').close()
        log('exported')


def check_guard():
    """A loss that runs away takes weights, moments and averages back."""
    layer = torch.nn.Linear(3, 2)
    opt = optimiser(layer.parameters(), (.9, .98))
    guard = Guard(groups.Group(), [layer], [opt], [Average(layer)])

    def step():
        layer(torch.ones(1, 3)).sum().backward()
        opt.step()
        guard.averages[0].update()
    step()
    assert not guard.check(1.)
    held = [tensor.detach().clone() for tensor in guard._tensors()]
    for loss, rate in ((1.2, None), (1.31, .5), (float('nan'), .25)):
        step()
        assert guard.check(loss) == (rate is not None)
        assert rate is None or guard.rate == rate
        assert all(map(torch.equal, held, guard._tensors())) == (rate is not None)


def check_mix(first, second, out):
    """A quarter of the way from one model's weights to another's."""
    mix(first, second, .25, out)
    near, far, between = (next(Model(folder).unet.parameters()) for folder in (first, second, out))
    assert not torch.equal(near, far)
    assert (near + .25 * (far - near) - between).abs().max() <= 1e-3 * between.abs().max()


def selftest(out, args):
    """Train a few steps on made-up pictures, export, draw and evaluate: does the machinery hold together?"""
    check_guard()
    root = os.path.join(out, 'data')
    for folder in ('images', 'cutouts', 'clips/a'):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    rng = np.random.default_rng(0)
    rows = ['file\tkind\tsplit\tpackage\tpath\tlicence']
    for i in range(6):
        kind = 'cutout' if i == 5 else 'photo'
        cloud = Image.fromarray(rng.integers(0, 255, (9, 12, 4 if i == 5 else 3), np.uint8)).resize((540, 512), Image.BICUBIC)
        name = '%s/%d.webp' % ('cutouts' if i == 5 else 'images', i)
        (cloud.resize((200, 160)) if i == 5 else cloud).save(os.path.join(root, name))
        rows.append('\t'.join([name, kind, 'held-out' if i == 4 else 'train', 'none', name, 'none']))
    for i in range(3):
        cloud.convert('RGB').resize((256, 256)).save(os.path.join(root, 'clips/a/%d.webp' % i))
    open(os.path.join(root, 'SOURCES.tsv'), 'w').write('\n'.join(rows) + '\n')
    args.max_steps, args.each, args.size, args.log_every, args.batch, args.save_every = 5, 8, 96, 2, 16, 0
    args.more = ['blueprint']
    args.autoencoder_seconds, args.until = 600, time.time() - START + 3600
    run, more = os.path.join(out, 'run'), os.path.join(out, 'more')
    args.pause = .001
    assert not train(root, run, args)                                      # stops in the first phase
    args.resume, args.pause = True, 0
    assert train(root, run, args)
    args.resume, args.start, args.autoencoder_seconds, args.pause = False, os.path.join(out, 'run/model'), 0, .001
    assert not train(root, more, args)                                     # stops in the second
    args.resume, args.pause = True, 0
    assert train(root, more, args)
    check_mix(run + '/model', more + '/model', os.path.join(out, 'mixed'))
    result = evaluate(root, more + '/model', more + '/evaluation', steps=(1, 2), with_clips=False)
    assert all(math.isfinite(v) for row in result['pictures'].values() for v in row.values())
    assert all(math.isfinite(v) for v in result['mean'].values())
    print('selftest passed')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('command', choices=('prepare', 'train', 'mix', 'evaluate', 'look', 'check', 'selftest'))
    parser.add_argument('paths', nargs='*')
    parser.add_argument('--autoencoder-seconds', type=float, help='length of the first phase: 370, with --from 0')
    parser.add_argument('--from', dest='start', help='go on from the weights of this exported folder')
    parser.add_argument('--pause', type=float, default=0,
                        help='stop so many seconds after the start and leave OUT/checkpoint.pt for --resume')
    parser.add_argument('--resume', action='store_true',
                        help='go on from OUT/checkpoint.pt and OUT/model at the same place of the schedule')
    parser.add_argument('--gpus', type=int, default=1, help='train on so many GPUs (processes on a CPU), each with its own batch')
    parser.add_argument('--rate', type=float, default=9e-4, help='highest learning rate of the U-Net')
    parser.add_argument('--steady', type=float, default=.25, help='weight of what differs between two frames of a scene')
    parser.add_argument('--until', type=float, default=1340, help='end the training so many seconds after the start')
    parser.add_argument('--critic', type=float, default=.006, help='weight of the patch critic in the last 40 %%, 0: none')
    parser.add_argument('--each', type=int, default=9, help='samples of each style in a made batch')
    parser.add_argument('--more', action='append', default=[], choices=list(targets.STYLES), metavar='STYLE',
                        help='so many samples of this style once more in every batch; may be given again')
    parser.add_argument('--batch', type=int, default=96, help='pictures through the autoencoder a step')
    parser.add_argument('--size', type=int, default=256)
    parser.add_argument('--compile', type=int, default=1)
    parser.add_argument('--limit', type=int, default=0, help='use only about so many pictures')
    parser.add_argument('--max-steps', type=int, default=0)
    parser.add_argument('--log-every', type=int, default=200)
    parser.add_argument('--save-every', type=float, default=180)
    args = parser.parse_args()
    if args.autoencoder_seconds is None:
        args.autoencoder_seconds = 0 if args.start else 370
    if args.command == 'prepare':
        rows = data.prepare(*args.paths)
        print(len(rows), 'pictures')
    elif args.command == 'train':
        train(*args.paths, args)
    elif args.command == 'mix':
        first, second, share, out = args.paths
        mix(first, second, float(share), out)
    elif args.command == 'evaluate':
        evaluate(*args.paths)
    elif args.command == 'look':
        look(*args.paths)
    elif args.command == 'check':
        check(*args.paths)
    else:
        selftest(*args.paths, args)


if __name__ == '__main__':
    main()
