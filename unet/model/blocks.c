#include "unet/model/blocks.h"

#include <math.h>

/* Appends a residual block: two convolutions and the shortcut. Its input is x, concatenated with `skip` if `skip` is a
 * tensor. */
static struct tensor res_block(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                               struct tensor skip) {
  const struct net *net = &call->net;
  const struct unet_config *config = call->config;
  int in = layer->in + layer->skip, out = layer->out;
  struct prologue norm1 = net_group_norm(net, "norm1", in, config->norm_num_groups, config->norm_eps, ACT_SILU);
  struct prologue norm2 = net_group_norm(net, "norm2", out, config->norm_num_groups, config->norm_eps, ACT_SILU);

  struct tensor time = tensor_channels(call->time, layer->time, out);
  struct tensor h =
      net_conv(net, "conv1", (struct op_conv){.x = x, .x2 = skip, .prologue = norm1, .time = time}, out, WITH_BIAS);
  struct tensor shortcut = x;
  if (in != out)
    shortcut = net_linear(net, "conv_shortcut", (struct op_linear){.x = x, .x2 = skip}, out, WITH_BIAS);
  else if (tensor_exists(skip))
    plan_fail(net->plan, "a skip connection that keeps the number of channels is not supported");
  return net_conv(net, "conv2", (struct op_conv){.x = h, .prologue = norm2, .residual = shortcut}, out, WITH_BIAS);
}

static float attention_scale(struct tensor q, int heads) {
  return 1 / sqrtf((float)q.c / (float)heads);
}

static struct tensor attend(const struct unet_call *call, struct op_attention op, int heads) {
  if (call->net.plan->failed)
    return (struct tensor){0};
  op.heads = heads;
  op.scale = attention_scale(op.q, heads);
  return plan_attention(call->net.plan, "", op);
}

/* Appends self-attention and returns the result, x + attention(norm(x)). */
static struct tensor self_attention(const struct unet_call *call, const char *name, struct tensor x,
                                    struct prologue norm, const struct unet_layer *layer) {
  const struct net *net = &call->net;
  size_t mark = plan_enter(net->plan, "%s", name);
  int c = x.c;
  struct tensor qkv = net_fused(net, "to_qkv", (struct op_linear){.x = x, .prologue = norm},
                                (const char *const[]){"to_q", "to_k", "to_v"}, (int[]){c, c, c}, 3, NO_BIAS);
  struct op_attention op = {
      .q = tensor_channels(qkv, 0, c), .k = tensor_channels(qkv, c, c), .v = tensor_channels(qkv, 2 * c, c)};
  bank_attend(&call->bank, net->plan, layer, &op);
  struct tensor h = attend(call, op, layer->heads);
  bank_remember(&call->bank, net->plan, &op, tensor_channels(qkv, c, 2 * c));
  h = net_linear(net, "to_out.0", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* Appends cross-attention and returns x + attention(norm(x), text). The text's keys and values are computed elsewhere
 * (unet_texts); `channel` is this attention's first channel in their tensor. block: number of the transformer block in
 * the layer, whose attention to style pictures is added; -1: no such attention is added. */
static struct tensor cross_attention(const struct unet_call *call, const char *name, struct tensor x,
                                     struct prologue norm, const struct unet_layer *layer, int channel, int block) {
  const struct net *net = &call->net;
  size_t mark = plan_enter(net->plan, "%s", name);
  int c = x.c;
  struct tensor k = tensor_channels(call->text, channel, c), v = tensor_channels(call->text, channel + c, c);
  struct tensor q = net_linear(net, "to_q", (struct op_linear){.x = x, .prologue = norm}, c, NO_BIAS);
  struct tensor h = attend(call, (struct op_attention){.q = q, .k = k, .v = v}, layer->heads);
  if (block >= 0)
    style_attend(&call->style, net->plan, call->config, layer, block,
                 (struct op_style){.q = q, .y = h, .heads = layer->heads, .scale = attention_scale(q, layer->heads)});
  h = net_linear(net, "to_out.0", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* Appends x + linear(GEGLU(linear(norm(x)))). */
static struct tensor feed_forward(const struct unet_call *call, struct tensor x, struct prologue norm) {
  const struct net *net = &call->net;
  struct tensor h = net_linear(net, "ff.net.0.proj", (struct op_linear){.x = x, .prologue = norm, .act = ACT_GEGLU},
                               8 * x.c, WITH_BIAS);
  return net_linear(net, "ff.net.2", (struct op_linear){.x = h, .residual = x}, x.c, WITH_BIAS);
}

static struct tensor transformer_block(const struct unet_call *call, const struct unet_layer *layer, int index,
                                       struct tensor x) {
  const struct net *net = &call->net;
  const float eps = 1e-5f;
  size_t mark = plan_enter(net->plan, "transformer_blocks.%d", index);
  struct prologue norm1 = net_layer_norm(net, "norm1", x.c, eps);
  struct prologue norm2 = net_layer_norm(net, "norm2", x.c, eps);
  struct prologue norm3 = net_layer_norm(net, "norm3", x.c, eps);
  int text = index * walk_texts_per_block(layer);
  if (layer->only_cross_attention)
    x = cross_attention(call, "attn1", x, norm1, layer, walk_text_channel(layer, text++), -1);
  else
    x = self_attention(call, "attn1", x, norm1, layer);
  x = cross_attention(call, "attn2", x, norm2, layer, walk_text_channel(layer, text), index);
  x = feed_forward(call, x, norm3);
  plan_leave(net->plan, mark);
  return x;
}

/* Appends a Transformer2DModel (diffusers): transformer blocks between two projections. */
static struct tensor transformer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x) {
  const struct net *net = &call->net;
  struct prologue norm = net_group_norm(net, "norm", x.c, call->config->norm_num_groups, 1e-6f, ACT_NONE);
  struct tensor h = net_linear(net, "proj_in", (struct op_linear){.x = x, .prologue = norm}, x.c, WITH_BIAS);
  for (int i = 0; i < layer->depth; i++)
    h = transformer_block(call, layer, i, h);
  return net_linear(net, "proj_out", (struct op_linear){.x = h, .residual = x}, x.c, WITH_BIAS);
}

struct tensor block_layer(const struct unet_call *call, const struct unet_layer *layer, struct tensor x,
                          struct skips *skips) {
  const struct net *net = &call->net;
  size_t mark = plan_enter(net->plan, "%s", layer->name);
  switch (layer->kind) {
  case LAYER_RES:
    x = res_block(call, layer, x, layer->skip ? skips->list[--skips->count] : (struct tensor){0});
    break;
  case LAYER_TRANSFORMER:
    x = transformer(call, layer, x);
    break;
  case LAYER_DOWNSAMPLE:
    x = net_conv(net, "conv", (struct op_conv){.x = x, .stride = 2}, layer->out, WITH_BIAS);
    break;
  case LAYER_UPSAMPLE:
    x = net_conv(net, "conv", (struct op_conv){.x = x, .upsample = true}, layer->out, WITH_BIAS);
    break;
  }
  plan_leave(net->plan, mark);
  if (layer->kept)
    skips->list[skips->count++] = x;
  return x;
}
