#include <math.h>

#include "unet/model/models.h"

/* AutoencoderKL works on pictures with values -1..1. Its latent here is the posterior's mean; diffusers samples the
 * posterior, which adds noise that differs from frame to frame.
 *
 * Number range: the residual stream in SDXL's autoencoder exceeds FP16's range, so diffusers computes all of it in FP32
 * (force_upcast). Here the stream is stored multiplied by 2^STREAM. Two kinds of layers read it: a norm cancels the
 * factor if its epsilon is multiplied by the factor's square, and a linear layer preserves the factor. A layer that
 * computes the stream from other tensors has its weights and biases multiplied by 2^STREAM (weights_scaled). A layer
 * that computes it from the stream itself has only its biases multiplied (bias_scaled). The tensor between the two
 * convolutions of a residual block is stored with this factor, too. A power of two changes no rounding unless a value
 * becomes subnormal; this limits how small the factor may be. */
enum { STREAM = -5 };
static const float norm_eps = 1e-6f;

/* Data for the functions that append layers of one half of the autoencoder (the encoder or the decoder) to a plan. */
struct half {
  struct net net;
  const struct kl_config *config;
  int stream; /* exponent: the residual stream is stored multiplied by 2 to this power */
};

static struct half begin(const struct autoencoder *autoencoder, struct plan *plan) {
  const struct kl_config *config = &autoencoder->kl;
  return (struct half){net_begin(plan, &autoencoder->weights), config, config->force_upcast ? STREAM : 0};
}

static struct net bias_scaled(const struct half *half) {
  struct net net = half->net;
  net.bias_exponent = half->stream;
  return net;
}

static struct net weights_scaled(const struct half *half) {
  struct net net = bias_scaled(half);
  net.weight_exponent = half->stream;
  return net;
}

static struct prologue norm(const struct half *half, const char *name, int channels, enum activation act) {
  float eps = ldexpf(norm_eps, 2 * half->stream);
  return net_group_norm(&half->net, name, channels, half->config->groups, eps, act);
}

static struct tensor res_block(const struct half *half, struct tensor x, int out) {
  struct net scaled = weights_scaled(half), shortcut = bias_scaled(half);
  struct op_conv conv1 = {.x = x, .prologue = norm(half, "norm1", x.c, ACT_SILU)};
  struct tensor h = net_conv(&scaled, "conv1", conv1, out, WITH_BIAS);
  if (x.c != out)
    x = net_linear(&shortcut, "conv_shortcut", (struct op_linear){.x = x}, out, WITH_BIAS);
  struct op_conv conv2 = {.x = h, .prologue = norm(half, "norm2", out, ACT_SILU), .residual = x};
  return net_conv(&scaled, "conv2", conv2, out, WITH_BIAS);
}

/* Appends self-attention with one head, and returns x + attention of norm(x). */
static struct tensor attention(const struct half *half, struct tensor x) {
  const struct net *net = &half->net;
  struct net scaled = weights_scaled(half);
  int c = x.c;
  struct op_linear fused = {.x = x, .prologue = norm(half, "group_norm", c, ACT_NONE)};
  struct tensor qkv =
      net_fused(net, "to_qkv", fused, (const char *const[]){"to_q", "to_k", "to_v"}, (int[]){c, c, c}, 3, WITH_BIAS);
  if (net->plan->failed)
    return x;
  struct op_attention op = {.q = tensor_channels(qkv, 0, c),
                            .k = tensor_channels(qkv, c, c),
                            .v = tensor_channels(qkv, 2 * c, c),
                            .heads = 1,
                            .scale = 1 / sqrtf((float)c)};
  struct tensor h = plan_attention(net->plan, "", op);
  return net_linear(&scaled, "to_out.0", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
}

/* Appends `count` residual blocks, numbered from `first` (resnets.FIRST). out: number of channels of their outputs. */
static struct tensor res_blocks(const struct half *half, struct tensor x, int first, int count, int out) {
  for (int i = first; i < first + count; i++) {
    size_t mark = plan_enter(half->net.plan, "resnets.%d", i);
    x = res_block(half, x, out);
    plan_leave(half->net.plan, mark);
  }
  return x;
}

static struct tensor mid_block(const struct half *half, struct tensor x) {
  struct plan *plan = half->net.plan;
  size_t mark = plan_enter(plan, "mid_block");
  x = res_blocks(half, x, 0, 1, x.c);
  if (half->config->mid_attention) {
    size_t inner = plan_enter(plan, "attentions.0");
    x = attention(half, x);
    plan_leave(plan, inner);
  }
  x = res_blocks(half, x, 1, 1, x.c);
  plan_leave(plan, mark);
  return x;
}

/* Appends the first convolution, whose result begins the residual stream. */
static struct tensor conv_in(const struct half *half, struct tensor x, int out) {
  struct net scaled = weights_scaled(half);
  return net_conv(&scaled, "conv_in", (struct op_conv){.x = x}, out, WITH_BIAS);
}

/* Appends conv_out, the last convolution of the encoder or decoder, with its norm and SiLU. rows: number of output
 * channels (first rows of the weight in the file) that are computed; 0: all. */
static struct tensor conv_out(const struct half *half, struct tensor x, int out, int rows) {
  struct net net = half->net;
  net.rows = rows;
  struct op_conv op = {.x = x, .prologue = norm(half, "conv_norm_out", x.c, ACT_SILU)};
  return net_conv(&net, "conv_out", op, out, WITH_BIAS);
}

static struct tensor down_block(const struct half *half, struct tensor x, int level) {
  const struct kl_config *config = half->config;
  struct net net = bias_scaled(half);
  int out = config->channels[level];
  size_t mark = plan_enter(net.plan, "down_blocks.%d", level);
  x = res_blocks(half, x, 0, config->layers, out);
  if (level < config->levels - 1)
    x = net_conv(&net, "downsamplers.0.conv", (struct op_conv){.x = x, .stride = 2, .pad_end_only = true}, out,
                 WITH_BIAS);
  plan_leave(net.plan, mark);
  return x;
}

/* Appends the encoder and returns the mean of the latent, the first half of its output's channels. The second half, the
 * variance, is not computed. */
static struct tensor encode(const struct autoencoder *autoencoder, struct plan *plan, struct tensor picture) {
  const struct kl_config *config = &autoencoder->kl;
  struct half half = begin(autoencoder, plan);
  int latent = autoencoder->latent_channels;
  size_t mark = plan_enter(plan, "encoder");
  struct tensor x = conv_in(&half, picture, config->channels[0]);
  for (int level = 0; level < config->levels; level++)
    x = down_block(&half, x, level);
  x = mid_block(&half, x);
  x = config->quant_conv ? conv_out(&half, x, 2 * latent, 0) : conv_out(&half, x, latent, 2 * latent);
  plan_leave(plan, mark);
  if (config->quant_conv) {
    half.net.rows = 2 * latent;
    x = net_linear(&half.net, "quant_conv", (struct op_linear){.x = x}, latent, WITH_BIAS);
  }
  net_end(&half.net);
  return x;
}

static struct tensor up_block(const struct half *half, struct tensor x, int index) {
  const struct kl_config *config = half->config;
  struct net net = bias_scaled(half);
  int out = config->channels[config->levels - 1 - index];
  size_t mark = plan_enter(net.plan, "up_blocks.%d", index);
  x = res_blocks(half, x, 0, config->layers + 1, out);
  if (index < config->levels - 1)
    x = net_conv(&net, "upsamplers.0.conv", (struct op_conv){.x = x, .upsample = true}, out, WITH_BIAS);
  plan_leave(net.plan, mark);
  return x;
}

static struct tensor decode(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent) {
  const struct kl_config *config = &autoencoder->kl;
  struct half half = begin(autoencoder, plan);
  struct tensor x = latent;
  if (config->post_quant_conv)
    x = net_linear(&half.net, "post_quant_conv", (struct op_linear){.x = x}, latent.c, WITH_BIAS);
  plan_enter(plan, "decoder");
  x = conv_in(&half, x, config->channels[config->levels - 1]);
  x = mid_block(&half, x);
  for (int i = 0; i < config->levels; i++)
    x = up_block(&half, x, i);
  x = conv_out(&half, x, 3, 0);
  net_end(&half.net);
  return x;
}

const struct autoencoder_kind kl_kind = {.black = -1, .encode = encode, .decode = decode};
