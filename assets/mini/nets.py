"""The networks of the mini model in plain PyTorch, with the parameter names of diffusers and transformers.

AutoencoderTiny, UNet2DConditionModel, CLIPTextModel and CLIPVisionModelWithProjection load these files strictly; each class carries its config.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DIFFUSERS = '0.40.0'       # the version whose config keys are written


# ---------------------------------------------------------------------------------------------- AutoencoderTiny

class TinyBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return F.relu(self.conv(x) + x)


class Encoder(nn.Module):
    """Picture in [-1,1] -> latent at an eighth of the size."""

    def __init__(self, width, blocks, latent):
        super().__init__()
        layers = []
        for i, count in enumerate(blocks):
            layers.append(nn.Conv2d(width, width, 3, padding=1, stride=2, bias=False) if i else
                          nn.Conv2d(3, width, 3, padding=1))
            layers += [TinyBlock(width) for _ in range(count)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, latent, 3, padding=1))

    def forward(self, x):
        return self.layers(x.add(1).div(2))


class Decoder(nn.Module):
    """Latent -> picture in [-1,1]."""

    def __init__(self, width, blocks, latent):
        super().__init__()
        layers = [nn.Conv2d(latent, width, 3, padding=1), nn.ReLU()]
        for i, count in enumerate(blocks):
            last = i == len(blocks) - 1
            layers += [TinyBlock(width) for _ in range(count)]
            if not last:
                layers.append(nn.Upsample(scale_factor=2., mode='nearest'))
            layers.append(nn.Conv2d(width, 3 if last else width, 3, padding=1, bias=last))
        self.layers = nn.Sequential(*layers)

    def forward(self, z):
        return self.layers(torch.tanh(z / 3) * 3).mul(2).sub(1)


class Autoencoder(nn.Module):
    def __init__(self, width=32, encoder_blocks=(0, 2, 3, 3), decoder_blocks=(4, 4, 2, 1), latent=16):
        super().__init__()
        self.encoder = Encoder(width, encoder_blocks, latent)
        self.decoder = Decoder(width, decoder_blocks, latent)
        self.config = dict(
            _class_name='AutoencoderTiny', _diffusers_version=DIFFUSERS, act_fn='relu', in_channels=3, out_channels=3,
            latent_channels=latent, encoder_block_out_channels=[width] * len(encoder_blocks),
            decoder_block_out_channels=[width] * len(decoder_blocks), num_encoder_blocks=list(encoder_blocks),
            num_decoder_blocks=list(decoder_blocks), latent_magnitude=3, latent_shift=0.5, force_upcast=False,
            scaling_factor=1.0, shift_factor=0.0, upsampling_scaling_factor=2, upsample_fn='nearest')

    @torch.no_grad()
    def start(self):
        """Initial weights that pass signals through: plain layers keep the variance, blocks begin near identity."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity='relu')
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, TinyBlock):
                module.conv[4].weight.mul_(.1)
        self.decoder.layers[-1].weight.mul_(.1)
        self.decoder.layers[-1].bias.fill_(.5)

    @torch.no_grad()
    def scale_latents(self, pictures):
        """Scale the encoder's last layer so that the latents of these pictures have zero mean and unit variance."""
        z = self.encoder(pictures * 2 - 1).float()
        mean, std = z.mean((0, 2, 3)), z.std((0, 2, 3)) + 1e-4
        last = self.encoder.layers[-1]
        last.weight.div_(std.view(-1, 1, 1, 1))
        last.bias.sub_(mean).div_(std)


# ---------------------------------------------------------------------------------------------- UNet2DConditionModel

class Resnet(nn.Module):
    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs, eps=1e-5)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time_emb_proj = nn.Linear(time, outputs)
        self.norm2 = nn.GroupNorm(32, outputs, eps=1e-5)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        if inputs != outputs:
            self.conv_shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time_emb_proj(F.silu(time))[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + (self.conv_shortcut(x) if hasattr(self, 'conv_shortcut') else x)


class Attention(nn.Module):
    def __init__(self, width, context, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(context, width, bias=False)
        self.to_v = nn.Linear(context, width, bias=False)
        self.to_out = nn.ModuleList([nn.Linear(width, width)])

    def forward(self, x, context, style=None):
        """style: (keys, values) of style pictures for the last samples of the batch, which attend to them as well."""
        batch, tokens, width = x.shape
        split = lambda y: y.view(len(y), -1, self.heads, width // self.heads).transpose(1, 2)
        q = split(self.to_q(x))
        out = F.scaled_dot_product_attention(q, split(self.to_k(context)), split(self.to_v(context)))
        if style:
            keys, values = map(split, style)
            plain = batch - len(keys)
            out = torch.cat([out[:plain], out[plain:] + F.scaled_dot_product_attention(q[plain:], keys, values)])
        return self.to_out[0](out.transpose(1, 2).reshape(batch, tokens, width))


class GatedGelu(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.proj = nn.Linear(width, hidden * 2)

    def forward(self, x):
        value, gate = self.proj(x).chunk(2, -1)
        return value * F.gelu(gate)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.ModuleList([GatedGelu(width, 4 * width), nn.Identity(), nn.Linear(4 * width, width)])

    def forward(self, x):
        return self.net[2](self.net[0](x))


class TransformerBlock(nn.Module):
    def __init__(self, width, context, heads):
        super().__init__()
        self.norm1, self.attn1 = nn.LayerNorm(width), Attention(width, width, heads)
        self.norm2, self.attn2 = nn.LayerNorm(width), Attention(width, context, heads)
        self.norm3, self.ff = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x, context, style=None):
        y = self.norm1(x)
        x = x + self.attn1(y, y)
        x = x + self.attn2(self.norm2(x), context, style)
        return x + self.ff(self.norm3(x))


class Transformer(nn.Module):
    def __init__(self, width, context, heads):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.proj_in = nn.Linear(width, width)
        self.transformer_blocks = nn.ModuleList([TransformerBlock(width, context, heads)])
        self.proj_out = nn.Linear(width, width)

    def forward(self, x, context, style=None):
        batch, channels, height, width = x.shape
        y = self.proj_in(self.norm(x).permute(0, 2, 3, 1).reshape(batch, height * width, channels))
        for block in self.transformer_blocks:
            y = block(y, context, style)
        return x + self.proj_out(y).view(batch, height, width, channels).permute(0, 3, 1, 2)


class Downsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x)


class Upsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2., mode='nearest'))


class Stage(nn.Module):
    """One resolution of the U-Net: resnets, and where given attentions and a resampler."""

    def __init__(self, resnets, attentions=None, downsamplers=None, upsamplers=None):
        super().__init__()
        self.resnets = nn.ModuleList(resnets)
        for name, part in (('attentions', attentions), ('downsamplers', downsamplers), ('upsamplers', upsamplers)):
            if part:
                setattr(self, name, nn.ModuleList(part))


class UNet(nn.Module):
    def __init__(self, widths=(128, 128, 192), attention=(0, 1, 1), inputs=32, outputs=16, context=256):
        super().__init__()
        time, count = widths[0] * 4, len(widths)
        heads = lambda width: width // 64
        transformer = lambda width: Transformer(width, context, heads(width))
        self.half = widths[0] // 2
        down = [wide for wide, flag in zip(widths, attention) if flag]
        self.style_widths = down + [wide for wide in down[::-1] for _ in range(2)] + [widths[-1]]
        self.conv_in = nn.Conv2d(inputs, widths[0], 3, padding=1)
        self.time_embedding = nn.ModuleDict(dict(linear_1=nn.Linear(widths[0], time), linear_2=nn.Linear(time, time)))
        self.down_blocks = nn.ModuleList()
        width, skips = widths[0], [widths[0]]
        for i, wide in enumerate(widths):
            self.down_blocks.append(Stage([Resnet(width, wide, time)], [transformer(wide)] if attention[i] else None,
                                          downsamplers=[Downsample(wide)] if i < count - 1 else None))
            skips += [wide] + ([wide] if i < count - 1 else [])
            width = wide
        self.mid_block = Stage([Resnet(width, width, time), Resnet(width, width, time)], [transformer(width)])
        self.up_blocks = nn.ModuleList()
        for i, wide in enumerate(reversed(widths)):
            resnets = []
            for _ in range(2):
                resnets.append(Resnet(width + skips.pop(), wide, time))
                width = wide
            self.up_blocks.append(Stage(resnets, [transformer(wide) for _ in range(2)] if attention[::-1][i] else None,
                                        upsamplers=[Upsample(wide)] if i < count - 1 else None))
        self.conv_norm_out = nn.GroupNorm(32, widths[0], eps=1e-5)
        self.conv_out = nn.Conv2d(widths[0], outputs, 3, padding=1)
        nn.init.normal_(self.conv_out.weight, std=1e-3)
        kinds = lambda part, flags: [('CrossAttn' if flag else '') + part + 'Block2D' for flag in flags]
        self.config = dict(
            _class_name='UNet2DConditionModel', _diffusers_version=DIFFUSERS, sample_size=32, in_channels=inputs,
            out_channels=outputs, block_out_channels=list(widths), layers_per_block=1,
            down_block_types=kinds('Down', attention), up_block_types=kinds('Up', attention[::-1]),
            mid_block_type='UNetMidBlock2DCrossAttn', cross_attention_dim=context,
            attention_head_dim=[heads(w) for w in widths],            # the old meaning: the number of heads
            use_linear_projection=True, act_fn='silu', norm_num_groups=32, norm_eps=1e-5, center_input_sample=False,
            flip_sin_to_cos=True, freq_shift=0, downsample_padding=1, mid_block_scale_factor=1,
            only_cross_attention=False, dual_cross_attention=False, upcast_attention=False,
            transformer_layers_per_block=1, resnet_time_scale_shift='default',
            _image_scaling_factor=1.0)                                # the frame's latent is seen as it is

    def forward(self, x, t, context, styles=()):
        """styles: what Adapter makes of style pictures for the last samples of the batch, () for none."""
        styles = list(styles) or [None] * len(self.style_widths)      # published adapters have them so: down, up, middle
        frequency = torch.exp(-math.log(10000) * torch.arange(self.half, device=x.device, dtype=torch.float32) / self.half)
        angle = t.float()[:, None] * frequency
        time = torch.cat([angle.cos(), angle.sin()], 1).to(x.dtype)
        time = self.time_embedding['linear_2'](F.silu(self.time_embedding['linear_1'](time)))
        x = self.conv_in(x)
        skips = [x]
        for stage in self.down_blocks:
            x = stage.resnets[0](x, time)
            if hasattr(stage, 'attentions'):
                x = stage.attentions[0](x, context, styles.pop(0))
            skips.append(x)
            if hasattr(stage, 'downsamplers'):
                x = stage.downsamplers[0](x)
                skips.append(x)
        x = self.mid_block.resnets[0](x, time)
        x = self.mid_block.attentions[0](x, context, styles.pop())
        x = self.mid_block.resnets[1](x, time)
        for stage in self.up_blocks:
            for j, resnet in enumerate(stage.resnets):
                x = resnet(torch.cat([x, skips.pop()], 1), time)
                if hasattr(stage, 'attentions'):
                    x = stage.attentions[j](x, context, styles.pop(0))
            if hasattr(stage, 'upsamplers'):
                x = stage.upsamplers[0](x)
        return self.conv_out(F.silu(self.conv_norm_out(x)))


# ---------------------------------------------------------------------------------------------- CLIPTextModel

class TextAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.k_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.q_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, causal):
        batch, tokens, width = x.shape
        split = lambda y: y.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out_proj(out.transpose(1, 2).reshape(batch, tokens, width))


class TextLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.self_attn = TextAttention(width, heads)
        self.layer_norm1 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(dict(fc1=nn.Linear(width, hidden), fc2=nn.Linear(hidden, width)))
        self.layer_norm2 = nn.LayerNorm(width)

    def forward(self, x, causal=True):
        x = x + self.self_attn(self.layer_norm1(x), causal)
        h = self.mlp['fc1'](self.layer_norm2(x))
        return x + self.mlp['fc2'](h * torch.sigmoid(1.702 * h))


class TextEncoder(nn.Module):
    def __init__(self, vocabulary=1395, width=256, layers=3, heads=4, hidden=1024, length=77):
        super().__init__()
        self.text_model = nn.ModuleDict(dict(
            embeddings=nn.ModuleDict(dict(token_embedding=nn.Embedding(vocabulary, width),
                                          position_embedding=nn.Embedding(length, width))),
            encoder=nn.ModuleDict(dict(layers=nn.ModuleList(TextLayer(width, heads, hidden) for _ in range(layers)))),
            final_layer_norm=nn.LayerNorm(width)))
        nn.init.normal_(self.text_model['embeddings']['token_embedding'].weight, std=.3)
        nn.init.normal_(self.text_model['embeddings']['position_embedding'].weight, std=.05)
        self.config = dict(
            architectures=['CLIPTextModel'], model_type='clip_text_model', vocab_size=vocabulary, hidden_size=width,
            intermediate_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, max_position_embeddings=length,
            hidden_act='quick_gelu', layer_norm_eps=1e-5, projection_dim=width, bos_token_id=vocabulary - 2,
            eos_token_id=vocabulary - 1, pad_token_id=vocabulary - 1, attention_dropout=0.0, initializer_factor=1.0,
            initializer_range=0.02, torch_dtype='float16')

    def forward(self, ids):
        parts = self.text_model['embeddings']
        x = parts['token_embedding'](ids) + parts['position_embedding'].weight[None, :ids.shape[1]]
        for layer in self.text_model['encoder']['layers']:
            x = layer(x)
        return self.text_model['final_layer_norm'](x)


# ---------------------------------------------------------------------------------------------- style pictures

class PictureEncoder(nn.Module):
    """CLIPVisionModelWithProjection: a picture -> the projection of its class token."""

    def __init__(self, width=128, layers=3, heads=2, hidden=512, side=224, patch=14):
        super().__init__()
        count = (side // patch) ** 2 + 1
        level = lambda *rgb: torch.tensor(rgb).view(1, 3, 1, 1)
        self.register_buffer('mean', level(.48145466, .4578275, .40821073), persistent=False)
        self.register_buffer('spread', level(.26862954, .26130258, .27577711), persistent=False)
        embeddings = nn.ModuleDict(dict(
            patch_embedding=nn.Conv2d(3, width, patch, patch, bias=False), position_embedding=nn.Embedding(count, width)))
        embeddings.class_embedding = nn.Parameter(torch.randn(width) * .05)
        nn.init.normal_(embeddings['position_embedding'].weight, std=.05)
        self.vision_model = nn.ModuleDict(dict(
            embeddings=embeddings, pre_layrnorm=nn.LayerNorm(width),           # spelled as in CLIP's files
            encoder=nn.ModuleDict(dict(layers=nn.ModuleList(TextLayer(width, heads, hidden) for _ in range(layers)))),
            post_layernorm=nn.LayerNorm(width)))
        self.visual_projection = nn.Linear(width, width, bias=False)
        self.config = dict(
            architectures=['CLIPVisionModelWithProjection'], model_type='clip_vision_model', hidden_size=width,
            intermediate_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, projection_dim=width,
            image_size=side, patch_size=patch, num_channels=3, hidden_act='quick_gelu', layer_norm_eps=1e-5,
            attention_dropout=0.0, initializer_factor=1.0, initializer_range=0.02, torch_dtype='float16')

    def forward(self, pictures):
        """pictures (B,3,224,224) in [0,1]"""
        parts = self.vision_model['embeddings']
        x = parts['patch_embedding']((pictures - self.mean) / self.spread).flatten(2).transpose(1, 2)
        x = torch.cat([parts.class_embedding.to(x.dtype).expand(len(x), 1, -1), x], 1) + parts['position_embedding'].weight
        x = self.vision_model['pre_layrnorm'](x)
        for layer in self.vision_model['encoder']['layers']:
            x = layer(x, causal=False)
        return self.visual_projection(self.vision_model['post_layernorm'](x[:, 0]))


class Adapter(nn.Module):
    """IP-Adapter of the linear kind: a picture's embedding -> tokens -> keys and values for every attention to the text."""

    def __init__(self, widths, picture=128, context=256, tokens=4):
        """widths: UNet.style_widths"""
        super().__init__()
        self.tokens = tokens
        self.image_proj = nn.ModuleDict(dict(proj=nn.Linear(picture, tokens * context), norm=nn.LayerNorm(context)))
        part = lambda width: nn.ModuleDict(dict(to_k_ip=nn.Linear(context, width, bias=False),
                                                to_v_ip=nn.Linear(context, width, bias=False)))
        self.ip_adapter = nn.ModuleDict({str(2 * i + 1): part(width) for i, width in enumerate(widths)})
        for attention in self.ip_adapter.values():
            nn.init.normal_(attention['to_v_ip'].weight, std=.01)

    def forward(self, embedding):
        x = self.image_proj['proj'](embedding).view(len(embedding), self.tokens, -1)
        x = self.image_proj['norm'](x)
        return [(part['to_k_ip'](x), part['to_v_ip'](x)) for part in self.ip_adapter.values()]


# ---------------------------------------------------------------------------------------------- critic (training only)

class Critic(nn.Module):
    """Patch discriminator over (frame, picture) pairs."""

    def __init__(self, width=48):
        super().__init__()
        norm = nn.utils.parametrizations.spectral_norm
        conv = lambda i, o, k, s: norm(nn.Conv2d(i, o, k, s, 1))
        self.net = nn.Sequential(conv(6, width, 4, 2), nn.LeakyReLU(.2), conv(width, width * 2, 4, 2), nn.LeakyReLU(.2),
                                 conv(width * 2, width * 4, 4, 2), nn.LeakyReLU(.2), conv(width * 4, width * 4, 3, 1),
                                 nn.LeakyReLU(.2), conv(width * 4, 1, 3, 1))

    def forward(self, frame, picture):
        return self.net(torch.cat([frame, picture], 1))
