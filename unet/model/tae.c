#include "unet/model/models.h"

/* AutoencoderTiny works on pictures with values 0..1. Its class in diffusers converts from -1..1 first and back at the
 * end; both conversions are left out here. */

/* Appends x + f(x), where f is two 1x1 convolutions with a group norm between them. Some blocks of FLUX.2's autoencoder
 * (taef2) have it, although its config does not mention it. */
static struct tensor pool(const struct net *net, struct tensor x) {
  enum { WIDER = 4, GROUPS = 4 };
  int inner = WIDER * x.c;
  struct tensor h = net_linear(net, "pool.0", (struct op_linear){.x = x}, inner, NO_BIAS);
  struct prologue norm = net_group_norm(net, "pool.1", inner, GROUPS, 1e-5f, ACT_RELU);
  return net_linear(net, "pool.3", (struct op_linear){.x = h, .prologue = norm, .residual = x}, x.c, NO_BIAS);
}

/* Appends relu(x + f(x)), where f is three convolutions with ReLU between them. */
static struct tensor tiny_block(const struct net *net, int layer, struct tensor x) {
  size_t mark = plan_enter(net->plan, "%d", layer);
  if (net_has(net, "pool.0"))
    x = pool(net, x);
  struct tensor h = net_conv(net, "conv.0", (struct op_conv){.x = x, .act = ACT_RELU}, x.c, WITH_BIAS);
  h = net_conv(net, "conv.2", (struct op_conv){.x = h, .act = ACT_RELU}, x.c, WITH_BIAS);
  h = net_conv(net, "conv.4", (struct op_conv){.x = h, .residual = x, .act = ACT_RELU}, x.c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* Appends the convolution that is number `layer` in the file's sequence of layers; this number is its name. */
static struct tensor numbered_conv(const struct net *net, int layer, struct op_conv op, int out, enum bias bias) {
  char name[16];
  snprintf(name, sizeof name, "%d", layer);
  return net_conv(net, name, op, out, bias);
}

static struct tensor encode(const struct autoencoder *autoencoder, struct plan *plan, struct tensor picture) {
  const struct tae_config *config = &autoencoder->tae;
  struct net net = net_begin(plan, &autoencoder->weights);
  plan_enter(plan, "encoder.layers");
  struct tensor x = picture;
  int layer = 0;
  for (int level = 0; level < config->levels; level++) {
    if (level == 0)
      x = numbered_conv(&net, layer++, (struct op_conv){.x = x}, config->encoder_channels, WITH_BIAS);
    else
      x = numbered_conv(&net, layer++, (struct op_conv){.x = x, .stride = 2}, config->encoder_channels, NO_BIAS);
    for (int i = 0; i < config->encoder_blocks[level]; i++)
      x = tiny_block(&net, layer++, x);
  }
  x = numbered_conv(&net, layer, (struct op_conv){.x = x}, autoencoder->latent_channels, WITH_BIAS);
  net_end(&net);
  return x;
}

static struct tensor decode(const struct autoencoder *autoencoder, struct plan *plan, struct tensor latent) {
  const struct tae_config *config = &autoencoder->tae;
  struct net net = net_begin(plan, &autoencoder->weights);
  plan_enter(plan, "decoder.layers");
  int layer = 0, c = config->decoder_channels;
  /* the clamp of the latent, 3 tanh(x / 3), has no number in the file's sequence of layers */
  struct op_conv first = {.x = latent, .prologue = {.act = ACT_TANH3}, .act = ACT_RELU};
  struct tensor x = numbered_conv(&net, layer, first, c, WITH_BIAS);
  layer += 2; /* in the file's numbering of layers, the activation is a layer of its own */
  for (int level = 0; level < config->levels - 1; level++) {
    for (int i = 0; i < config->decoder_blocks[level]; i++)
      x = tiny_block(&net, layer++, x);
    layer++; /* in the file's numbering of layers, the upsampling is a layer of its own */
    x = numbered_conv(&net, layer++, (struct op_conv){.x = x, .upsample = true}, c, NO_BIAS);
  }
  for (int i = 0; i < config->decoder_blocks[config->levels - 1]; i++)
    x = tiny_block(&net, layer++, x);
  x = numbered_conv(&net, layer, (struct op_conv){.x = x}, 3, WITH_BIAS);
  net_end(&net);
  return x;
}

const struct autoencoder_kind tae_kind = {.black = 0, .encode = encode, .decode = decode};
