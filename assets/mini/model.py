"""The mini model as a folder in the diffusers layout: its schedule, writing it, drawing with it."""
import json
import os
import time

import torch
from safetensors.torch import load_file, save_file

import nets
import text

DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'
CUDA = DEVICE == 'cuda'
START = time.time()


def log(*words):
    print('[%6.1f]' % (time.time() - START), *words, flush=True)


def alpha_bar():
    """Cumulative signal share of the scheduler (scaled_linear betas)."""
    beta = torch.linspace(.00085 ** .5, .012 ** .5, 1000, dtype=torch.float64) ** 2
    return torch.cumprod(1 - beta, 0).float().to(DEVICE)


class Schedule:
    """v-prediction: x_t = a x0 + g noise, v = a noise - g x0."""

    def __init__(self):
        share = alpha_bar()
        self.signal, self.noise = share.sqrt(), (1 - share).sqrt()

    def at(self, t):
        return self.signal[t].view(-1, 1, 1, 1), self.noise[t].view(-1, 1, 1, 1)

    def start(self, noise):
        """The sampler starts from pure noise scaled as at t = 999."""
        return self.noise[999] * noise

    def advance(self, x, x0, t, t_next):
        """One Euler step (DDIM, eta 0) to a lower timestep."""
        a, g = self.at(t)
        a_next, g_next = self.at(t_next)
        return a_next * x0 + g_next * (x - a * x0) / g


def export(folder, ae, unet, writer, viewer, adapter):
    """Write the model in the diffusers folder layout, FP16, with the tokenizer and the table of style words.

    viewer, adapter: the networks of style pictures, in the layout of published IP-Adapters.
    """
    half = lambda module: {k: v.detach().half().cpu().contiguous() for k, v in module.state_dict().items()}

    def write(name, content):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(json.dumps(content, indent=1, ensure_ascii=False) + '\n')

    for name, module, file in (('unet', unet, 'diffusion_pytorch_model'), ('vae', ae, 'diffusion_pytorch_model'),
                               ('text_encoder', writer, 'model'), ('image_encoder', viewer, 'model')):
        write(name + '/config.json', module.config)
        save_file(half(module), os.path.join(folder, name, file + '.safetensors'), {'format': 'pt'})
    save_file(half(adapter), os.path.join(folder, 'ip_adapter.safetensors'), {'format': 'pt'})
    text.write_tokenizer(os.path.join(folder, 'tokenizer'))
    write('styles.json', text.style_table())
    write('scheduler/scheduler_config.json', dict(
        _class_name='EulerDiscreteScheduler', _diffusers_version=nets.DIFFUSERS, beta_start=.00085, beta_end=.012,
        beta_schedule='scaled_linear', num_train_timesteps=1000, prediction_type='v_prediction',
        timestep_spacing='trailing', interpolation_type='linear', use_karras_sigmas=False, steps_offset=0,
        rescale_betas_zero_snr=False, final_sigmas_type='zero'))
    nothing = [None, None]
    write('model_index.json', dict(
        _class_name='StableDiffusionInstructPix2PixPipeline', _diffusers_version=nets.DIFFUSERS, feature_extractor=nothing,
        safety_checker=nothing, requires_safety_checker=False, image_encoder=nothing,
        scheduler=['diffusers', 'EulerDiscreteScheduler'], text_encoder=['transformers', 'CLIPTextModel'],
        tokenizer=['transformers', 'CLIPTokenizer'], unet=['diffusers', 'UNet2DConditionModel'],
        vae=['diffusers', 'AutoencoderTiny']))


def load(module, folder, name):
    """Fill a module from a file of an exported folder; returns it."""
    module.load_state_dict({k: v.float() for k, v in load_file(os.path.join(folder, name + '.safetensors')).items()})
    return module


class Model:
    """An exported folder, ready to draw (single precision)."""

    def __init__(self, folder):
        self.tokenizer = text.Tokenizer(os.path.join(folder, 'tokenizer'))
        self.unet, self.ae, self.writer = nets.UNet(), nets.Autoencoder(), nets.TextEncoder(len(self.tokenizer.ids))
        self.viewer, self.adapter = nets.PictureEncoder(), nets.Adapter(self.unet.style_widths)
        for module, name in ((self.unet, 'unet/diffusion_pytorch_model'), (self.ae, 'vae/diffusion_pytorch_model'),
                             (self.writer, 'text_encoder/model'), (self.viewer, 'image_encoder/model'),
                             (self.adapter, 'ip_adapter')):
            if os.path.exists(os.path.join(folder, name + '.safetensors')):      # older models know no style pictures
                load(module, folder, name)
            module.to(DEVICE).eval()
        self.schedule = Schedule()

    @torch.no_grad()
    def draw(self, frames, prompt, noise, steps=1, picture=None):
        """Restyle frames (B,3,H,W) in [0,1] by one prompt, all with the same noise (1,16,H/8,W/8).

        picture: a style picture (1,3,224,224)
        """
        styles = () if picture is None else self.adapter(self.viewer(picture))
        words = self.writer(torch.tensor([self.tokenizer(prompt)], device=DEVICE))
        out = []
        for x in frames.split(16):
            count = len(x)
            condition = self.ae.encoder(x * 2 - 1)
            latent = self.schedule.start(noise).expand(count, -1, -1, -1)
            stops = [round(1000 - i * 1000 / steps) - 1 for i in range(steps)]
            for i, stop in enumerate(stops):
                t = torch.full((count,), stop, device=DEVICE)
                a, g = self.schedule.at(t)
                x0 = a * latent - g * self.unet(torch.cat([latent, condition], 1), t, words.expand(count, -1, -1),
                                             [tuple(y.expand(count, -1, -1) for y in pair) for pair in styles])
                if i + 1 < steps:
                    latent = self.schedule.advance(latent, x0, t, torch.full_like(t, stops[i + 1]))
            out.append(self.ae.decoder(x0).add(1).div(2).clamp(0, 1))
        return torch.cat(out)

    @torch.no_grad()
    def rebuild(self, pictures):
        """Encode and decode: the autoencoder's own limit."""
        return torch.cat([self.ae.decoder(self.ae.encoder(x * 2 - 1)).add(1).div(2).clamp(0, 1) for x in pictures.split(16)])


@torch.no_grad()
def mix(first, second, share, out):
    """Write the folder OUT whose weights are those of `first` with so much of their way to those of `second`."""
    networks = lambda model: (model.ae, model.unet, model.writer, model.viewer, model.adapter)
    mixed = networks(Model(first))
    for mine, theirs in zip(mixed, networks(Model(second))):
        for weight, other in zip(mine.state_dict().values(), theirs.state_dict().values()):
            weight.add_((other - weight) * share)
    export(out, *mixed)
