/* The definition of OP_FLOW (unet/plan/op_motion.h). It chooses each block's motion vector, finds cuts, and finds which
 * blocks were visible in the last frame: the vectors from this frame to the last one are compared with those back. */
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_motion.h"

#include <string.h>

/* Returns the sum of absolute differences between the two frames over 8x8 pixels of level 1 (half size) around block
 * (x, y), if the block moves by this vector. */
static int define_cost(const struct direction *d, int x, int y, int vy, int vx) {
  int w = d->size.w[1], h = d->size.h[1], now[64], last[64], all_now = 0, all_last = 0, sum = 0;
  for (int i = 0; i < 64; i++) {
    int u = 4 * x - 2 + i % 8, v = 4 * y - 2 + i / 8;
    now[i] = motion_pixel(d->now, w, h, u, v);
    last[i] = motion_sample(d->last, w, h, 512 * u + vx, 512 * v + vy);
    all_now += motion_abs(now[i]), all_last += motion_abs(last[i]);
  }
  int gain = motion_gain(all_now, all_last);
  for (int i = 0; i < 64; i++)
    sum += motion_difference(now[i], last[i], gain);
  return sum;
}

/* Returns true if the 8x8 pixels that begin at this position, and their neighbours to the right and below, lie within
 * level 1 of the pyramid. */
static bool is_within(const struct direction *d, int left, int top) {
  return left >= 0 && top >= 0 && left + 8 < d->size.w[1] && top + 8 < d->size.h[1];
}

static int cost(const struct direction *d, int x, int y, int vy, int vx) {
  int left = 4 * x - 2, top = 4 * y - 2;
  bool within = is_within(d, left, top) && is_within(d, (512 * left + vx) >> 9, (512 * top + vy) >> 9);
  return d->kernels && within ? d->kernels->cost(d, x, y, vy, vx) : define_cost(d, x, y, vy, vx);
}

/* Returns true if the block's match can be trusted: its weight is high enough, and enough of the blocks around it were
 * matched with similar vectors. */
static bool is_trusted(const struct direction *d, int x, int y) {
  const int32_t *own = d->match + MATCH_VALUES * (y * d->size.w[3] + x);
  int support = 0;
  for (int v = y - 1; v <= y + 1; v++)
    for (int u = x - 1; u <= x + 1; u++) {
      const int32_t *other = d->match + MATCH_VALUES * (v * d->size.w[3] + u);
      bool there = u >= 0 && v >= 0 && u < d->size.w[3] && v < d->size.h[3] && (u != x || v != y);
      support += there && motion_is_near(own[0], own[1], other[0], other[1]);
    }
  return support >= MOTION_SUPPORT && own[2] >= MOTION_WEIGHT / 2;
}

/* Chooses one of three vectors for a block: the whole picture's motion at this block, no motion, or the block's own
 * match. */
static void choose(const struct direction *d, int x, int y) {
  int at = y * d->size.w[3] + x, u = motion_place(x, d->size.w[0]), v = motion_place(y, d->size.h[0]);
  const int32_t *match = d->match + MATCH_VALUES * at;
  int vy = motion_model_y(&d->model, u, v), vx = motion_model_x(&d->model, u, v), best = cost(d, x, y, vy, vx);
  if (!motion_is_still(&d->model)) {
    int still = cost(d, x, y, 0, 0);
    if (motion_is_clear(still, best))
      best = still, vy = vx = 0;
  }
  if (is_trusted(d, x, y) && motion_is_clear(cost(d, x, y, match[0], match[1]), best))
    vy = match[0], vx = match[1];
  d->vector[2 * at] = vy, d->vector[2 * at + 1] = vx;
}

static void choose_all(const struct direction *d) {
#pragma omp parallel for
  for (int y = 0; y < d->size.h[3]; y++)
    for (int x = 0; x < d->size.w[3]; x++)
      choose(d, x, y);
}

/* --- deciding whether the scene has changed (a cut) --- */

/* Compares the pixels of group (x, y) of blocks with the last frame's pixels, displaced by (vy, vx). Returns the sums
 * from which it is judged how alike they are. */
static struct motion_likeness compare(const struct direction *d, int x, int y, int vy, int vx) {
  enum { SIDE = 4 * MOTION_GROUP };
  int w = d->size.w[1], h = d->size.h[1];
  struct motion_likeness s = {0};
  for (int v = SIDE * y; v < SIDE * y + SIDE && v < h; v++)
    for (int u = SIDE * x; u < SIDE * x + SIDE && u < w; u++) {
      int now = d->now[v * w + u], nearest = motion_pixel(d->last, w, h, u + ((vx + 256) >> 9), v + ((vy + 256) >> 9));
      if (!(now & 1) && !(nearest & 1))
        motion_compare(&s, now, motion_sample(d->last, w, h, 512 * u + vx, 512 * v + vy));
    }
  return s;
}

/* Returns the match with the highest weight, that is, the most certain one, among the blocks of a group. */
static const int32_t *heaviest(const struct direction *d, int x, int y) {
  const int32_t *best = NULL;
  for (int v = MOTION_GROUP * y; v < MOTION_GROUP * y + MOTION_GROUP && v < d->size.h[3]; v++)
    for (int u = MOTION_GROUP * x; u < MOTION_GROUP * x + MOTION_GROUP && u < d->size.w[3]; u++) {
      const int32_t *match = d->match + MATCH_VALUES * (v * d->size.w[3] + u);
      best = !best || match[2] > best[2] ? match : best;
    }
  return best;
}

/* Counts group (x, y) of blocks in *t, from which cuts are found. The group counts as alike in both frames if it is
 * alike at one of three displacements: none, the motion of the whole picture, or the match with the highest weight. */
static void tally(const struct direction *d, int x, int y, struct motion_tally *t) {
  const int32_t *match = heaviest(d, x, y);
  int middle = MOTION_GROUP * 2 * MOTION_BLOCK, u = middle * x + middle / 2 - d->size.w[0],
      v = middle * y + middle / 2 - d->size.h[0];
  struct motion_likeness s = compare(d, x, y, 0, 0);
  bool now = motion_has_texture(s.now), both = now && motion_has_texture(s.last), alike = motion_is_alike(&s);
  s = compare(d, x, y, motion_model_y(&d->model, u, v), motion_model_x(&d->model, u, v));
  alike = alike || motion_is_alike(&s);
  s = compare(d, x, y, match[0], match[1]);
  alike = alike || motion_is_alike(&s);
  t->groups++;
  t->now += now, t->both += both, t->alike += both && alike;
}

static struct motion_tally tally_all(const struct direction *d) {
  struct motion_tally t = {0};
  for (int y = 0; y < motion_groups(d->size.h[3]); y++)
    for (int x = 0; x < motion_groups(d->size.w[3]); x++)
      tally(d, x, y, &t);
  return t;
}

/* --- writing the op's results --- */

/* What a run of OP_FLOW has found out about the frame. The values that the op writes depend on it. */
struct outcome {
  bool cut, blank; /* cut: the last frame shows another scene, or there is none; blank: this frame has no texture */
  bool past;       /* true: the state `last` has the pyramid of an earlier frame; false: it has none yet */
};

static void put_global(int32_t *global, const struct motion_model *m, struct outcome o) {
  bool known = !o.cut && !o.blank;
  global[GLOBAL_CUT] = o.cut;
  global[GLOBAL_A] = MOTION_ONE + (known ? m->a : 0);
  global[GLOBAL_B] = known ? m->b : 0;
  global[GLOBAL_Y] = known ? m->ty : 0;
  global[GLOBAL_X] = known ? m->tx : 0;
  global[GLOBAL_BLANK] = motion_blank(o.blank, o.past, global[GLOBAL_BLANK]);
}

/* Writes one cell of the tensors `flow` and `visible`. forward: the vectors of all blocks from this frame to the last
 * one; backward: those from the last frame to this one. */
static void put_cell(const struct op_flow *op, const struct motion_size *s, const int32_t *forward,
                     const int32_t *backward, struct outcome o, int32_t *flow, int32_t *visible, int cell) {
  int x = (cell % op->flow.w * op->cell + op->cell / 2) / MOTION_BLOCK;
  int y = (cell / op->flow.w * op->cell + op->cell / 2) / MOTION_BLOCK, at = y * s->w[3] + x;
  bool known = !o.cut && !o.blank;
  int origin = motion_origin(s, x, y, forward[2 * at], forward[2 * at + 1]);
  bool seen = origin >= 0 &&
              motion_agrees(forward[2 * at], forward[2 * at + 1], backward[2 * origin], backward[2 * origin + 1]);
  for (int i = 0; i < 2; i++)
    flow[2 * cell + i] = known ? forward[2 * at + i] : 0;
  visible[cell] = known ? seen : o.blank && !o.cut;
}

int cpu_flow_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_flow *op = &node->op->flow;
  const struct motion_size s = motion_size(op->w, op->h);
  (void)err;
  cpu_reserve(program, 4 * (size_t)motion_pixels(&s, 3) * sizeof(int32_t));
  return 0;
}

void cpu_flow_run(const struct cpu_run *run, const struct cpu_node *node, const struct cpu_kernels *kernels) {
  const struct cpu_program *p = run->program;
  const struct op_flow *op = &node->op->flow;
  const struct motion_size s = motion_size(op->w, op->h);
  const int32_t *fit = cpu_data(p, op->fit), *now = cpu_data(p, op->now), *match = cpu_data(p, op->match);
  int32_t *last = cpu_data(p, op->last), *vectors = p->scratch, blocks = motion_pixels(&s, 3);
  const struct direction forward = {s, now, last, match, {fit[0], fit[1], fit[2], fit[3]}, vectors, kernels};
  const struct direction backward = {
      s, last, now, match + MATCH_VALUES * blocks, motion_inverse(&forward.model), vectors + 2 * blocks, kernels};
  choose_all(&forward);
  choose_all(&backward);
  struct motion_tally t = tally_all(&forward);
  bool past = last[motion_values(&s) - 1] && !run->params->restart, blank = motion_is_blank(&t);
  const struct outcome o = {.cut = !past || (!blank && motion_is_cut(&t)), .blank = blank, .past = past};
  put_global(cpu_data(p, op->global), &forward.model, o);
  for (int i = 0; i < op->flow.h * op->flow.w; i++)
    put_cell(op, &s, forward.vector, backward.vector, o, cpu_data(p, op->flow), cpu_data(p, op->visible), i);
  if (!blank)
    memcpy(last, now, (size_t)motion_values(&s) * sizeof *last);
  else if (!past)
    last[motion_values(&s) - 1] = 0;
}

static void flow_run(const struct cpu_run *run, const struct cpu_node *node) {
  cpu_flow_run(run, node, NULL);
}

const struct cpu_impl cpu_define_flow = {.prepare = cpu_flow_prepare, .run = flow_run};
