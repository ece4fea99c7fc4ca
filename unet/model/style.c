#include "unet/model/style.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/model/models.h"
#include "unet/model/vision.h"

/* --- the order in which IP-Adapters number the layers --- */

/* IP-Adapters number the attentions to the text in this order: those in the down blocks, in the up blocks, in the
 * middle block. Returns the number of a layer's first attention to the text. */
static int first_number(const struct walk *walk, const struct unet_layer *layer) {
  static const int order[] = {[UNET_DOWN] = 0, [UNET_UP] = 1, [UNET_MID] = 2};
  int number = 0;
  for (int i = 0; i < walk->count; i++) {
    const struct unet_layer *other = &walk->layers[i];
    bool before = order[other->part] < order[layer->part] || (other->part == layer->part && other < layer);
    number += before ? other->depth : 0;
  }
  return number;
}

static int count_attentions(const struct walk *walk) {
  int count = 0;
  for (int i = 0; i < walk->count; i++)
    count += walk->layers[i].depth;
  return count;
}

enum style_part style_part(const struct unet_config *config, const struct unet_layer *layer) {
  bool xl = config->added_text_dim > 0;
  if (!strcmp(layer->name, "down_blocks.2.attentions.1"))
    return STYLE_COMPOSITION;
  if (xl)
    return strcmp(layer->name, "up_blocks.0.attentions.1") ? STYLE_OTHER : STYLE_LOOK;
  bool outer =
      layer->part == UNET_UP && strncmp(layer->name, "up_blocks.0.", 12) && strncmp(layer->name, "up_blocks.1.", 12);
  return outer ? STYLE_LOOK : STYLE_OTHER;
}

int style_init(struct style *style, const struct ip_adapter *adapter, const char *model, const struct unet *unet,
               struct resources *resources, struct error *err) {
  *style = (struct style){.adapter = adapter};
  if (ip_adapter_check(adapter, model, unet->config, count_attentions(&unet->walk), err) < 0)
    return -1;
  style->slots = resources_state(resources, "style keys and values", STYLE_SLOTS, 1, ip_adapter_tokens(adapter),
                                 unet->walk.style_channels, ELEMENT_DEVICE, err);
  return tensor_exists(style->slots) ? 0 : -1;
}

/* --- from the image encoder's output to tokens --- */

/* Appends the projection that maps each token of the image encoder's output to one token. */
static struct tensor project_each(const struct net *net, const struct ip_config *c, struct tensor x) {
  x = net_linear(net, "image_proj.proj.0", (struct op_linear){.x = x, .act = ACT_GELU}, c->picture_width, WITH_BIAS);
  x = net_linear(net, "image_proj.proj.2", (struct op_linear){.x = x}, c->text_width, WITH_BIAS);
  return plan_norm(
      net->plan, "tokens",
      (struct op_norm){.x = x, .prologue = net_layer_norm(net, "image_proj.proj.3", c->text_width, 1e-5f)});
}

/* Appends the projection that maps the picture's embedding to several tokens. */
static struct tensor project_embedding(const struct net *net, const struct ip_config *c, struct tensor x) {
  x = net_linear(net, "image_proj.proj", (struct op_linear){.x = x}, c->tokens * c->text_width, WITH_BIAS);
  x.w = c->tokens;
  x.c = x.pitch = c->text_width;
  return plan_norm(net->plan, "tokens",
                   (struct op_norm){.x = x, .prologue = net_layer_norm(net, "image_proj.norm", c->text_width, 1e-5f)});
}

/* Appends one attention of IP-Adapter Plus's resampler, and returns `latents` + attention. Queries are norm2(latents),
 * keys and values norm1(x) and norm2(latents), concatenated. */
static struct tensor perceive(const struct net *net, const struct ip_config *c, struct tensor x,
                              struct tensor latents) {
  size_t mark = plan_enter(net->plan, "0");
  struct plan *plan = net->plan;
  struct prologue norm1 = net_layer_norm(net, "norm1", c->width, 1e-5f);
  struct prologue norm2 = net_layer_norm(net, "norm2", c->width, 1e-5f);
  struct op_join join = {.x = plan_norm(plan, "norm1", (struct op_norm){.x = x, .prologue = norm1}),
                         .x2 = plan_norm(plan, "norm2", (struct op_norm){.x = latents, .prologue = norm2})};
  struct tensor q = net_linear(net, "to_q", (struct op_linear){.x = join.x2}, c->inner, NO_BIAS);
  struct tensor all = plan->failed ? (struct tensor){0} : plan_join(plan, "all", join);
  struct tensor kv = net_linear(net, "to_kv", (struct op_linear){.x = all}, 2 * c->inner, NO_BIAS);
  struct op_attention op = {.q = q,
                            .k = tensor_channels(kv, 0, c->inner),
                            .v = tensor_channels(kv, c->inner, c->inner),
                            .heads = c->heads,
                            .scale = 1 / sqrtf((float)c->inner / (float)c->heads)};
  struct tensor h = plan->failed ? (struct tensor){0} : plan_attention(plan, "", op);
  h = net_linear(net, "to_out", (struct op_linear){.x = h, .residual = latents}, c->width, NO_BIAS);
  plan_leave(plan, mark);
  return h;
}

/* Appends x + linear(gelu(linear(norm(x)))). */
static struct tensor feed_forward(const struct net *net, const struct ip_config *c, struct tensor x) {
  size_t mark = plan_enter(net->plan, "1");
  struct op_linear first = {.x = x, .prologue = net_layer_norm(net, "0", c->width, 1e-5f), .act = ACT_GELU};
  struct tensor h = net_linear(net, "1", first, 4 * c->width, NO_BIAS);
  h = net_linear(net, "3", (struct op_linear){.x = h, .residual = x}, c->width, NO_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

/* Returns the learned vectors (queries, also called latents) from which a resampler computes the picture's tokens. */
static struct tensor queries(const struct net *net, const struct ip_config *c) {
  struct error err = {0};
  if (net->plan->failed)
    return (struct tensor){0};
  struct tensor x =
      checkpoint_matrix(net->weights, net->plan->resources, "image_proj.latents", c->tokens, c->width, &err);
  if (!tensor_exists(x)) {
    net_fail(net, &err);
    return x;
  }
  x.n = 1;
  x.w = c->tokens;
  return plan_affine(net->plan, "latents", (struct op_affine){.x = x, .scale = 1});
}

static struct tensor resample(const struct net *net, const struct ip_config *c, struct tensor x) {
  struct plan *plan = net->plan;
  struct tensor latents = queries(net, c);
  x = net_linear(net, "image_proj.proj_in", (struct op_linear){.x = x}, c->width, WITH_BIAS);
  for (int i = 0; i < c->layers; i++) {
    size_t mark = plan_enter(plan, "image_proj.layers.%d", i);
    latents = perceive(net, c, x, latents);
    latents = feed_forward(net, c, latents);
    plan_leave(plan, mark);
  }
  x = net_linear(net, "image_proj.proj_out", (struct op_linear){.x = latents}, c->text_width, WITH_BIAS);
  struct prologue norm = net_layer_norm(net, "image_proj.norm_out", c->text_width, 1e-5f);
  return plan_norm(plan, "tokens", (struct op_norm){.x = x, .prologue = norm});
}

static struct tensor project(const struct net *net, const struct ip_config *c, struct tensor x) {
  switch (c->projection) {
  case IP_LINEAR:
    return project_embedding(net, c, x);
  case IP_RESAMPLER:
    return resample(net, c, x);
  case IP_MLP:
    return project_each(net, c, x);
  }
  return x;
}

/* --- from a style picture's tokens to keys and values --- */

/* Returns the key and value weights of all attentions, stacked as one matrix in the order of the U-Net's layers. */
static struct tensor keys_weight(const struct net *net, const struct walk *walk, const struct ip_config *c) {
  struct key {
    char text[64];
  } *keys = malloc((size_t)(2 * c->attentions) * sizeof *keys);
  struct stack_part *parts = malloc((size_t)(2 * c->attentions) * sizeof *parts);
  struct error err = {0};
  struct tensor weight = {0};
  int count = 0;
  for (int i = 0; keys && parts && i < walk->count; i++) {
    const struct unet_layer *layer = &walk->layers[i];
    for (int j = 0; j < 2 * layer->depth; j++, count++) {
      snprintf(keys[count].text, sizeof keys->text, "ip_adapter.%d.to_%c_ip.weight",
               2 * (first_number(walk, layer) + j / 2) + 1, j % 2 ? 'v' : 'k');
      parts[count] = (struct stack_part){.name = keys[count].text, .rows = layer->out};
    }
  }
  if (keys && parts)
    weight = checkpoint_stack(net->weights, net->plan->resources, "kv.weight", parts, count, c->text_width, &err);
  else
    error_set(&err, STATUS_FAILED, "out of memory");
  if (!tensor_exists(weight))
    net_fail(net, &err);
  free(keys);
  free(parts);
  return weight;
}

struct tensor style_input(const struct style *style, struct plan *plan) {
  const struct vision_config *v = &style->adapter->vision;
  return plan_state(plan, "picture", 1, 1, vision_tokens(v) - 1, 3 * v->patch_size * v->patch_size, ELEMENT_DEVICE);
}

bool style_none_reads_patches(const struct style *style) {
  return style->adapter->config.projection != IP_LINEAR;
}

void style_keys(const struct style *style, const struct unet *unet, struct plan *plan, struct tensor patches,
                bool none) {
  const struct ip_adapter *a = style->adapter;
  bool linear = !style_none_reads_patches(style);
  /* No op writes this state, so its values stay 0, as the adapter's authors use for "no picture". */
  struct tensor said = none && linear
                           ? plan_state(plan, "no embedding", 1, 1, 1, a->config.picture_width, ELEMENT_DEVICE)
                           : vision_encode(&a->encoder, &a->vision, plan, patches, linear);
  struct net net = net_begin(plan, &a->weights);
  struct tensor tokens = project(&net, &a->config, said);
  struct op_linear op = {.x = tokens};
  if (!plan->failed)
    op.weight = keys_weight(&net, &unet->walk, &a->config);
  struct tensor kv = plan->failed ? (struct tensor){0} : plan_linear(plan, "kv", op);
  plan_store_slot(plan, "slot", (struct op_store_slot){.x = kv, .slots = style->slots});
  net_end(&net);
}

void style_attend(const struct unet_style *style, struct plan *plan, const struct unet_config *config,
                  const struct unet_layer *layer, int block, struct op_style op) {
  int c = layer->out, channel = layer->style + block * 2 * c;
  if (!tensor_exists(style->slots) || plan->failed)
    return;
  op.k = tensor_channels(style->slots, channel, c);
  op.v = tensor_channels(style->slots, channel + c, c);
  op.part = style_part(config, layer);
  op.rows = style->rows.each;
  op.first = style->rows.first;
  plan_style(plan, "style", op);
}
