#!/usr/bin/env python3
"""Writes ../data/sampler.json.gz: what diffusers' schedulers do, for tests/test_sampler.c (made with diffusers 0.42.1).

A scheduler's step is linear in the sample, the model's output and the noise, so three calls with ones and zeros give its
coefficients. Euler works on y = x / a; its coefficients are turned into those of x here. Its betas and their running product
are FP32 in diffusers; the schedules are recomputed in FP64 first, so that the comparison is of the rule, not of rounding.
The end states ("walk") are of diffusers as it is, in FP32.
"""
import gzip
import json
import math
import os

import numpy as np
import torch
from diffusers import DDIMScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler, LCMScheduler
from diffusers.schedulers import scheduling_euler_ancestral_discrete, scheduling_lcm

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = {'EulerDiscreteScheduler': EulerDiscreteScheduler, 'DDIMScheduler': DDIMScheduler,
           'LCMScheduler': LCMScheduler, 'EulerAncestralDiscreteScheduler': EulerAncestralDiscreteScheduler}
EULERS = EulerDiscreteScheduler, EulerAncestralDiscreteScheduler
BASE = dict(num_train_timesteps=1000, beta_start=0.00085, beta_end=0.012, beta_schedule='scaled_linear')
COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20, 25, 30, 31, 40, 50]


def make(config):
    fields = {k: v for k, v in config.items() if k != '_class_name'}
    return CLASSES[config['_class_name']](**fields)


def widen(scheduler):
    """alphas_cumprod in FP64, by diffusers' own formulas."""
    c = scheduler.config
    if c.beta_schedule == 'linear':
        betas = np.linspace(c.beta_start, c.beta_end, 1000)
    else:
        betas = np.linspace(c.beta_start ** .5, c.beta_end ** .5, 1000) ** 2
    abar = np.cumprod(1 - betas)
    if c.rescale_betas_zero_snr:
        root = np.sqrt(abar)
        root = (root - root[-1]) * root[0] / (root[0] - root[-1])
        abar = root ** 2
        if isinstance(scheduler, EULERS):
            abar[-1] = 2 ** -24
    scheduler.alphas_cumprod = torch.tensor(abar)
    if isinstance(scheduler, DDIMScheduler):
        scheduler.final_alpha_cumprod = torch.tensor(1.0 if c.set_alpha_to_one else abar[0], dtype=torch.float64)


def set_grid(scheduler, steps, strength, lcm_pipeline):
    """The pipeline's timesteps: image-to-image drops the first ones; LCM's own cuts the grid they are chosen from."""
    if lcm_pipeline:
        scheduler.set_timesteps(steps, original_inference_steps=scheduler.config.original_inference_steps,
                                strength=strength)
        return 0
    scheduler.set_timesteps(steps)
    return steps - min(int(steps * strength), steps)


def set_noise(value, dtype):
    for module in scheduling_lcm, scheduling_euler_ancestral_discrete:
        module.randn_tensor = lambda shape, **_: torch.full(shape, value, dtype=dtype)


def step(scheduler, model, t, sample, noise):
    set_noise(noise, torch.float64)
    one = lambda v: torch.full((1,), v, dtype=torch.float64)
    return scheduler.step(one(model), t, one(sample), return_dict=False)[0].item()


def coefficients(config, steps, strength, from_noise, lcm_pipeline):
    """[first latent and noise factor, [[timestep, x, model, noise], ...]] in terms of x = a x0 + b eps."""
    scheduler = make(config)
    widen(scheduler)
    scheduler.is_scale_input_called = True  # or Euler's step warns
    first = set_grid(scheduler, steps, strength, lcm_pipeline)
    times, abar = scheduler.timesteps[first:], scheduler.alphas_cumprod.numpy()
    euler = isinstance(scheduler, EULERS)
    if euler:  # again in FP64; set_timesteps rounds to FP32
        sigmas = np.sqrt((1 - abar) / abar)
        scheduler.sigmas = torch.tensor(np.append(np.interp(scheduler.timesteps.double(), np.arange(1000), sigmas), 0))
    scale = lambda i: 1 / math.sqrt(scheduler.sigmas[first + i].item() ** 2 + 1) if euler else 1.0
    start = [scale(0), scale(0) * scheduler.sigmas[first].item()] if euler else [
        math.sqrt(abar[int(times[0])]), math.sqrt(1 - abar[int(times[0])])]
    if from_noise:
        sigma = scheduler.init_noise_sigma
        start = [0.0, float(sigma) * scale(0)]
    rows = []
    for i, t in enumerate(times):
        row = [float(t)]
        for sample, model, noise in ((1., 0., 0.), (0., 1., 0.), (0., 0., 1.)):
            scheduler._step_index = first + i if not isinstance(scheduler, DDIMScheduler) else None
            row.append(step(scheduler, model, t, sample / scale(i), noise) * scale(i + 1))
        rows.append(row)
    return start, rows


def fake_model(x, t):
    return [0.3 * v + 0.2 * math.cos(t / 100 + k) for k, v in enumerate(x)]


def walk(config, steps, strength, from_noise, lcm_pipeline):
    """End state of the whole recursion in diffusers, with a model that anyone can compute and noise that is all 0.5."""
    scheduler = make(config)
    first = set_grid(scheduler, steps, strength, lcm_pipeline)
    set_noise(0.5, torch.float32)
    latent, noise = torch.tensor([.5, -1., .25, 2.]), torch.tensor([1., -.5, -2., .1])
    times = scheduler.timesteps[first:]
    if hasattr(scheduler, 'set_begin_index'):
        scheduler.set_begin_index(first)
    x = noise * scheduler.init_noise_sigma if from_noise else scheduler.add_noise(latent, noise, times[:1])
    for t in times:
        seen = scheduler.scale_model_input(x, t)
        x = scheduler.step(torch.tensor(fake_model(seen.tolist(), float(t))), t, x, return_dict=False)[0]
    return x.tolist()


def case(steps, strength=1.0, from_noise=True, lcm_pipeline=None, **config):
    config = {**config, **BASE, **{k: config[k] for k in config if k in BASE}}
    if lcm_pipeline is None:
        lcm_pipeline = config['_class_name'] == 'LCMScheduler'
    arguments = config, steps, strength, from_noise, lcm_pipeline
    start, rows = coefficients(*arguments)
    return dict(config=config, steps=steps, strength=strength, from_noise=from_noise, lcm_pipeline=lcm_pipeline,
                start=start, rows=rows, walk=walk(*arguments))


def make_cases():
    euler, ddim, lcm, ancestral = ({'_class_name': n} for n in CLASSES)
    ddim['clip_sample'] = False
    for n in (1, 2, 4, 8):  # SDXL-Lightning's one step, and more
        for scheduler in (euler, ddim):
            yield case(n, **scheduler, timestep_spacing='trailing', prediction_type='sample')
        yield case(n, **lcm, prediction_type='sample')
    for kind in ('epsilon', 'v_prediction'):
        for n in COUNTS:
            for spacing in ('trailing', 'leading', 'linspace'):
                yield case(n, **euler, timestep_spacing=spacing, steps_offset=1, prediction_type=kind)
            for spacing in ('trailing', 'leading', 'linspace'):
                yield case(n, **ddim, timestep_spacing=spacing, steps_offset=1, prediction_type=kind,
                           set_alpha_to_one=n % 2 == 0)
            yield case(n, **lcm, prediction_type=kind)
        for n in (1, 2, 4, 10, 25):
            yield case(n, **euler, timestep_spacing='trailing', rescale_betas_zero_snr=kind != 'epsilon',
                       prediction_type=kind, beta_schedule='linear')
            yield case(n, **ddim, timestep_spacing='trailing', rescale_betas_zero_snr=kind != 'epsilon',
                       prediction_type=kind)
            yield case(n, **lcm, prediction_type=kind, original_inference_steps=100, timestep_scaling=2.0)
        for n in (1, 2, 4, 10, 25):
            for spacing in ('trailing', 'leading', 'linspace'):
                yield case(n, **ancestral, timestep_spacing=spacing, steps_offset=1, prediction_type=kind)
            yield case(n, 0.6 if n > 1 else 1.0, False, **ancestral, timestep_spacing='trailing', prediction_type=kind)
        for strength in (0.1, 0.29, 0.3, 0.5, 0.75, 0.95, 1.0):
            for n in (2, 4, 20, 31, 50):
                if int(n * strength) and n in (2, 4, 31):
                    yield case(n, strength, False, **euler, timestep_spacing='linspace', prediction_type=kind)
                    yield case(n, strength, False, False, **lcm, prediction_type=kind)
                if int(n * strength):
                    for spacing in ('trailing', 'leading'):
                        yield case(n, strength, False, **euler, timestep_spacing=spacing, prediction_type=kind)
                        yield case(n, strength, False, **ddim, timestep_spacing=spacing, prediction_type=kind,
                                   set_alpha_to_one=False, steps_offset=1)
                if n <= int(50 * strength):
                    yield case(n, strength, False, **lcm, prediction_type=kind)


def main():
    cases = list(make_cases())
    text = json.dumps(cases, separators=(',', ':'), default=float)
    text = json.dumps(json.loads(text, parse_float=lambda s: float('%.9g' % float(s))), separators=(',', ':'))
    with gzip.GzipFile(os.path.join(HERE, '..', 'data', 'sampler.json.gz'), 'w', mtime=0) as f:
        f.write(text.replace('},{', '},\n{').encode())
    print(len(cases), 'cases')


if __name__ == '__main__':
    main()
