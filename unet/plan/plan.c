#include "unet/plan/plan.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plan_init(struct plan *plan, struct resources *resources) {
  *plan = (struct plan){.resources = resources};
}

void plan_free(struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++)
    free((char *)plan->ops[i].name);
  free(plan->ops);
  free(plan->temps);
  *plan = (struct plan){0};
}

size_t plan_enter(struct plan *plan, const char *format, ...) {
  size_t mark = strlen(plan->scope), room = sizeof plan->scope - mark;
  char name[128];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  snprintf(plan->scope + mark, room, mark ? ".%s" : "%s", name);
  return mark;
}

void plan_leave(struct plan *plan, size_t mark) {
  plan->scope[mark] = 0;
}

void plan_fail(struct plan *plan, const char *format, ...) {
  if (plan->failed)
    return;
  plan->failed = true;
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error_set(&plan->error, STATUS_MODEL, plan->scope[0] ? "%s: %s" : "%s%s", plan->scope, text);
}

static struct tensor temp_append(struct plan *plan, int n, int h, int w, int c, bool wide) {
  if (n < 1 || h < 1 || w < 1 || c < 1) {
    plan_fail(plan, "a tensor of shape [%d, %d, %d, %d]", n, h, w, c);
    return (struct tensor){0};
  }
  if (plan->temp_count == plan->temp_capacity) {
    int capacity = plan->temp_capacity ? 2 * plan->temp_capacity : 256;
    struct temp *temps = realloc(plan->temps, (size_t)capacity * sizeof *temps);
    if (!temps) {
      plan_fail(plan, "out of memory");
      return (struct tensor){0};
    }
    plan->temps = temps;
    plan->temp_capacity = capacity;
  }
  plan->temps[plan->temp_count] = (struct temp){n, h, w, c, wide, -1, -1};
  return (struct tensor){TENSOR_TEMP, plan->temp_count++, n, h, w, c, 0, c};
}

static void op_append(struct plan *plan, const char *name, struct op op) {
  if (plan->failed)
    return;
  if (plan->op_count == plan->op_capacity) {
    int capacity = plan->op_capacity ? 2 * plan->op_capacity : 256;
    struct op *ops = realloc(plan->ops, (size_t)capacity * sizeof *ops);
    if (!ops) {
      plan_fail(plan, "out of memory");
      return;
    }
    plan->ops = ops;
    plan->op_capacity = capacity;
  }
  char full[sizeof plan->scope + 128];
  snprintf(full, sizeof full, "%s%s%s", plan->scope, plan->scope[0] && name[0] ? "." : "", name);
  op.name = strdup(full);
  if (!op.name) {
    plan_fail(plan, "out of memory");
    return;
  }
  plan->ops[plan->op_count++] = op;
}

/* Checks shared by the append functions: what was wrong becomes the plan's error. */
static bool is_whole(struct tensor t) {
  return t.offset == 0 && t.pitch == t.c;
}

static bool same_shape(struct tensor a, struct tensor b) {
  return a.n == b.n && a.h == b.h && a.w == b.w && a.c == b.c;
}

static bool is_vector(struct tensor t, int c) {
  return !tensor_exists(t) || (t.n == 1 && t.h == 1 && t.w == 1 && t.c == c);
}

static bool check(struct plan *plan, const char *name, bool right, const char *what) {
  if (!right)
    plan_fail(plan, "%s: %s", name, what);
  return right && !plan->failed;
}

static bool check_inputs(struct plan *plan, const char *name, struct tensor x, struct tensor x2) {
  return check(plan, name, tensor_exists(x) && is_whole(x), "the input is missing or a slice") &&
         check(plan, name, !tensor_exists(x2) || (is_whole(x2) && x.n == x2.n && x.h == x2.h && x.w == x2.w),
               "the second input's size differs from the first's");
}

static bool check_prologue(struct plan *plan, const char *name, const struct prologue *p, int c) {
  return check(plan, name, p->norm != NORM_GROUP || (p->groups > 0 && c % p->groups == 0),
               "the norm's groups do not divide the channels") &&
         check(plan, name, is_vector(p->gamma, c) && is_vector(p->beta, c),
               "the norm's weights do not match the channels") &&
         check(plan, name, p->act != ACT_GEGLU, "GEGLU cannot be applied to an input");
}

struct tensor plan_conv(struct plan *plan, const char *name, struct op_conv op) {
  struct tensor w = op.weight;
  int c = op.x.c + op.x2.c, k = w.h, h = op.x.h << op.upsample, width = op.x.w << op.upsample;
  bool right = check_inputs(plan, name, op.x, op.x2) && check_prologue(plan, name, &op.prologue, c) &&
               check(plan, name, tensor_exists(w) && w.c == c, "the weight's input channels do not match the input") &&
               check(plan, name, w.h == w.w && (k == 1 || k == 3), "only 1x1 and 3x3 kernels are supported") &&
               check(plan, name, op.stride == 1 || op.stride == 2, "only strides 1 and 2 are supported") &&
               check(plan, name, !op.pad_end_only || op.pad == 0, "padding at the end only excludes other padding") &&
               check(plan, name, is_vector(op.bias, w.n) && is_vector(op.time, w.n),
                     "bias or time row does not match the output channels") &&
               check(plan, name, op.act != ACT_GEGLU, "GEGLU belongs to linear layers");
  if (!right)
    return (struct tensor){0};
  int border = op.pad_end_only ? 1 : 2 * op.pad;
  op.y = temp_append(plan, op.x.n, (h + border - k) / op.stride + 1, (width + border - k) / op.stride + 1, w.n, false);
  check(plan, name, !tensor_exists(op.residual) || (is_whole(op.residual) && same_shape(op.residual, op.y)),
        "the residual's shape differs from the output's");
  op_append(plan, name, (struct op){.type = OP_CONV, .conv = op});
  return op.y;
}

static bool check_linear(struct plan *plan, const char *name, const struct op_linear *op) {
  int c = op->x.c + op->x2.c;
  return check_inputs(plan, name, op->x, op->x2) && check_prologue(plan, name, &op->prologue, c) &&
         check(plan, name, tensor_exists(op->weight) && op->weight.c == c && op->weight.h == 1 && op->weight.w == 1,
               "the weight's input features do not match the input") &&
         check(plan, name, is_vector(op->bias, op->weight.n), "the bias does not match the output features") &&
         check(plan, name, op->act != ACT_GEGLU || op->weight.n % 2 == 0, "GEGLU needs an even number of features");
}

struct tensor plan_linear(struct plan *plan, const char *name, struct op_linear op) {
  if (!check_linear(plan, name, &op))
    return (struct tensor){0};
  int features = op.act == ACT_GEGLU ? op.weight.n / 2 : op.weight.n;
  op.y = temp_append(plan, op.x.n, op.x.h, op.x.w, features, false);
  check(plan, name, !tensor_exists(op.residual) || (is_whole(op.residual) && same_shape(op.residual, op.y)),
        "the residual's shape differs from the output's");
  op_append(plan, name, (struct op){.type = OP_LINEAR, .linear = op});
  return op.y;
}

void plan_linear_into(struct plan *plan, const char *name, struct op_linear op, struct tensor y) {
  if (!check_linear(plan, name, &op) ||
      !check(plan, name, is_whole(y) && tensor_rows(y) == tensor_rows(op.x) && y.c == op.weight.n,
             "the destination's shape differs from the output's"))
    return;
  op.y = y;
  op_append(plan, name, (struct op){.type = OP_LINEAR, .linear = op});
}

struct tensor plan_norm(struct plan *plan, const char *name, struct op_norm op) {
  if (!check_inputs(plan, name, op.x, (struct tensor){0}) || !check_prologue(plan, name, &op.prologue, op.x.c))
    return (struct tensor){0};
  op.y = temp_append(plan, op.x.n, op.x.h, op.x.w, op.x.c, false);
  op_append(plan, name, (struct op){.type = OP_NORM, .norm = op});
  return op.y;
}

struct tensor plan_attention(struct plan *plan, const char *name, struct op_attention op) {
  bool right =
      check(plan, name, op.heads > 0 && op.q.c % op.heads == 0, "the heads do not divide the channels") &&
      check(plan, name, op.k.c == op.q.c && op.v.c == op.q.c, "q, k and v differ in channels") &&
      check(plan, name, op.k.h * op.k.w == op.v.h * op.v.w, "k and v differ in length") &&
      check(plan, name, op.k.n == op.v.n && (op.k.n == 1 || op.k.n == op.q.n), "k and v do not match q's rows");
  if (!right)
    return (struct tensor){0};
  op.y = temp_append(plan, op.q.n, op.q.h, op.q.w, op.q.c, false);
  op_append(plan, name, (struct op){.type = OP_ATTENTION, .attention = op});
  return op.y;
}

struct tensor plan_embed(struct plan *plan, const char *name, struct op_embed op) {
  if (!check(plan, name, op.position.n <= TOKENS_MAX, "more text positions than are supported") ||
      !check(plan, name, op.token.c == op.position.c, "token and position embeddings differ in width"))
    return (struct tensor){0};
  op.y = temp_append(plan, 1, 1, op.position.n, op.position.c, false);
  op_append(plan, name, (struct op){.type = OP_EMBED, .embed = op});
  return op.y;
}

struct tensor plan_timestep(struct plan *plan, const char *name, struct op_timestep op, int c) {
  if (!check(plan, name, c > 0 && c % 2 == 0, "the embedding's width is odd"))
    return (struct tensor){0};
  op.y = temp_append(plan, TIMESTEPS, 1, 1, c, false);
  op_append(plan, name, (struct op){.type = OP_TIMESTEP, .timestep = op});
  return op.y;
}

struct tensor plan_guidance_embed(struct plan *plan, const char *name, int c) {
  if (!check(plan, name, c > 2 && c % 2 == 0, "the embedding's width is odd"))
    return (struct tensor){0};
  struct op_guidance_embed op = {.y = temp_append(plan, TIMESTEPS, 1, 1, c, false)};
  op_append(plan, name, (struct op){.type = OP_GUIDANCE_EMBED, .guidance_embed = op});
  return op.y;
}

/* --- the loop --- */

static bool loop_is_open(const struct plan *plan) {
  return plan->loop.rounds > 0 && plan->loop.end == 0;
}

void plan_loop_begin(struct plan *plan, int rounds) {
  if (check(plan, "loop", plan->loop.rounds == 0, "a plan has one loop at most") &&
      check(plan, "loop", rounds >= 1 && rounds <= STEPS_MAX, "no such number of rounds"))
    plan->loop = (struct loop){.first = plan->op_count, .rounds = rounds};
}

void plan_loop_end(struct plan *plan) {
  int count = plan->op_count;
  if (check(plan, "loop", loop_is_open(plan), "its end has no beginning") &&
      check(plan, "loop", count > plan->loop.first && plan->ops[count - 1].type == OP_STEP, "ends with no step"))
    plan->loop.end = count;
}

int plan_op_runs(const struct plan *plan, int op) {
  return op >= plan->loop.first && op < plan->loop.end ? plan->loop.rounds : 1;
}

/* Whether there are steps enough for an op appended now. */
static bool has_steps(const struct plan *plan, int step) {
  return step >= 0 && step + (loop_is_open(plan) ? plan->loop.rounds : 1) <= STEPS_MAX;
}

struct tensor plan_time_row(struct plan *plan, const char *name, struct op_time_row op) {
  if (!check(plan, name, has_steps(plan, op.step) && op.table.n == TIMESTEPS, "no such step or table"))
    return (struct tensor){0};
  op.y = temp_append(plan, 1, 1, 1, op.table.c, false);
  op_append(plan, name, (struct op){.type = OP_TIME_ROW, .time_row = op});
  return op.y;
}

void plan_store_slot(struct plan *plan, const char *name, struct op_store_slot op) {
  if (check(plan, name, is_whole(op.x) && op.x.n == 1 && op.x.w == op.slots.w && op.x.c == op.slots.c,
            "the prompt's shape differs from the slots'"))
    op_append(plan, name, (struct op){.type = OP_STORE_SLOT, .store_slot = op});
}

struct tensor plan_prompt(struct plan *plan, const char *name, struct op_prompt op, int rows) {
  if (!check(plan, name, rows >= 1 && rows <= GUIDANCE_ROWS_MAX, "too many guidance rows"))
    return (struct tensor){0};
  op.y = temp_append(plan, rows, 1, op.slots.w, op.slots.c, false);
  op_append(plan, name, (struct op){.type = OP_PROMPT, .prompt = op});
  return op.y;
}

static bool check_noise(struct plan *plan, const char *name, struct tensor x, struct tensor noise) {
  return check(plan, name, noise.h == x.h && noise.w == x.w && noise.c == x.c, "the noise's shape is not the latent's");
}

struct tensor plan_start(struct plan *plan, const char *name, struct op_start op) {
  struct tensor n = op.noise;
  if (!check(plan, name, tensor_exists(n), "there is no noise") ||
      (tensor_exists(op.z) && !check_noise(plan, name, op.z, n)))
    return (struct tensor){0};
  op.y = temp_append(plan, 1, n.h, n.w, n.c, true);
  op_append(plan, name, (struct op){.type = OP_START, .start = op});
  return op.y;
}

struct tensor plan_unet_input(struct plan *plan, const char *name, struct op_unet_input op, int rows) {
  struct tensor image = op.image;
  if (!check(plan, name, rows >= 1 && rows <= GUIDANCE_ROWS_MAX, "too many guidance rows") ||
      !check(plan, name, !tensor_exists(image) || (image.n == 1 && image.h == op.x.h && image.w == op.x.w),
             "the image latent's size differs from the noisy latent's"))
    return (struct tensor){0};
  op.y = temp_append(plan, rows, op.x.h, op.x.w, op.x.c + image.c, false);
  op_append(plan, name, (struct op){.type = OP_UNET_INPUT, .unet_input = op});
  return op.y;
}

void plan_step(struct plan *plan, const char *name, struct op_step op) {
  struct tensor m = op.model;
  int most = tensor_exists(op.noise) ? op.noise.n : STEPS_MAX;
  if (check(plan, name, has_steps(plan, op.step) && op.step < most, "no such step") &&
      (!tensor_exists(op.noise) || check_noise(plan, name, op.x, op.noise)) &&
      check(plan, name, m.h == op.x.h && m.w == op.x.w && m.c == op.x.c && m.n <= GUIDANCE_ROWS_MAX,
            "the U-Net's output does not have the latent's shape"))
    op_append(plan, name, (struct op){.type = OP_STEP, .step = op});
}

struct tensor plan_pixels_in(struct plan *plan, const char *name, struct op_pixels_in op, int h, int w) {
  op.y = temp_append(plan, 1, h, w, 3, false);
  op_append(plan, name, (struct op){.type = OP_PIXELS_IN, .pixels_in = op});
  return op.y;
}

void plan_pixels_out(struct plan *plan, const char *name, struct op_pixels_out op) {
  if (check(plan, name, op.x.n == 1 && op.x.c == 3, "the picture does not have three channels") &&
      check(plan, name, !tensor_exists(op.input) || same_shape(op.input, op.x), "input and output sizes differ"))
    op_append(plan, name, (struct op){.type = OP_PIXELS_OUT, .pixels_out = op});
}

struct tensor plan_input(struct plan *plan, int n, int h, int w, int c, bool wide) {
  return temp_append(plan, n, h, w, c, wide);
}

/* What an op reads that none before it wrote is an input. */
static void settle_lifetimes(struct plan *plan) {
  struct tensor list[OP_READS_MAX];
  for (int i = 0; i < plan->op_count; i++) {
    int reads = op_reads(&plan->ops[i], list);
    for (int j = 0; j < reads; j++)
      if (list[j].space == TENSOR_TEMP)
        plan->temps[list[j].index].last = i;
    int writes = op_writes(&plan->ops[i], list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMP && plan->temps[list[j].index].first < 0 && plan->temps[list[j].index].last < 0)
        plan->temps[list[j].index].first = i;
  }
  const struct loop *loop = &plan->loop;
  for (int i = 0; i < plan->temp_count; i++) {
    struct temp *t = &plan->temps[i];
    if (t->first < 0 || t->last < 0) /* inputs and results of tests live throughout */
      t->first = 0, t->last = plan->op_count - 1;
    else if (t->first < loop->first && t->last >= loop->first && t->last < loop->end) /* the next round reads it too */
      t->last = loop->end - 1;
  }
}

int plan_finish(struct plan *plan, struct error *err) {
  check(plan, "loop", !loop_is_open(plan), "it has no end");
  if (plan->failed) {
    *err = plan->error;
    return -1;
  }
  settle_lifetimes(plan);
  plan->finished = true;
  return 0;
}

struct placed {
  int temp;
  size_t size;
};

static int larger_first(const void *a, const void *b) {
  const struct placed *p = a, *q = b;
  if (p->size != q->size)
    return p->size < q->size ? 1 : -1;
  return p->temp - q->temp; /* the same layout every time */
}

/* The lowest offset at which temp i fits beside those already placed whose lifetimes touch its own. */
static size_t lowest_gap(const struct plan *plan, const struct placed *placed, int count, size_t size,
                         const size_t *offset) {
  const struct temp *t = &plan->temps[placed[count].temp];
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int j = 0; j < count; j++) {
      const struct temp *u = &plan->temps[placed[j].temp];
      size_t start = offset[placed[j].temp], end = start + placed[j].size;
      if (u->first <= t->last && t->first <= u->last && at < end && start < at + size) {
        at = end;
        moved = true;
      }
    }
  }
  return at;
}

size_t plan_layout(const struct plan *plan, size_t narrow_size, size_t align, size_t *offset) {
  struct placed *placed = malloc(((size_t)plan->temp_count + 1) * sizeof *placed);
  if (!placed)
    return SIZE_MAX;
  for (int i = 0; i < plan->temp_count; i++) {
    const struct temp *t = &plan->temps[i];
    size_t bytes = (size_t)t->n * (size_t)t->h * (size_t)t->w * (size_t)t->c * (t->wide ? 4 : narrow_size);
    placed[i] = (struct placed){i, (bytes + align - 1) / align * align};
  }
  qsort(placed, (size_t)plan->temp_count, sizeof *placed, larger_first);
  size_t total = 0;
  for (int i = 0; i < plan->temp_count; i++) {
    size_t at = lowest_gap(plan, placed, i, placed[i].size, offset);
    offset[placed[i].temp] = at;
    if (at + placed[i].size > total)
      total = at + placed[i].size;
  }
  free(placed);
  return total;
}
