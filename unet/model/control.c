#include "unet/model/control.h"

#include <stdio.h>

bool control_is_controlnet(const struct control *control) {
  return control->network && control->network->type == CONTROL_CONTROLNET;
}

bool control_is_pooled(const struct control *control) {
  return control_is_controlnet(control) && control->network->controlnet.pooled;
}

int control_init(struct control *control, int index, enum map_kind map, const struct control_network *network,
                 int slots, int positions, struct resources *resources, struct error *err) {
  *control = (struct control){.there = true, .index = index, .map = map, .network = network};
  if (!control_is_controlnet(control))
    return 0;
  if (unet_init_body(&control->body, &network->controlnet.body, &network->weights, err) < 0)
    return -1;
  char whose[24];
  snprintf(whose, sizeof whose, " of control %d", 1 + index);
  if (!control->body.walk.text_channels ||
      unet_add_keys(&control->body, control->keys, whose, slots, positions, resources, err) == 0)
    return 0;
  control_free(control);
  return -1;
}

void control_free(struct control *control) {
  unet_free(&control->body);
  *control = (struct control){0};
}

/* --- reading the map: ops that run once in each run --- */

/* Appends a ControlNetConditioningEmbedding (diffusers), the convolutions by which a ControlNet reads its map. */
static struct tensor read_hint(const struct net *net, const struct controlnet_config *config, struct tensor x) {
  char name[32];
  size_t mark = plan_enter(net->plan, "controlnet_cond_embedding");
  x = net_conv(net, "conv_in", (struct op_conv){.x = x, .act = ACT_SILU}, config->hint[0], WITH_BIAS);
  for (int i = 1; i < config->hint_levels; i++) {
    snprintf(name, sizeof name, "blocks.%d", 2 * i - 2);
    x = net_conv(net, name, (struct op_conv){.x = x, .act = ACT_SILU}, config->hint[i - 1], WITH_BIAS);
    snprintf(name, sizeof name, "blocks.%d", 2 * i - 1);
    x = net_conv(net, name, (struct op_conv){.x = x, .act = ACT_SILU, .stride = 2}, config->hint[i], WITH_BIAS);
  }
  x = net_conv(net, "conv_out", (struct op_conv){.x = x}, config->body.channels[0], WITH_BIAS);
  plan_leave(net->plan, mark);
  return x;
}

/* Copies x to a state of the plan (a tensor that outlives a run) and returns the state. Unlike x, it can be read
 * outside the region (ops that a run may skip) that computes x, and in runs that skip this region. `what` and `number`
 * make the state's name. */
static struct tensor keep(const struct control *control, struct plan *plan, const char *what, int number,
                          struct tensor x) {
  char name[48];
  if (plan->failed)
    return x;
  snprintf(name, sizeof name, "control %d/%s %d", 1 + control->index, what, number);
  struct tensor state = plan_state(plan, name, x.n, x.h, x.w, x.c, ELEMENT_DEVICE);
  plan_shift(plan, what, (struct op_shift){.x = x, .rows = state, .by = x.n});
  return state;
}

/* --- T2I-Adapters: diffusers' FullAdapter and FullAdapterXL --- */

static bool halves(const struct t2i_config *config, int level) {
  return config->xl ? level == 2 : level > 0;
}

static struct tensor adapter_layer(const struct net *net, int index, struct tensor x) {
  size_t mark = plan_enter(net->plan, "resnets.%d", index);
  struct tensor h = net_conv(net, "block1", (struct op_conv){.x = x, .act = ACT_RELU}, x.c, WITH_BIAS);
  h = net_linear(net, "block2", (struct op_linear){.x = h, .residual = x}, x.c, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

static struct tensor adapter_level(const struct net *net, const struct t2i_config *config, int level, struct tensor x) {
  size_t mark = plan_enter(net->plan, "body.%d", level);
  if (halves(config, level))
    x = plan_blocks(net->plan, "downsample", (struct op_blocks){.x = x, .size = 2, .mean = true});
  if (net_has(net, "in_conv"))
    x = net_linear(net, "in_conv", (struct op_linear){.x = x}, config->channels[level], WITH_BIAS);
  for (int i = 0; i < config->layers; i++)
    x = adapter_layer(net, i, x);
  plan_leave(net->plan, mark);
  return x;
}

/* Appends a T2I-Adapter, which computes features from the map. An adapter that reads one channel gets the first one: a
 * grey map has three equal channels. */
static void read_levels(const struct control *control, const struct net *net, struct tensor map,
                        struct control_features *features) {
  const struct t2i_config *config = &control->network->t2i;
  struct op_blocks op = {.x = tensor_channels(map, 0, config->in_channels), .size = config->patch};
  size_t mark = plan_enter(net->plan, "adapter");
  struct tensor x = plan_blocks(net->plan, "unshuffle", op);
  x = net_conv(net, "conv_in", (struct op_conv){.x = x}, config->channels[0], WITH_BIAS);
  for (int i = 0; i < config->levels; i++) {
    x = adapter_level(net, config, i, x);
    features->list[features->count++] = keep(control, net->plan, "level", i, x);
  }
  plan_leave(net->plan, mark);
}

struct control_features control_read_map(const struct control *control, struct plan *plan, struct tensor map) {
  struct control_features features = {.count = 0};
  if (!control->network)
    return features;
  struct net net = net_begin(plan, &control->network->weights);
  if (control_is_controlnet(control))
    features.list[features.count++] =
        keep(control, plan, "hint", 0, read_hint(&net, &control->network->controlnet, map));
  else
    read_levels(control, &net, map, &features);
  net_end(&net);
  return features;
}

void control_queue(const struct control *control, struct plan *plan, int frames, struct control_features *features) {
  for (int i = 0; i < features->count && !plan->failed; i++) {
    char name[48];
    struct tensor *x = &features->list[i];
    snprintf(name, sizeof name, "batch/control %d/%d", 1 + control->index, i);
    struct tensor rows = plan_state(plan, name, frames, x->h, x->w, x->c, ELEMENT_DEVICE);
    plan_shift(plan, name, (struct op_shift){.x = *x, .rows = rows});
    *x = rows;
  }
}

/* --- adding a control network's results to the U-Net's tensors, in each call of the U-Net --- */

static void begin_region(const struct control *control, const struct control_place *place) {
  plan_region_begin(place->plan, (struct region_when){REGION_CONTROL, control->index, place->step, place->latents});
}

/* Returns x with the picture of each latent repeated, once for each of its guidance rows (copies for several prompts).
 * If x has as many pictures already, returns x itself. */
static struct tensor for_rows(const struct control_place *place, struct tensor x) {
  int n = guidance_total(place->rows, place->latents);
  if (x.n == n)
    return x;
  struct op_unet_input op = {.x = x, .y.n = n};
  if (place->latents > 1)
    op.rows = place->rows.each, op.first = place->rows.first;
  return plan_unet_input(place->plan, "rows", op);
}

static struct op_inject injection(const struct control *control, const struct control_place *place, int index,
                                  int count) {
  struct op_inject op = {.control = control->index, .step = place->step, .index = index, .count = count};
  if (place->latents > 1)
    op.rows = place->rows.each, op.first = place->rows.first;
  return op;
}

/* Returns how many attention heads a ControlNet's blocks with this many channels have; 1: there are no such blocks.
 * Used for the attention that averages a "shuffle" ControlNet's outputs: devices have kernels for heads of the same
 * width. */
static int heads_of(const struct unet_config *body, int channels) {
  for (int i = 0; i < body->levels; i++)
    if (body->channels[i] == channels)
      return body->heads[i];
  return 1;
}

/* Returns the largest size, up to 64 pixels, of squares into which the picture x can be divided without remainder. */
static int square_of(struct tensor x) {
  int size = 64;
  while (x.h % size || x.w % size)
    size--;
  return size;
}

/* Returns a tensor of x's shape in which each pixel is the mean of the whole picture. The mean is computed as attention
 * with so small a scale that all keys have the same weight. Each key is the mean of a square block of pixels, so that
 * there are few keys. */
static struct tensor mean_of(const struct control *control, struct plan *plan, struct tensor x) {
  struct tensor squares = plan_blocks(plan, "mean", (struct op_blocks){.x = x, .size = square_of(x), .mean = true});
  int heads = heads_of(&control->network->controlnet.body, x.c);
  if (plan->failed)
    return x;
  return plan_attention(plan, "pool",
                        (struct op_attention){.q = x, .k = squares, .v = squares, .heads = heads, .scale = 1e-20f});
}

/* Appends the zero convolutions, which read a ControlNet's outputs (own, own_mid), and adds their results to the
 * U-Net's tensors at the same layers (skips, mid). */
static void inject(const struct control *control, const struct control_place *place, const struct skips *own,
                   struct tensor own_mid, const struct skips *skips, struct tensor mid) {
  struct net net = net_begin(place->plan, &control->network->weights);
  char name[48];
  if (own->count != skips->count)
    plan_fail(place->plan, "%s: the U-Net has %d skip connections, not %d", net.weights->name, skips->count,
              own->count);
  for (int i = 0; i <= own->count && !place->plan->failed; i++) {
    struct op_inject op = injection(control, place, i, own->count + 1);
    bool last = i == own->count;
    snprintf(name, sizeof name, last ? "controlnet_mid_block" : "controlnet_down_blocks.%d", i);
    op.x = last ? own_mid : own->list[i];
    op.y = last ? mid : skips->list[i];
    /* Outputs that are averaged over the picture must not be weakened by guess mode. So each gets the index of the last
     * output, whose factor in guess mode is 1 (inject_guess). */
    if (control_is_pooled(control)) {
      op.x = mean_of(control, place->plan, op.x);
      op.index = own->count;
    }
    net_inject(&net, name, op);
  }
  net_end(&net);
}

static struct tensor text_of(const struct control *control, const struct control_place *place,
                             const struct control_moment *m) {
  struct op_prompt op = m->prompt;
  char whose[32];
  snprintf(whose, sizeof whose, " of control %d", 1 + control->index);
  op.slots = m->keys;
  return tensor_exists(m->keys) ? unet_text(place->plan, whose, op) : (struct tensor){0};
}

void control_inject(const struct control *control, const struct control_place *place,
                    const struct control_features *features, const struct control_moment *moment,
                    const struct skips *skips, struct tensor mid) {
  if (!control_is_controlnet(control))
    return;
  struct skips own;
  begin_region(control, place);
  size_t mark = plan_enter(place->plan, "control %d", 1 + control->index);
  struct tensor time = unet_time_rows(place->plan, moment->times, moment->first, moment->count, place->loop);
  struct tensor hint = for_rows(place, features->list[0]), text = text_of(control, place, moment);
  plan_leave(place->plan, mark);
  struct unet_call call = unet_begin(&control->body, place->plan, time, text);
  struct tensor own_mid = unet_down(&call, place->x, hint, &own);
  plan_region_end_parallel(place->plan, place->parallel_with);
  inject(control, place, &own, own_mid, skips, mid);
  plan_region_end(place->plan);
}

/* --- adding the features of T2I-Adapters --- */

void control_add_level(const struct control *control, const struct control_place *place,
                       const struct control_features *features, const struct unet_layer *layer, struct tensor x) {
  int level = layer->level - 1;
  if (!control->network || control_is_controlnet(control) || level >= features->count)
    return;
  begin_region(control, place);
  size_t mark = plan_enter(place->plan, "control %d", 1 + control->index);
  struct op_inject op = injection(control, place, level, features->count);
  op.x = features->list[level].n == 1 ? features->list[level] : for_rows(place, features->list[level]);
  op.y = x;
  plan_inject(place->plan, "level", op);
  plan_leave(place->plan, mark);
  plan_region_end(place->plan);
}
