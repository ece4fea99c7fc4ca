#!/usr/bin/env python3
"""Writes ../data/sampler_walks.json.gz: where diffusers' schedulers lead, for tests/test_sampler.c (made with diffusers
0.42.1): samplers that look back on earlier predictions, that mix in fresh noise as --eta says, that space noise levels.

Groups of cases by configuration. A case is [steps, strength, eta, sum over calls i of i * timestep, two projections, four
elements of the end state]. Strength 0 is text to image.

The projections compare the rule to 1e-6: the scheduler runs in FP64, on outputs that depend on nothing but the call's
number; its states, as x = a x0 + b eps, are added up with weights. The end states are of diffusers as it is, in FP32, with
the stand-in for a network of sampler.py, and noise that is all 0.5.

Of image to image with PNDM diffusers leaves out the first timesteps of a list in which the second comes twice, and then
asks twice for none, or for another; the latent is a step behind. The list here is made for what is left.
"""
import contextlib
import gzip
import inspect
import json
import math
import os
import sys
import textwrap

import diffusers
import numpy as np
import torch

from sampler import BASE, COUNTS, HERE, fake_model

PNDM = 'PNDMScheduler'
SIGMAS = 'EulerDiscreteScheduler', 'DPMSolverMultistepScheduler', 'UniPCMultistepScheduler'
BY_SIGMA = 'EulerDiscreteScheduler', 'LMSDiscreteScheduler'
HAVE_ETA = 'DDIMScheduler', 'TCDScheduler'
STRENGTHS = .1, .29, .3, .5, .75, .95, 1.0


class Wide:
    """A module whose FP32 is FP64."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, 'float64' if name == 'float32' else name)


@contextlib.contextmanager
def wide(module):
    module.torch, module.np = Wide(torch), Wide(np)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
    module.torch, module.np = torch, np


def module_of(config):
    return sys.modules[getattr(diffusers, config['_class_name']).__module__]


def make(config):
    return getattr(diffusers, config['_class_name'])(**{k: v for k, v in config.items() if k != '_class_name'})


def set_grid(scheduler, config, steps, strength):
    """The timesteps that image to image visits; those of text to image at strength 0."""
    scheduler.set_timesteps(steps)
    first = steps - min(int(steps * strength), steps) if strength else 0
    if config['_class_name'] == PNDM and first:
        kept = list(np.unique(scheduler.timesteps.numpy())[::-1][first:])
        scheduler.timesteps = torch.tensor(kept[:2] + kept[1:])
        return scheduler.timesteps
    if hasattr(scheduler, 'set_begin_index') and strength:
        scheduler.set_begin_index(first)
    return scheduler.timesteps[first:]


def begin(scheduler, times, strength, latent, noise):
    return scheduler.add_noise(latent, noise, times[:1]) if strength else noise * scheduler.init_noise_sigma


def step(scheduler, config, eta, model, t, x, noise):
    module_of(config).randn_tensor = lambda *_, **__: noise
    more = {'eta': eta} if config['_class_name'] in HAVE_ETA else {}
    return scheduler.step(model, t, x, return_dict=False, **more)[0]


def scale(scheduler, config, i):
    """From diffusers' state before call i to x = a x0 + b eps; what is left at the end is as it is."""
    if config['_class_name'] not in BY_SIGMA or i == len(scheduler.timesteps):
        return 1.0
    return 1 / math.sqrt(scheduler.sigmas[i].item() ** 2 + 1)


def projections(config, steps, strength, eta):
    with wide(module_of(config)):
        scheduler = make(config)
        times = set_grid(scheduler, config, steps, strength)
        scheduler.is_scale_input_called = True
        first = len(scheduler.timesteps) - len(times)
        x, total = begin(scheduler, times, strength, torch.tensor([[.5, -1.]]), torch.tensor([[1., -.5]])), 0
        for i, t in enumerate(times):
            model = torch.tensor([[math.cos(1 + 1.3 * i), math.sin(2 + .7 * i)]])
            noise = torch.tensor([[.5, -.25]]) * (1 + .1 * i)
            x = step(scheduler, config, eta, model, t, x, noise)
            total = total + math.cos(i + 1) * scale(scheduler, config, first + i + 1) * x
        return total[0].tolist()


def walk(config, steps, strength, eta):
    scheduler = make(config)
    times = set_grid(scheduler, config, steps, strength)
    x = begin(scheduler, times, strength, torch.tensor([[.5, -1., .25, 2.]]), torch.tensor([[1., -.5, -2., .1]]))
    for t in times:
        seen = scheduler.scale_model_input(x, t)
        x = step(scheduler, config, eta, torch.tensor([fake_model(seen[0].tolist(), float(t))]), t, x, torch.full((1, 4), .5))
    return sum((i + 1) * float(t) for i, t in enumerate(times)), x[0].tolist()


def group(config, cases):
    config = {**config, **BASE}
    rows = []
    for steps, strength, eta in cases:
        total, end = walk(config, steps, strength, eta)
        rows.append([steps, strength, eta, total, *projections(config, steps, strength, eta), *end])
    return {'config': config, 'cases': rows}


def counts(numbers, eta=0.0):
    return [(n, 0, eta) for n in numbers]


def images(numbers, eta=0.0):
    return [(n, s, eta) for s in STRENGTHS for n in numbers if int(n * s)]


def mend(solver, method, wrong, right):
    source = inspect.getsource(getattr(solver, method))
    assert source.count(wrong) == 1
    names = sys.modules[solver.__module__].__dict__
    exec(textwrap.dedent(source).replace(wrong, right), names)
    setattr(solver, method, names[method])


def mend_third_order():
    """The last term of the SDE's third order must vanish with h, as k-diffusion's sample_dpmpp_3m_sde has it."""
    mend(diffusers.DPMSolverMultistepScheduler, 'multistep_dpm_solver_third_order_update',
         '(2.0 * h) ** 2 - 0.5', '(2.0 * h) ** 2 + 0.5')


def mend_lms():
    """Image to image begins in the middle of the steps, with no earlier prediction: the order is of those there are."""
    mend(diffusers.LMSDiscreteScheduler, 'step', 'min(self.step_index + 1, order)', 'min(len(self.derivatives), order)')


def make_groups():
    named = lambda name, **more: {'_class_name': name, **more}
    pndm = named(PNDM, skip_prk_steps=True)
    dpm, unipc = (named(name) for name in SIGMAS[1:])
    sde = named(SIGMAS[1], algorithm_type='sde-dpmsolver++')
    few = (1, 2, 3, 4, 7, 14, 15, 20)
    for solver in (pndm, dpm, sde, unipc):
        for spacing in ('trailing', 'leading', 'linspace'):
            of = {**solver, 'timestep_spacing': spacing, 'steps_offset': 1}
            yield group(of, counts(range(1, 51)))
            yield group({**of, 'prediction_type': 'v_prediction'}, counts(few))
            if solver is not pndm:
                yield group({**of, 'prediction_type': 'sample'}, counts(few))
            if solver is not pndm or spacing == 'leading':
                yield group(of, images((2, 4, 20, 31)))
    yield group({**pndm, 'set_alpha_to_one': True, 'timestep_spacing': 'leading'}, counts(few))
    for solver in (dpm, sde, unipc):
        for more in ({'solver_order': 1}, {'solver_order': 3}, {'final_sigmas_type': 'sigma_min'},
                     {'lower_order_final': False, 'final_sigmas_type': 'sigma_min'},
                     {'solver_order': 3, 'lower_order_final': False, 'final_sigmas_type': 'sigma_min'},
                     {'prediction_type': 'v_prediction', 'rescale_betas_zero_snr': True, 'timestep_spacing': 'trailing'},
                     {'use_karras_sigmas': True}, {'use_exponential_sigmas': True},
                     {'use_karras_sigmas': True, 'prediction_type': 'v_prediction'}):
            yield group({**solver, **more}, counts(few))
        yield group({**solver, 'use_karras_sigmas': True}, images((2, 4, 20, 31)))
    for solver in (dpm, sde):
        yield group({**solver, 'solver_type': 'heun'}, counts(few))
        yield group({**solver, 'euler_at_final': True, 'final_sigmas_type': 'sigma_min'}, counts(few))
    for order in (1, 2, 3):
        yield group({**dpm, 'algorithm_type': 'dpmsolver', 'final_sigmas_type': 'sigma_min', 'solver_order': order},
                    counts(few))
    for order in (2, 3):  # with final_sigmas_type zero, diffusers multiplies infinity by nothing
        yield group({**unipc, 'solver_type': 'bh1', 'solver_order': order, 'final_sigmas_type': 'sigma_min'}, counts(few))
    yield group({**unipc, 'disable_corrector': [0, 2]}, counts(few) + images((4, 20)))
    yield group({**unipc, 'use_karras_sigmas': True, 'sigma_min': .1, 'sigma_max': 10.0}, counts(few))
    euler = named(SIGMAS[0])
    for spacing in ('trailing', 'leading', 'linspace'):
        of = {**euler, 'timestep_spacing': spacing, 'steps_offset': 1}
        yield group({**of, 'use_karras_sigmas': True}, counts(range(1, 51)) + images((2, 4, 20)))
        yield group({**of, 'use_exponential_sigmas': True}, counts(few))
        yield group({**of, 'final_sigmas_type': 'sigma_min'}, counts(few))
    yield group({**euler, 'use_karras_sigmas': True, 'prediction_type': 'v_prediction'}, counts(few))
    yield group({**euler, 'use_karras_sigmas': True, 'sigma_min': .1, 'sigma_max': 10.0}, counts(few))
    lms, deis, ddpm = (named(name) for name in ('LMSDiscreteScheduler', 'DEISMultistepScheduler', 'DDPMScheduler'))
    ddpm['clip_sample'] = False
    for solver in (lms, deis, ddpm):
        for spacing in ('trailing', 'leading', 'linspace'):
            of = {**solver, 'timestep_spacing': spacing, 'steps_offset': 1}
            yield group(of, counts(COUNTS) + images((2, 4, 20)))
            yield group({**of, 'prediction_type': 'v_prediction'}, counts(few))
            yield group({**of, 'prediction_type': 'sample'}, counts(few))
    for solver in (lms, deis):
        several = few[solver is deis:]  # in one step diffusers' DEIS stays at the first level
        yield group({**solver, 'use_karras_sigmas': True}, counts(several) + images((4, 20)))
        yield group({**solver, 'use_exponential_sigmas': True}, counts(several))
    for order in (1, 3):
        yield group({**deis, 'solver_order': order}, counts(few))
        yield group({**deis, 'solver_order': order, 'lower_order_final': False}, counts(few))
    for eta in (0.0, .3, .5, 1.0):
        for kind in ('epsilon', 'v_prediction', 'sample'):
            tcd = named('TCDScheduler', prediction_type=kind)
            yield group(tcd, counts(COUNTS if kind == 'epsilon' else few, eta) + images((4, 20), eta))
            if eta:
                ddim = named('DDIMScheduler', prediction_type=kind, clip_sample=False, set_alpha_to_one=kind == 'sample')
                yield group({**ddim, 'timestep_spacing': 'trailing'}, counts(few, eta))
                yield group({**ddim, 'timestep_spacing': 'leading'}, counts((1, 2, 4, 20), eta) + images((4, 20), eta))


def main():
    mend_third_order()
    mend_lms()
    groups = list(make_groups())
    text = json.dumps(groups, separators=(',', ':'), default=float, allow_nan=False)
    text = json.dumps(json.loads(text, parse_float=lambda s: float('%.9g' % float(s))), separators=(',', ':'))
    with gzip.GzipFile(os.path.join(HERE, '..', 'data', 'sampler_walks.json.gz'), 'w', mtime=0) as f:
        f.write(text.replace('},{', '},\n{').encode())
    print(sum(len(g['cases']) for g in groups), 'cases in', len(groups), 'groups')


if __name__ == '__main__':
    main()
