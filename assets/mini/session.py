"""What holds a training session together: averages of the weights, the clock, the guard, checkpoints."""
import math
import os
import time

import torch
import torch.nn as nn

from model import CUDA, START


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


class Guard:
    """Takes a training whose loss runs away back to its last good weights, and halves the rate.

    A U-Net that was trained often can fall apart within some hundred steps at a rate that suited it before: it then
    predicts nothing but the mean of all pictures, and never learns again.
    """

    def __init__(self, group, modules, optimisers, averages):
        self.group, self.modules, self.optimisers, self.averages = group, modules, optimisers, averages
        self.rate, self.best, self.kept = 1., float('inf'), []

    def _tensors(self):
        for module in self.modules:
            yield from module.parameters()
        for opt in self.optimisers:
            for state in opt.state.values():
                yield from state.values()
        for average in self.averages:
            yield from average.mean

    @torch.no_grad()
    def check(self, loss):
        """loss: the mean since the last check. Returns True if everything went back. All processes decide alike."""
        loss, = self.group.first(loss)
        if self.kept and not loss <= 1.3 * self.best:          # not a number counts as too high
            for tensor, held in self.kept:
                tensor.copy_(held)
            self.rate *= .5
            return True
        self.best = min(self.best, loss)
        if loss <= 1.1 * self.best:
            self.kept = [(tensor, tensor.detach().clone()) for tensor in self._tensors()]
        return False


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
