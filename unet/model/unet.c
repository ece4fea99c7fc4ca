#include "unet/model/models.h"

#include <stdlib.h>

/* --- where the blocks' slices are: the same walk as unet_predict's --- */

static int add_attention(struct unet *unet, const char *path, int index, int level, bool only_cross_attention) {
  int count = 2 * unet->config->channels[level], status = 0;
  for (int i = 0; i < unet->config->transformer_layers[level]; i++) {
    if (only_cross_attention)
      status |= slices_add(&unet->texts, count, "%s.attentions.%d.transformer_blocks.%d.attn1", path, index, i);
    status |= slices_add(&unet->texts, count, "%s.attentions.%d.transformer_blocks.%d.attn2", path, index, i);
  }
  return status;
}

static int add_block(struct unet *unet, const char *path, int level, int layers, bool attention) {
  int status = 0;
  for (int i = 0; i < layers; i++) {
    status |= slices_add(&unet->times, unet->config->channels[level], "%s.resnets.%d", path, i);
    if (attention)
      status |= add_attention(unet, path, i, level, unet->config->only_cross_attention[level]);
  }
  return status;
}

int unet_init(struct unet *unet, const struct checkpoint *checkpoint, struct error *err) {
  *unet = (struct unet){.config = &checkpoint->unet, .weights = &checkpoint->unet_weights};
  const struct unet_config *config = unet->config;
  int status = 0, last = config->levels - 1;
  char path[32];
  for (int level = 0; level <= last; level++) {
    snprintf(path, sizeof path, "down_blocks.%d", level);
    status |= add_block(unet, path, level, config->layers[level], config->down_attention[level]);
  }
  if (config->mid_block) {
    status |= add_block(unet, "mid_block", last, config->mid_attention ? 2 : 1, false);
    if (config->mid_attention)
      status |= add_attention(unet, "mid_block", 0, last, false);
  }
  for (int level = last; level >= 0; level--) {
    snprintf(path, sizeof path, "up_blocks.%d", last - level);
    status |= add_block(unet, path, level, config->layers[level] + 1, config->up_attention[level]);
  }
  if (status < 0)
    error_set(err, STATUS_FAILED, "out of memory");
  else if (unet->texts.count == 0)
    status = error_set(err, STATUS_MODEL, "%s: no block attends to the text: such models are not supported",
                       unet->weights->folder);
  if (status < 0)
    unet_finish(unet);
  return status;
}

void unet_finish(struct unet *unet) {
  slices_finish(&unet->times);
  slices_finish(&unet->texts);
}

/* --- the two stacked projections --- */

struct key {
  char text[160];
};

/* Binds name: for each slice in order, its layer's tensors of these suffixes, which share the slice's rows evenly. */
static struct tensor bind_stack(const struct net *net, const struct slices *slices, const char *name,
                                const char *const suffixes[], int suffix_count, int columns) {
  int count = slices->count * suffix_count;
  struct key *keys = malloc((size_t)count * sizeof *keys);
  struct stack_part *parts = malloc((size_t)count * sizeof *parts);
  struct tensor t = {0};
  struct error err = {0};
  if (keys && parts) {
    for (int i = 0; i < count; i++) {
      const struct slice *slice = &slices->list[i / suffix_count];
      snprintf(keys[i].text, sizeof keys[i].text, "%s.%s", slice->name, suffixes[i % suffix_count]);
      parts[i] = (struct stack_part){keys[i].text, slice->count / suffix_count};
    }
    t = checkpoint_stack(net->weights, net->plan->resources, name, parts, count, columns, &err);
  } else {
    error_set(&err, STATUS_FAILED, "out of memory");
  }
  if (!tensor_exists(t))
    net_fail(net, &err);
  free(keys);
  free(parts);
  return t;
}

void unet_times(const struct unet *unet, struct plan *plan, struct tensor table) {
  const struct unet_config *config = unet->config;
  struct net net = net_begin(plan, unet->weights);
  struct op_timestep sinusoid = {
      .y.c = config->channels[0], .cos_first = config->flip_sin_to_cos, .shift = config->freq_shift};
  struct tensor h = plan_timestep(plan, "time_proj", sinusoid);
  size_t mark = plan_enter(plan, "time_embedding");
  if (config->time_cond_proj_dim) {
    struct tensor w =
        plan_guidance_embed(plan, "guidance", (struct op_guidance_embed){.y.c = config->time_cond_proj_dim});
    h = net_linear(&net, "cond_proj", (struct op_linear){.x = w, .residual = h}, h.c, NO_BIAS);
  }
  int c = config->time_embed_dim;
  h = net_linear(&net, "linear_1", (struct op_linear){.x = h, .act = ACT_SILU}, c, WITH_BIAS);
  /* Every res block applies SiLU to the embedding before its projection: done once, here. */
  h = net_linear(&net, "linear_2", (struct op_linear){.x = h, .act = ACT_SILU}, c, WITH_BIAS);
  plan_leave(plan, mark);
  struct tensor weight =
      bind_stack(&net, &unet->times, "time_emb_proj.weight", (const char *const[]){"time_emb_proj.weight"}, 1, c);
  struct tensor bias =
      bind_stack(&net, &unet->times, "time_emb_proj.bias", (const char *const[]){"time_emb_proj.bias"}, 1, 0);
  plan_linear(plan, "time_emb_proj", (struct op_linear){.x = h, .weight = weight, .bias = bias, .y = table});
  net_end(&net);
}

struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text) {
  struct net net = net_begin(plan, unet->weights);
  struct tensor weight =
      bind_stack(&net, &unet->texts, "text_kv.weight", (const char *const[]){"to_k.weight", "to_v.weight"}, 2,
                 unet->config->cross_attention_dim);
  struct tensor y = plan_linear(plan, "text_kv", (struct op_linear){.x = text, .weight = weight});
  net_end(&net);
  return y;
}

/* --- one call --- */

struct tensor unet_predict(const struct unet *unet, struct plan *plan, struct tensor x, struct tensor time,
                           struct tensor text) {
  const struct unet_config *config = unet->config;
  struct unet_call call = {.net = net_begin(plan, unet->weights),
                           .config = config,
                           .times = &unet->times,
                           .texts = &unet->texts,
                           .time = time,
                           .text = text};
  struct skips skips = {.count = 0};
  x = net_conv(&call.net, "conv_in", (struct op_conv){.x = x}, config->channels[0], WITH_BIAS);
  skips.list[skips.count++] = x;
  for (int level = 0; level < config->levels; level++)
    x = block_down(&call, level, x, &skips);
  if (config->mid_block)
    x = block_mid(&call, x);
  for (int level = config->levels - 1; level >= 0; level--)
    x = block_up(&call, level, x, &skips);
  struct prologue norm =
      net_group_norm(&call.net, "conv_norm_out", x.c, config->norm_num_groups, config->norm_eps, ACT_SILU);
  x = net_conv(&call.net, "conv_out", (struct op_conv){.x = x, .prologue = norm}, config->out_channels, WITH_BIAS);
  net_end(&call.net);
  return x;
}
