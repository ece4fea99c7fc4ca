#include "unet/model/models.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int unet_init(struct unet *unet, const struct predictor *predictor, struct error *err) {
  *unet = (struct unet){.config = &predictor->config, .weights = &predictor->weights};
  if (walk_init(&unet->walk, unet->config, UNET_UP) < 0)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (unet->walk.text_channels)
    return 0;
  unet_free(unet);
  return error_set(err, STATUS_MODEL, "%s: no block attends to the text: such models are not supported",
                   unet->weights->folder);
}

int unet_init_body(struct unet *unet, const struct unet_config *config, const struct component *weights,
                   struct error *err) {
  *unet = (struct unet){.config = config, .weights = weights};
  return walk_init(&unet->walk, config, UNET_MID) < 0 ? error_set(err, STATUS_FAILED, "out of memory") : 0;
}

void unet_free(struct unet *unet) {
  walk_free(&unet->walk);
}

/* --- projections of all layers, stacked into one: of the time embedding, and of the text to keys and values --- */

/* A list of tensors in the checkpoint that are stacked, row after row, into one weight. */
struct stack {
  struct key {
    char text[160];
  } * keys;
  struct stack_part *parts;
  int count;
};

PRINTF_LIKE(3, 4) static void stack_add(struct stack *stack, int rows, const char *format, ...) {
  char *text = stack->keys[stack->count].text;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof stack->keys->text, format, args);
  va_end(args);
  stack->parts[stack->count++] = (struct stack_part){.name = text, .rows = rows};
}

/* Fills *stack with the weights (suffix "weight") or biases (suffix "bias") of all residual blocks' time projections,
 * which are computed as one product. */
static void stack_times(struct stack *stack, const struct walk *walk, const char *suffix) {
  for (int i = 0; i < walk->count; i++)
    if (walk->layers[i].kind == LAYER_RES)
      stack_add(stack, walk->layers[i].out, "%s.time_emb_proj.%s", walk->layers[i].name, suffix);
}

/* Lists the weights that compute the keys and values of all attention to the text. */
static void stack_texts(struct stack *stack, const struct walk *walk, const char *suffix) {
  for (int i = 0; i < walk->count; i++) {
    const struct unet_layer *layer = &walk->layers[i];
    for (int k = 0; k < walk_texts(layer); k++) {
      char name[112];
      walk_text_name(layer, k, name, sizeof name);
      stack_add(stack, layer->out, "%s.to_k.%s", name, suffix);
      stack_add(stack, layer->out, "%s.to_v.%s", name, suffix);
    }
  }
}

static int stack_capacity(const struct walk *walk) {
  int count = 0;
  for (int i = 0; i < walk->count; i++)
    count += 1 + 2 * walk_texts(&walk->layers[i]);
  return count;
}

/* Returns the weight name.suffix, stacked from the tensors that the function `fill` lists. */
static struct tensor bind_stack(const struct net *net, const struct walk *walk, const char *name, const char *suffix,
                                void (*fill)(struct stack *, const struct walk *, const char *), int columns) {
  size_t capacity = (size_t)stack_capacity(walk);
  struct stack stack = {.keys = malloc(capacity * sizeof *stack.keys), .parts = malloc(capacity * sizeof *stack.parts)};
  struct tensor t = {0};
  struct error err = {0};
  if (stack.keys && stack.parts) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, suffix);
    fill(&stack, walk, suffix);
    t = checkpoint_stack(net->weights, net->plan->resources, full, stack.parts, stack.count, columns, &err);
  } else {
    error_set(&err, STATUS_FAILED, "out of memory");
  }
  if (!tensor_exists(t))
    net_fail(net, &err);
  free(stack.keys);
  free(stack.parts);
  return t;
}

static struct tensor sinusoids(const struct net *net, const struct unet_config *config, const char *name,
                               struct op_timestep op) {
  op.cos_first = config->flip_sin_to_cos;
  op.shift = config->freq_shift;
  return plan_timestep(net->plan, name, op);
}

/* Appends the timesteps' embedding, followed by the activation `act`. */
static struct tensor embed_times(const struct net *net, const struct unet_config *config, const struct unet_moments *of,
                                 enum activation act) {
  struct plan *plan = net->plan;
  int n = guidance_total(of->rows, of->steps), c = config->time_embed_dim;
  struct op_timestep op = {.y = {.n = n, .c = config->channels[0]}, .rows = of->rows.each, .first = of->rows.first};
  struct tensor h = sinusoids(net, config, "time_proj", op);
  size_t mark = plan_enter(plan, "time_embedding");
  if (config->time_cond_proj_dim) {
    struct tensor w = plan_guidance_embed(plan, "guidance",
                                          (struct op_guidance_embed){.y = {.n = n, .c = config->time_cond_proj_dim}});
    h = net_linear(net, "cond_proj", (struct op_linear){.x = w, .residual = h}, h.c, NO_BIAS);
  }
  h = net_linear(net, "linear_1", (struct op_linear){.x = h, .act = ACT_SILU}, c, WITH_BIAS);
  h = net_linear(net, "linear_2", (struct op_linear){.x = h, .act = act}, c, WITH_BIAS);
  plan_leave(plan, mark);
  return h;
}

/* Appends the embedding of the pooled text and the picture's sizes (SDXL), and returns h + this embedding. */
static struct tensor add_embedding(const struct net *net, const struct unet_config *config,
                                   const struct unet_moments *of, struct tensor h) {
  struct op_timestep op = {.y = {.n = guidance_total(of->rows, of->steps), .c = SIZES * config->added_size_dim},
                           .values = SIZES};
  memcpy(op.value, of->sizes, sizeof op.value);
  struct tensor sizes = sinusoids(net, config, "add_time_proj", op);
  size_t mark = plan_enter(net->plan, "add_embedding");
  struct op_linear first = {.x = of->pooled, .x2 = sizes, .act = ACT_SILU};
  struct tensor x = net_linear(net, "linear_1", first, config->time_embed_dim, WITH_BIAS);
  h = net_linear(net, "linear_2", (struct op_linear){.x = x, .residual = h}, config->time_embed_dim, WITH_BIAS);
  plan_leave(net->plan, mark);
  return h;
}

struct tensor unet_times(const struct unet *unet, struct plan *plan, const struct unet_moments *of, struct tensor y) {
  const struct unet_config *config = unet->config;
  struct net net = net_begin(plan, unet->weights);
  bool added = config->added_text_dim;
  /* In diffusers each residual block applies SiLU to the time embedding before its time projection. Here SiLU is
   * applied once for all blocks. */
  struct tensor h = embed_times(&net, config, of, added ? ACT_NONE : ACT_SILU);
  struct prologue before = {.act = added ? ACT_SILU : ACT_NONE};
  if (added)
    h = add_embedding(&net, config, of, h);
  struct tensor weight = bind_stack(&net, &unet->walk, "time_emb_proj", "weight", stack_times, config->time_embed_dim);
  struct tensor bias = bind_stack(&net, &unet->walk, "time_emb_proj", "bias", stack_times, 0);
  struct op_linear op = {.x = h, .prologue = before, .weight = weight, .bias = bias, .y = y};
  y = plan_linear(plan, "time_emb_proj", op);
  net_end(&net);
  return y;
}

struct tensor unet_texts(const struct unet *unet, struct plan *plan, struct tensor text, struct tensor text2) {
  struct net net = net_begin(plan, unet->weights);
  struct tensor weight =
      bind_stack(&net, &unet->walk, "text_kv", "weight", stack_texts, unet->config->cross_attention_dim);
  struct tensor y = plan_linear(plan, "text_kv", (struct op_linear){.x = text, .x2 = text2, .weight = weight});
  net_end(&net);
  return y;
}

int unet_add_keys(const struct unet *unet, struct tensor keys[PROMPT_CHUNKS_MAX], const char *whose, int slots,
                  int positions, struct resources *resources, struct error *err) {
  for (int chunks = 1; chunks <= PROMPT_CHUNKS_MAX; chunks++) {
    char name[64];
    snprintf(name, sizeof name, "prompt keys and values%s, %d chunk%s", whose, chunks, chunks == 1 ? "" : "s");
    keys[chunks - 1] =
        resources_state(resources, name, slots * chunks, 1, positions, unet->walk.text_channels, ELEMENT_DEVICE, err);
    if (!tensor_exists(keys[chunks - 1]))
      return -1;
  }
  return 0;
}

/* --- one call of the U-Net --- */

struct tensor unet_time_rows(struct plan *plan, struct tensor table, int first, int rows, bool loop) {
  return loop ? plan_time_row(plan, "time", (struct op_time_row){.step = first / rows, .table = table, .y.n = rows})
              : tensor_rows_of(table, first, rows);
}

struct tensor unet_text(struct plan *plan, const char *whose, struct op_prompt op) {
  char name[64], note[80];
  const struct guidance_rows rows = guidance_rows(op.first, op.rows, op.y.n);
  snprintf(name, sizeof name, "text%s, %d rows (%d, then %d each)", whose, op.y.n, rows.first, rows.each);
  snprintf(note, sizeof note, "note of %s", name);
  op.y = plan_state(plan, name, op.y.n, 1, op.slots.w, op.slots.c, ELEMENT_DEVICE);
  op.note = plan_state(plan, note, 1, 1, 1, PROMPT_NOTE_VALUES, ELEMENT_WHOLE);
  return plan_prompt(plan, "prompt", op);
}

struct unet_call unet_begin(const struct unet *unet, struct plan *plan, struct tensor time, struct tensor text) {
  return (struct unet_call){.net = {.plan = plan, .weights = unet->weights},
                            .config = unet->config,
                            .walk = &unet->walk,
                            .time = time,
                            .text = text};
}

struct tensor unet_down(struct unet_call *call, struct tensor x, struct tensor hint, struct skips *skips) {
  call->net = net_begin(call->net.plan, call->net.weights);
  struct op_conv op = {.x = x, .residual = hint};
  skips->count = 0;
  x = net_conv(&call->net, "conv_in", op, call->config->channels[0], WITH_BIAS);
  skips->list[skips->count++] = x;
  for (int i = 0; i < call->walk->count && call->walk->layers[i].part != UNET_UP; i++) {
    x = block_layer(call, &call->walk->layers[i], x, skips);
    if (call->behind)
      call->behind(call->opaque, &call->walk->layers[i], x);
  }
  net_end(&call->net);
  return x;
}

struct tensor unet_up(struct unet_call *call, struct tensor x, struct skips *skips) {
  const struct unet_config *config = call->config;
  call->net = net_begin(call->net.plan, call->net.weights);
  for (int i = 0; i < call->walk->count; i++)
    if (call->walk->layers[i].part == UNET_UP)
      x = block_layer(call, &call->walk->layers[i], x, skips);
  struct prologue norm =
      net_group_norm(&call->net, "conv_norm_out", x.c, config->norm_num_groups, config->norm_eps, ACT_SILU);
  x = net_conv(&call->net, "conv_out", (struct op_conv){.x = x, .prologue = norm}, config->out_channels, WITH_BIAS);
  net_end(&call->net);
  return x;
}
