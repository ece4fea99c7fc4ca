#include "unet/model/depth.h"

#include <math.h>
#include <stdlib.h>

#include "unet/model/depth_weights.h"

int depth_open(struct depth **depth, const char *folder, struct error *err) {
  struct depth *d = calloc(1, sizeof *d);
  if (!d || !(d->values = calloc(1, sizeof(struct depth_values *)))) {
    free(d);
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  }
  if (depth_files_open(&d->files, folder, err)) {
    depth_close(&d);
    return -1;
  }
  *depth = d;
  return 0;
}

void depth_close(struct depth **depth) {
  struct depth *d = *depth;
  *depth = NULL;
  if (!d)
    return;
  depth_files_close(&d->files);
  depth_values_free(*d->values);
  free(d->values);
  free(d);
}

/* --- the backbone of the depth network (DINOv2) --- */

/* The depth network and the plan to which its ops are appended. */
struct depth_net {
  struct net net;
  const struct depth *depth;
  const struct depth_config *config;
  struct depth_grid grid;
};

static struct tensor linear(const struct depth_net *d, const char *name, struct depth_linear weights,
                            struct op_linear op) {
  if (d->net.plan->failed)
    return (struct tensor){0};
  op.weight = weights.weight;
  op.bias = weights.bias;
  return plan_linear(d->net.plan, name, op);
}

/* Writes the checkpoint's key for `name` in layer `index` to out, and returns out. */
static const char *layer_key(char out[128], int index, const char *name) {
  snprintf(out, 128, "backbone.encoder.layer.%d.%s", index, name);
  return out;
}

static struct tensor embed(const struct depth_net *d, struct tensor picture, float scale, float bias) {
  const struct depth_config *config = d->config;
  struct plan *plan = d->net.plan;
  int columns = (3 * config->patch * config->patch + 7) / 8 * 8;
  struct op_patches op = {
      .x = picture, .rows = d->grid.rows, .columns = d->grid.columns, .size = config->patch, .y.c = columns};
  for (int k = 0; k < 3; k++) {
    op.scale[k] = (float)((double)scale / config->deviation[k]);
    op.bias[k] = (float)(((double)bias - config->mean[k]) / config->deviation[k]);
  }
  struct tensor positions = depth_positions(d->depth, &d->net, d->grid);
  struct depth_linear weights = depth_patches(d->depth, &d->net, columns);
  if (plan->failed)
    return (struct tensor){0};
  struct tensor patches = plan_patches(plan, "embeddings.patches", op);
  return linear(d, "embeddings", weights, (struct op_linear){.x = patches, .residual = tensor_joined(positions)});
}

/* Appends self-attention, and returns x + scale * attention of norm1(x). The names of the file's tensors may be those
 * of version 4 or 5 of transformers. */
static struct tensor attention(const struct depth_net *d, struct tensor x, int index) {
  const struct net *net = &d->net;
  int c = d->config->hidden_size;
  bool old = net_has(net, "attention.attention.query");
  char out[128], scale[128];
  struct op_linear fused = {.x = x, .prologue = net_layer_norm(net, "norm1", c, d->config->layer_norm_eps)};
  struct tensor qkv = net_fused(
      net, "attention.qkv", fused,
      old ? (const char *const[]){"attention.attention.query", "attention.attention.key", "attention.attention.value"}
          : (const char *const[]){"attention.q_proj", "attention.k_proj", "attention.v_proj"},
      (int[]){c, c, c}, 3, d->config->qkv_bias ? WITH_BIAS : NO_BIAS);
  if (net->plan->failed)
    return x;
  struct op_attention op = {.q = tensor_channels(qkv, 0, c),
                            .k = tensor_channels(qkv, c, c),
                            .v = tensor_channels(qkv, 2 * c, c),
                            .heads = d->config->heads,
                            .scale = 1 / sqrtf((float)c / (float)d->config->heads)};
  struct tensor h = plan_attention(net->plan, "attention", op);
  layer_key(out, index, old ? "attention.output.dense" : "attention.o_proj");
  layer_key(scale, index, "layer_scale1.lambda1");
  return linear(d, "attention.out", depth_scaled(d->depth, net, out, scale, c, c),
                (struct op_linear){.x = h, .residual = x});
}

/* Appends x + scale * fc2(gelu(fc1(norm2(x)))). */
static struct tensor mlp(const struct depth_net *d, struct tensor x, int index) {
  const struct net *net = &d->net;
  int c = d->config->hidden_size;
  char out[128], scale[128];
  struct op_linear fc1 = {
      .x = x, .prologue = net_layer_norm(net, "norm2", c, d->config->layer_norm_eps), .act = ACT_GELU};
  struct tensor h = net_linear(net, "mlp.fc1", fc1, d->config->mlp, WITH_BIAS);
  layer_key(out, index, "mlp.fc2");
  layer_key(scale, index, "layer_scale2.lambda1");
  return linear(d, "mlp.fc2", depth_scaled(d->depth, net, out, scale, d->config->mlp, c),
                (struct op_linear){.x = h, .residual = x});
}

/* Appends the backbone. After some of its layers the neck (the next part of the network) reads the tokens; `features`
 * gets these. The neck applies *norm to them first. */
static void backbone(const struct depth_net *d, struct tensor picture, float scale, float bias,
                     struct tensor features[DEPTH_FEATURES], struct prologue *norm) {
  const struct depth_config *config = d->config;
  struct plan *plan = d->net.plan;
  int last = config->feature[DEPTH_FEATURES - 1], found = 0;
  size_t mark = plan_enter(plan, "backbone");
  struct tensor x = embed(d, picture, scale, bias);
  for (int i = 0; i < last; i++) {
    size_t inner = plan_enter(plan, "encoder.layer.%d", i);
    x = mlp(d, attention(d, x, i), i);
    plan_leave(plan, inner);
    if (i + 1 == config->feature[found])
      features[found++] = x;
  }
  *norm = (struct prologue){0};
  if (config->feature_norm)
    *norm = net_layer_norm(&d->net, "layernorm", config->hidden_size, config->layer_norm_eps);
  plan_leave(plan, mark);
}

/* --- neck and head of the depth network (DPT) --- */

/* Turns tokens into a picture that has, along each axis, 4, 2, 1 or 1/2 times as many pixels as there are patches. The
 * class token is left out. */
static struct tensor reassemble(const struct depth_net *d, int index, struct tensor tokens, struct prologue norm) {
  static const int strides[DEPTH_FEATURES] = {4, 2, 1, 1};
  struct plan *plan = d->net.plan;
  int channels = d->config->neck[index], stride = strides[index];
  char name[128];
  size_t mark = plan_enter(plan, "neck.reassemble_stage.layers.%d", index);
  struct tensor x =
      net_linear(&d->net, "projection", (struct op_linear){.x = tokens, .prologue = norm}, channels, WITH_BIAS);
  snprintf(name, sizeof name, "neck.reassemble_stage.layers.%d.resize", index);
  if (stride > 1)
    x = linear(d, "resize", depth_transposed(d->depth, &d->net, name, channels, stride), (struct op_linear){.x = x});
  if (!plan->failed)
    x = plan_unpatch(
        plan, "picture",
        (struct op_unpatch){.x = x, .rows = d->grid.rows, .columns = d->grid.columns, .size = stride, .skip = 1});
  if (index == DEPTH_FEATURES - 1)
    x = net_conv(&d->net, "resize", (struct op_conv){.x = x, .stride = 2}, channels, WITH_BIAS);
  plan_leave(plan, mark);
  mark = plan_enter(plan, "neck.convs");
  x = net_conv(&d->net, (char[]){(char)('0' + index), 0}, (struct op_conv){.x = x}, d->config->fusion, NO_BIAS);
  plan_leave(plan, mark);
  return x;
}

/* Appends x + convolution2(relu(convolution1(relu(x)))). */
static struct tensor residual(const struct depth_net *d, const char *name, struct tensor x) {
  size_t mark = plan_enter(d->net.plan, "%s", name);
  struct op_conv first = {.x = x, .prologue.act = ACT_RELU, .act = ACT_RELU};
  struct tensor h = net_conv(&d->net, "convolution1", first, d->config->fusion, WITH_BIAS);
  h = net_conv(&d->net, "convolution2", (struct op_conv){.x = h, .residual = x}, d->config->fusion, WITH_BIAS);
  plan_leave(d->net.plan, mark);
  return h;
}

static struct tensor resize(const struct depth_net *d, struct tensor x, int h, int w, struct tensor added) {
  if (d->net.plan->failed)
    return (struct tensor){0};
  return plan_resize(d->net.plan, "resize", (struct op_resize){.x = x, .residual = added, .y = {.h = h, .w = w}});
}

/* Fuses the features of several layers, from the coarsest to the finest. The model resizes each sum to twice its size
 * and then projects it. Here the projection comes first, on a quarter of the pixels. The result is the same: both are
 * linear, and the weights of the resizing sum to 1, so that the bias needs no change. */
static struct tensor fuse(const struct depth_net *d, const struct tensor features[DEPTH_FEATURES]) {
  struct plan *plan = d->net.plan;
  struct tensor x = {0};
  for (int i = 0; i < DEPTH_FEATURES; i++) {
    struct tensor own = features[DEPTH_FEATURES - 1 - i];
    size_t mark = plan_enter(plan, "neck.fusion_stage.layers.%d", i);
    if (i > 0)
      own = resize(d, x, own.h, own.w, residual(d, "residual_layer1", own));
    x = residual(d, "residual_layer2", own);
    x = net_linear(&d->net, "projection", (struct op_linear){.x = x}, d->config->fusion, WITH_BIAS);
    plan_leave(plan, mark);
  }
  return resize(d, x, 2 * x.h, 2 * x.w, (struct tensor){0});
}

static struct tensor head(const struct depth_net *d, struct tensor x) {
  const struct depth_config *config = d->config;
  struct plan *plan = d->net.plan;
  size_t mark = plan_enter(plan, "head");
  x = net_conv(&d->net, "conv1", (struct op_conv){.x = x}, config->fusion / 2, WITH_BIAS);
  x = resize(d, x, d->grid.rows * config->patch, d->grid.columns * config->patch, (struct tensor){0});
  x = net_conv(&d->net, "conv2", (struct op_conv){.x = x, .act = ACT_RELU}, config->head, WITH_BIAS);
  x = net_linear(&d->net, "conv3", (struct op_linear){.x = x, .act = ACT_RELU}, 1, WITH_BIAS);
  plan_leave(plan, mark);
  return x;
}

/* --- the whole depth network, from pixels to depth --- */

struct depth_grid depth_grid(const struct depth *depth, int width, int height) {
  const struct depth_config *config = &depth->files.config;
  int shorter = (config->shorter_side + config->patch / 2) / config->patch;
  shorter = shorter ? shorter : 1;
  double ratio = width > height ? (double)width / height : (double)height / width;
  double side = fmax(round(ratio * config->shorter_side / config->patch), shorter);
  int longer = (int)fmin(side, 4.0 * shorter);
  return width > height ? (struct depth_grid){shorter, longer} : (struct depth_grid){longer, shorter};
}

struct tensor depth_predict(const struct depth *depth, struct plan *plan, struct tensor picture, float scale,
                            float bias) {
  struct tensor features[DEPTH_FEATURES] = {0}, x = {0};
  struct prologue norm;
  struct depth_net d = {.net = net_begin(plan, &depth->files.weights),
                        .depth = depth,
                        .config = &depth->files.config,
                        .grid = depth_grid(depth, picture.w, picture.h)};
  backbone(&d, picture, scale, bias, features, &norm);
  for (int i = 0; i < DEPTH_FEATURES; i++)
    features[i] = reassemble(&d, i, features[i], norm);
  if (!plan->failed)
    x = head(&d, fuse(&d, features));
  net_end(&d.net);
  return x;
}

struct tensor depth_map(const struct depth *depth, struct plan *plan, struct tensor picture, float scale, float bias,
                        int control, struct tensor y) {
  char name[32];
  struct tensor x = depth_predict(depth, plan, picture, scale, bias);
  snprintf(name, sizeof name, "control %d range", 1 + control);
  struct tensor range = plan_state(plan, name, 1, 1, 1, 3, ELEMENT_PRECISE);
  if (plan->failed)
    return (struct tensor){0};
  plan_range(plan, "depth range",
             (struct op_range){.x = x, .range = range, .size = depth->files.config.patch, .control = control});
  y.h = picture.h;
  y.w = picture.w;
  return plan_spread(plan, "depth map", (struct op_spread){.x = x, .range = range, .y = y});
}
