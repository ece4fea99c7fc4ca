#include "unet/model/blocks.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int slices_add(struct slices *slices, int count, const char *format, ...) {
  if (slices->count == slices->capacity) {
    int capacity = slices->capacity ? 2 * slices->capacity : 64;
    struct slice *list = realloc(slices->list, (size_t)capacity * sizeof *list);
    if (!list)
      return -1;
    slices->list = list;
    slices->capacity = capacity;
  }
  struct slice *slice = &slices->list[slices->count++];
  va_list args;
  va_start(args, format);
  vsnprintf(slice->name, sizeof slice->name, format, args);
  va_end(args);
  slice->first = slices->channels;
  slice->count = count;
  slices->channels += count;
  return 0;
}

void slices_finish(struct slices *slices) {
  free(slices->list);
  *slices = (struct slices){0};
}

/* The channels of stacked that belong to the layer whose scope this is. */
static struct tensor own_slice(const struct unet_call *call, const struct slices *slices, struct tensor stacked,
                               int count) {
  const char *path = net_path(&call->net);
  for (int i = 0; i < slices->count; i++)
    if (!strcmp(slices->list[i].name, path) && slices->list[i].count == count)
      return tensor_channels(stacked, slices->list[i].first, count);
  plan_fail(call->net.plan, "has no slice of %d channels", count);
  return (struct tensor){0};
}

struct tensor block_res(const struct unet_call *call, int index, struct tensor x, struct tensor skip, int out) {
  const struct net *net = &call->net;
  const struct unet_config *config = call->config;
  size_t mark = plan_enter(net->plan, "resnets.%d", index);
  int in = x.c + skip.c;
  struct prologue norm1 = net_group_norm(net, "norm1", in, config->norm_num_groups, config->norm_eps, ACT_SILU);
  struct prologue norm2 = net_group_norm(net, "norm2", out, config->norm_num_groups, config->norm_eps, ACT_SILU);

  struct tensor time = own_slice(call, call->times, call->time, out);
  struct tensor h =
      net_conv(net, "conv1", (struct op_conv){.x = x, .x2 = skip, .prologue = norm1, .time = time}, out, WITH_BIAS);
  struct tensor shortcut = x;
  if (in != out)
    shortcut = net_linear(net, "conv_shortcut", (struct op_linear){.x = x, .x2 = skip}, out, WITH_BIAS);
  else if (tensor_exists(skip))
    plan_fail(net->plan, "a skip connection that keeps the number of channels is not supported");
  h = net_conv(net, "conv2", (struct op_conv){.x = h, .prologue = norm2, .residual = shortcut}, out, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

static struct tensor attend(const struct unet_call *call, struct tensor q, struct tensor k, struct tensor v,
                            int heads) {
  if (call->net.plan->failed)
    return (struct tensor){0};
  float scale = 1 / sqrtf((float)q.c / (float)heads);
  return plan_attention(call->net.plan, "",
                        (struct op_attention){.q = q, .k = k, .v = v, .heads = heads, .scale = scale});
}

/* x + attention of norm(x) to itself. */
static struct tensor self_attention(const struct unet_call *call, const char *name, struct tensor x,
                                    struct prologue norm, int heads) {
  const struct net *net = &call->net;
  size_t mark = plan_enter(net->plan, "%s", name);
  int c = x.c;
  struct tensor qkv = net_fused(net, "to_qkv", (struct op_linear){.x = x, .prologue = norm},
                                (const char *const[]){"to_q", "to_k", "to_v"}, (int[]){c, c, c}, 3, NO_BIAS);
  struct tensor h =
      attend(call, tensor_channels(qkv, 0, c), tensor_channels(qkv, c, c), tensor_channels(qkv, 2 * c, c), heads);
  h = net_linear(net, "to_out.0", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* x + attention of norm(x) to the text, whose keys and values are there already. */
static struct tensor cross_attention(const struct unet_call *call, const char *name, struct tensor x,
                                     struct prologue norm, int heads) {
  const struct net *net = &call->net;
  size_t mark = plan_enter(net->plan, "%s", name);
  int c = x.c;
  struct tensor kv = own_slice(call, call->texts, call->text, 2 * c);
  struct tensor q = net_linear(net, "to_q", (struct op_linear){.x = x, .prologue = norm}, c, NO_BIAS);
  struct tensor h = attend(call, q, tensor_channels(kv, 0, c), tensor_channels(kv, c, c), heads);
  h = net_linear(net, "to_out.0", (struct op_linear){.x = h, .residual = x}, c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* x + linear(GEGLU(linear(norm(x)))) */
static struct tensor feed_forward(const struct unet_call *call, struct tensor x, struct prologue norm) {
  const struct net *net = &call->net;
  struct tensor h = net_linear(net, "ff.net.0.proj", (struct op_linear){.x = x, .prologue = norm, .act = ACT_GEGLU},
                               8 * x.c, WITH_BIAS);
  return net_linear(net, "ff.net.2", (struct op_linear){.x = h, .residual = x}, x.c, WITH_BIAS);
}

static struct tensor basic_transformer_block(const struct unet_call *call, int index, struct tensor x, int heads,
                                             bool only_cross_attention) {
  const struct net *net = &call->net;
  const float eps = 1e-5f;
  size_t mark = plan_enter(net->plan, "transformer_blocks.%d", index);
  struct prologue norm1 = net_layer_norm(net, "norm1", x.c, eps);
  struct prologue norm2 = net_layer_norm(net, "norm2", x.c, eps);
  struct prologue norm3 = net_layer_norm(net, "norm3", x.c, eps);
  if (only_cross_attention)
    x = cross_attention(call, "attn1", x, norm1, heads);
  else
    x = self_attention(call, "attn1", x, norm1, heads);
  x = cross_attention(call, "attn2", x, norm2, heads);
  x = feed_forward(call, x, norm3);
  plan_leave(net->plan, mark);
  return x;
}

struct tensor block_transformer(const struct unet_call *call, int index, struct tensor x, int level,
                                bool only_cross_attention) {
  const struct net *net = &call->net;
  const struct unet_config *config = call->config;
  size_t mark = plan_enter(net->plan, "attentions.%d", index);
  struct prologue norm = net_group_norm(net, "norm", x.c, config->norm_num_groups, 1e-6f, ACT_NONE);
  struct tensor h = net_linear(net, "proj_in", (struct op_linear){.x = x, .prologue = norm}, x.c, WITH_BIAS);
  for (int i = 0; i < config->transformer_layers[level]; i++)
    h = basic_transformer_block(call, i, h, config->heads[level], only_cross_attention);
  h = net_linear(net, "proj_out", (struct op_linear){.x = h, .residual = x}, x.c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

static void push(const struct unet_call *call, struct skips *skips, struct tensor x) {
  if (skips->count < (int)(sizeof skips->list / sizeof skips->list[0]))
    skips->list[skips->count++] = x;
  else
    plan_fail(call->net.plan, "more layers than are supported");
}

static struct tensor pop(const struct unet_call *call, struct skips *skips) {
  if (skips->count)
    return skips->list[--skips->count];
  plan_fail(call->net.plan, "no output of the way down is left for it");
  return (struct tensor){0};
}

struct tensor block_down(const struct unet_call *call, int level, struct tensor x, struct skips *skips) {
  const struct unet_config *config = call->config;
  size_t mark = plan_enter(call->net.plan, "down_blocks.%d", level);
  for (int i = 0; i < config->layers[level]; i++) {
    x = block_res(call, i, x, (struct tensor){0}, config->channels[level]);
    if (config->down_attention[level])
      x = block_transformer(call, i, x, level, config->only_cross_attention[level]);
    push(call, skips, x);
  }
  if (level < config->levels - 1) {
    x = net_conv(&call->net, "downsamplers.0.conv", (struct op_conv){.x = x, .stride = 2}, x.c, WITH_BIAS);
    push(call, skips, x);
  }
  plan_leave(call->net.plan, mark);
  return x;
}

struct tensor block_mid(const struct unet_call *call, struct tensor x) {
  int last = call->config->levels - 1;
  size_t mark = plan_enter(call->net.plan, "mid_block");
  x = block_res(call, 0, x, (struct tensor){0}, x.c);
  if (call->config->mid_attention) {
    x = block_transformer(call, 0, x, last, false); /* whatever mid_block_only_cross_attention says: as in diffusers */
    x = block_res(call, 1, x, (struct tensor){0}, x.c);
  }
  plan_leave(call->net.plan, mark);
  return x;
}

struct tensor block_up(const struct unet_call *call, int level, struct tensor x, struct skips *skips) {
  const struct unet_config *config = call->config;
  size_t mark = plan_enter(call->net.plan, "up_blocks.%d", config->levels - 1 - level);
  for (int i = 0; i <= config->layers[level]; i++) {
    x = block_res(call, i, x, pop(call, skips), config->channels[level]);
    if (config->up_attention[level])
      x = block_transformer(call, i, x, level, config->only_cross_attention[level]);
  }
  if (level > 0)
    x = net_conv(&call->net, "upsamplers.0.conv", (struct op_conv){.x = x, .upsample = true}, x.c, WITH_BIAS);
  plan_leave(call->net.plan, mark);
  return x;
}
