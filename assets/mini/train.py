#!/usr/bin/env python3
"""The mini model: prepare the pictures, train, export, evaluate. README.md has the command lines and the figures.

    train.py prepare  PACKAGES DATA      pick and pack the pictures and clips of unpacked Debian packages
    train.py train    DATA OUT           autoencoder, then U-Net, text encoder and decoder; writes OUT/model;
                                         --from MODEL goes on from a trained model; --pause and --resume part a run;
                                         --gpus N trains on N GPUs of this host
    train.py evaluate DATA MODEL OUT     figures (evaluation.json) and picture sheets of a trained model
    train.py look     DATA MODEL OUT     sheets of your own pictures (DATA/look, 512x512) in every style
    train.py check    MODEL              load it with diffusers and transformers and compare (needs both)
    train.py selftest OUT                the whole thing in miniature on made-up pictures; a CPU is enough

The parts: data.py (pictures), targets.py (what the styles look like), nets.py, text.py (prompts, tokenizer),
model.py (schedule, export, drawing), losses.py, group.py (several GPUs), evaluate.py (figures and sheets); this file
holds the training itself.

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
from evaluate import check, evaluate, look, psnr
from losses import picture_loss
from model import CUDA, DEVICE, START, Model, Schedule, export, load, log

NODES = (999, 749, 499, 249)                 # the timesteps of 1, 2 and 4 trailing steps
# Styles that are hard or matter most come twice in a batch
TWICE = ('photo', 'oil', 'watercolor', 'mosaic', 'pencil', 'ink', 'cartoon', 'popart')
# Hard lines and thresholds flicker most
CALM = dict(ink=6., mosaic=4., pixelart=4., watercolor=4., popart=3., pencil=5., cartoon=2., charcoal=2.)


def half_precision():
    return torch.autocast('cuda', dtype=torch.bfloat16) if CUDA else torch.autocast('cpu', enabled=False)


def compiled(module, wanted):
    return torch.compile(module, dynamic=False) if CUDA and wanted else module


def packed(x):
    return x.contiguous(memory_format=torch.channels_last)


def on_device(module):
    return module.to(DEVICE).to(memory_format=torch.channels_last)


# ---------------------------------------------------------------------------------------------- training batches

class Maker:
    """Makes batches (clean frame, damaged frame, target, noise), `each` samples of every style, styles side by side.

    Samples 2 and 3 of a style are twins of 0 and 1: the next video frame of the same scene under the same noise.
    The last four samples of a style that shows moods have one mood each, those of pop art one palette each. On a GPU
    all of it is one CUDA graph.
    """

    def __init__(self, images, each=9, size=256):
        self.styles = list(targets.STYLES) + list(TWICE)
        self.each, self.size, self.images = each, size, images
        self.count = len(self.styles) * each
        self.moods = [['none'] * (each - len(more)) + list(more) for more in map(targets.variants, self.styles)]
        first = torch.arange(self.count, device=DEVICE).view(-1, each)
        twin = first.clone()
        twin[:, 2:4] = first[:, :2]
        self.twin = twin.flatten()
        self.pairs = torch.stack([first[:, :2].flatten(), first[:, 2:4].flatten()], 1)
        self.singles = first[:, 4:].flatten()
        calm = torch.tensor([CALM.get(style, 1.) for style in self.styles], device=DEVICE)
        self.calm = calm[self.pairs[:, 0] // each]                        # weight of each pair's unsteadiness
        self.strong = torch.zeros(self.count, dtype=torch.bool, device=DEVICE)
        self.strong[:each] = True                                         # the first photo group: restore
        self.graph = None
        if CUDA:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    self.make()
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.made = self.make()
            self.graph = graph

    @torch.no_grad()
    def make(self):
        frames = self.images.batch(self.count, self.size, self.twin)
        noise = torch.randn(self.count, 16, self.size // 8, self.size // 8, device=DEVICE)[self.twin]
        out = []
        for i, style in enumerate(self.styles):
            rows = slice(i * self.each, (i + 1) * self.each)
            out.append(targets.apply(style, self.moods[i], frames[rows], noise[rows]))
        return frames, data.flutter(data.degrade(frames, self.strong)), torch.cat(out), noise

    def __call__(self):
        """The tensors belong to the maker: the next call overwrites them."""
        if self.graph:
            self.graph.replay()
            return self.made
        return self.make()


class Prompts:
    """Token ids for a maker's batch, drawn from pools made once."""

    def __init__(self, tokenizer, maker, seed=1):
        rng, self.pools, self.maker = random.Random(seed), {}, maker
        for style, moods in zip(maker.styles, maker.moods):
            for mood in moods:
                if (style, mood) not in self.pools:
                    pool = text.training_prompts(style, mood, rng)
                    self.pools[style, mood] = torch.tensor([tokenizer(p) for p in pool], device=DEVICE)

    def __call__(self):
        rows = []
        for style, moods in zip(self.maker.styles, self.maker.moods):
            plain = moods.count('none')
            pool = self.pools[style, 'none']
            rows.append(pool[torch.randint(len(pool), (plain,), device=DEVICE)])
            for mood in moods[plain:]:
                pool = self.pools[style, mood]
                rows.append(pool[torch.randint(len(pool), (1,), device=DEVICE)])
        return torch.cat(rows)[self.maker.twin]


# ---------------------------------------------------------------------------------------------- helpers

class Average:
    """Exponential moving average of a module's weights; `swap` exchanges it with the weights."""

    def __init__(self, module, mean=None, decay=.998):
        """mean: the module that holds an earlier session's average, None for a new one."""
        self.parameters, self.decay, self.steps = list(module.parameters()), decay, 10000 if mean else 0
        self.mean = [p.detach().clone() for p in (mean or module).parameters()]

    @torch.no_grad()
    def update(self):
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(self.mean, [p.detach() for p in self.parameters], 1 - decay)

    @torch.no_grad()
    def swap(self):
        for p, mean in zip(self.parameters, self.mean):
            held = p.detach().clone()
            p.copy_(mean)
            mean.copy_(held)


def optimiser(groups, betas):
    return torch.optim.AdamW(groups, betas=betas, weight_decay=1e-3, fused=CUDA)


def clip(parameters, norm):
    """Clip the gradients; a step whose gradients are not finite changes nothing."""
    nn.utils.clip_grad_norm_(parameters, norm)
    for p in parameters:
        if p.grad is not None:
            torch.nan_to_num_(p.grad, 0., 0., 0.)


class Clock:
    """Learning-rate schedule over a phase, by the time left for it, counted from the session's second step on.

    Process 0's clock is everybody's.
    """

    def __init__(self, group, left, args, saved=None):
        """left(): seconds until the phase shall end. saved: a checkpoint, whose place in the schedule is kept."""
        self.group, self.left, self.args, self.calls, self.begin = group, left, args, 0, None
        self.written = time.time()
        self.origin, self.steps = (saved['part'], saved['steps']) if saved else (0., 0)
        self.part = self.origin

    def done(self):
        """Share of the phase that is over, 1 at its end."""
        if self.calls == 1:                                    # compiling took its share: count from now
            if CUDA:
                torch.cuda.synchronize()
            self.begin, self.seconds = time.time(), max(1., self.left())
        self.calls += 1
        self.steps += 1
        if self.begin is not None:
            self.part = self.origin + (1 - self.origin) * (time.time() - self.begin) / self.seconds
            if self.args.max_steps:
                self.part = max(self.part, (self.steps - 1) / self.args.max_steps)
        self.part, = self.group.first(self.part)
        return min(1., self.part)

    def due(self):
        """(save, stop): is it time for a checkpoint, and is the session's time up? Two steps are always made."""
        stop = bool(self.args.pause) and self.calls > 3 and time.time() - START > self.args.pause
        save = stop or (self.args.save_every and time.time() - self.written > self.args.save_every)
        save, stop = self.group.first(save, stop)
        if save:
            self.written = time.time()
        return save, stop

    def speed(self, count):
        """Samples a second of this session and all processes, at `count` samples a step and process."""
        return self.calls * count * self.group.size / (time.time() - (self.begin or START))

    def rate(self, part, warm_up):
        return min(1., self.steps / warm_up) * (.5 + .5 * math.cos(math.pi * part)) + .004


# ---------------------------------------------------------------------------------------------- sessions

def write_checkpoint(path, phase, clock, modules, optimisers):
    """What a later session needs beside OUT/model, which holds the averages: 66 MB.

    The weights go into FP16, Adam's second moments into bfloat16. Its first moments build up again in ten steps and are
    left out.
    """
    second = lambda opt: [opt.state[p]['exp_avg_sq'].bfloat16().cpu() if p in opt.state else None
                          for group in opt.param_groups for p in group['params']]
    content = dict(phase=phase, part=clock.part, steps=clock.steps, optimisers=[second(opt) for opt in optimisers],
                   modules=[{k: v.half().cpu() for k, v in module.state_dict().items()} for module in modules])
    torch.save(content, path + '.new')
    os.replace(path + '.new', path)


def read_checkpoint(saved, modules, optimisers):
    """Fill modules and optimisers from a checkpoint."""
    for module, weights in zip(modules, saved['modules']):
        module.load_state_dict({k: v.float() for k, v in weights.items()})
    for opt, moments in zip(optimisers, saved['optimisers']):
        parameters = [p for group in opt.param_groups for p in group['params']]
        for p, second in zip(parameters, moments):
            if second is not None:
                opt.state[p] = dict(step=torch.tensor(float(saved['steps']), device=p.device if CUDA else 'cpu'),
                                    exp_avg=torch.zeros_like(p), exp_avg_sq=torch.empty_like(p).copy_(second))


# ---------------------------------------------------------------------------------------------- phase 1: autoencoder

def new_autoencoder(maker):
    """An untrained autoencoder whose latents have unit variance."""
    torch.manual_seed(10)
    ae = nets.Autoencoder()
    ae.start()
    ae = on_device(ae)
    frames, _, made, _ = maker()
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
            frames, _, made, _ = maker()
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
    _, _, made, _ = maker()
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


def train_unet(group, maker, ae, unet, writer, tokenizer, args, saved, mean, checkpoint):
    """U-Net, text encoder and decoder together, in place, averaged in the end. Returns False when it was paused.

    Every made batch is used three times: first from pure noise, then from where the model's own answer leads
    (about a third of the samples start again), so that the later steps of a run learn to mend, not to copy.
    """
    group.seed(20 + (saved['steps'] if saved else 0))
    prompts, schedule = Prompts(tokenizer, maker), Schedule()
    ae.encoder.requires_grad_(False)
    run_unet, decoder = compiled(unet, args.compile), compiled(ae.decoder, args.compile)
    main_parameters = list(unet.parameters()) + list(writer.parameters())
    opt = optimiser([dict(params=main_parameters, scale=1.), dict(params=list(ae.decoder.parameters()), scale=.4)], (.9, .98))
    critic = on_device(nets.Critic())
    critic_opt = torch.optim.AdamW(critic.parameters(), lr=3e-4, betas=(.5, .9))
    modules, optimisers = [unet, writer, ae, critic], [opt, critic_opt]
    if saved:
        read_checkpoint(saved, modules, optimisers)
    group.spread(unet, writer, ae, critic)
    averages = [Average(*both) for both in zip((unet, writer, ae.decoder), mean or (None,) * 3)]
    uses, slots = 3, [dict(left=0) for _ in range(6)]
    clock = Clock(group, lambda: args.until - (time.time() - START), args, saved)
    sums, seen = torch.zeros(4, device=DEVICE), 0
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
            entry['lr'] = args.rate * entry['scale'] * ready * clock.rate(part, 200)
        slot = slots[clock.calls % len(slots)]
        if slot['left'] == 0:
            frames, damaged, made, noise = (x.clone() for x in maker())
            with torch.no_grad(), half_precision():
                latents = torch.cat([ae.encoder(packed(x) * 2 - 1).float() for x in (damaged, made)])
            t = torch.full((maker.count,), NODES[0], device=DEVICE)
            slot.update(left=uses, frames=frames, target=made, noise=noise, condition=latents[:maker.count],
                        goal=latents[maker.count:], t=t, x=schedule.start(noise))
        slot['left'] -= 1
        t, x, goal = slot['t'], slot['x'], slot['goal']
        with half_precision():
            words = writer(prompts())
            v = run_unet(packed(torch.cat([x, slot['condition']], 1)), t, words).float()
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
            sums += torch.stack([latent.detach(), picture.detach(), steady.detach(),
                                 (error.detach().square().mean((1, 2, 3)) * first).sum() / first.sum().clamp_min(1)])
            seen += 1
        if clock.calls in (1, 2) or clock.steps % args.log_every == 0:
            log('unet step %d (%.0f%%) latent %.4f picture %.4f steady %.4f first-step mse %.4f, %.0f samples/s' % (
                clock.steps, 100 * part, *(sums / seen).tolist(), clock.speed(maker.count)))
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
    maker = Maker(images, args.each, args.size)
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
        ae, unet, writer = (on_device(m.train()) for m in (model.ae, model.unet, model.writer))
    else:
        ae, unet = new_autoencoder(maker), on_device(nets.UNet())
        writer = on_device(nets.TextEncoder(len(tokenizer.ids)))

    def checkpoint(phase, clock, modules, optimisers, averages):
        """OUT/model with the averages in place of the weights, and OUT/checkpoint.pt with the rest."""
        if group.rank:
            return
        write_checkpoint(place, phase, clock, modules, optimisers)
        for average in averages:
            average.swap()
        export(folder, unet, ae, writer)
        for average in averages:
            average.swap()
        log('saved at step', clock.steps)

    if args.autoencoder_seconds and (saved is None or saved['phase'] == 'autoencoder'):
        if not train_autoencoder(group, maker, ae, args, saved, mean and mean.ae, checkpoint):
            return
        log_limits(maker, ae)
        saved = mean = None
    mean = mean and (mean.unet, mean.writer, mean.ae.decoder)
    if train_unet(group, maker, ae, unet, writer, tokenizer, args, saved, mean, checkpoint) and group.rank == 0:
        export(folder, unet, ae, writer)
        open(os.path.join(out, 'TRAINED'), 'w').close()
        log('exported')


def selftest(out, args):
    """Train a few steps on made-up pictures, export, draw and evaluate: does the machinery hold together?"""
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
    result = evaluate(root, more + '/model', more + '/evaluation', steps=(1, 2), with_clips=False)
    assert all(math.isfinite(v) for v in result['mean'].values())
    print('selftest passed')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('command', choices=('prepare', 'train', 'evaluate', 'look', 'check', 'selftest'))
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
