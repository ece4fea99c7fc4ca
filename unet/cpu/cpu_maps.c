/* The definition of OP_MAP (unet/plan/op_pixels.h) in plain loops: edges, drawings and colours of a picture, for
 * control networks. */
#include "unet/cpu/cpu_maps.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEAK = 1, STRONG = 2 };

static int clamp(int x, int low, int high) {
  return x < low ? low : x > high ? high : x;
}

static size_t pixel(const struct mapping *m, int x, int y) {
  return (size_t)clamp(y, 0, m->h - 1) * (size_t)m->w + (size_t)clamp(x, 0, m->w - 1);
}

static void put(const struct mapping *m, int x, int y, int c, int code) {
  m->y[3 * pixel(m, x, y) + (size_t)c] = (float)code * (1 / 255.0f);
}

static void put_grey(const struct mapping *m, int x, int y, int code) {
  for (int c = 0; c < 3; c++)
    put(m, x, y, c, code);
}

/* --- 8-bit codes of the picture --- */

static int code_of(const struct mapping *m, float x) {
  float value = fmaf(x, m->scale, m->bias);
  return value > 0 ? (int)fminf(value, 255) : 0;
}

static void encode_plainly(const struct cpu_kernels *kernels, const struct mapping *m) {
  (void)kernels;
  size_t count = 3 * (size_t)m->w * (size_t)m->h;
  for (size_t i = 0; i < count; i++)
    m->code[i] = (uint8_t)code_of(m, m->x[i]);
}

static int grey_of(const struct mapping *m, int x, int y) {
  const uint8_t *p = m->code + 3 * pixel(m, x, y);
  return (9798 * p[0] + 19235 * p[1] + 3735 * p[2] + 16384) / 32768;
}

/* --- blurring the picture's 8-bit values, and maps of the blurred picture --- */

static int pairs(int count) {
  return count > 1 ? count * (count - 1) / 2 : 0;
}

void cpu_map_weights(int n, int *weight) {
  for (int k = 0, reach = n / 2 * 3; k <= reach; k++) {
    int j = reach - k;
    weight[k] = pairs(j + 2) - 3 * pairs(j - n + 2) + 3 * pairs(j - 2 * n + 2);
  }
}

/* Returns the index of channel c of pixel (x, y) in m->along (the picture blurred along rows) and m->soft (the blurred
 * picture). For a pixel outside the picture, returns the index of the nearest pixel inside. */
static size_t soft_place(const struct mapping *m, int x, int y, int c) {
  return (size_t)clamp(y, 0, m->h - 1) * m->row + (size_t)(3 * clamp(x, 0, m->w - 1) + c);
}

static void soften_plainly(const struct cpu_kernels *kernels, const struct mapping *m) {
  (void)kernels;
  int n = 2 * m->parameter[0] + 1, reach = 3 * m->parameter[0], volume = n * n * n, weight[SOFTEN_REACH + 1];
  cpu_map_weights(n, weight);
#pragma omp parallel for
  for (int y = 0; y < m->h; y++)
    for (int x = 0; x < m->w; x++)
      for (int c = 0; c < 3; c++) {
        int sum = 0;
        for (int k = -reach; k <= reach; k++)
          sum += weight[abs(k)] * m->code[3 * pixel(m, x + k, y) + (size_t)c];
        m->along[soft_place(m, x, y, c)] = (uint16_t)((16 * sum + volume / 2) / volume);
      }
#pragma omp parallel for
  for (int y = 0; y < m->h; y++)
    for (int x = 0; x < m->w; x++)
      for (int c = 0; c < 3; c++) {
        int sum = 0;
        for (int k = -reach; k <= reach; k++)
          sum += weight[abs(k)] * m->along[soft_place(m, x, y + k, c)];
        m->soft[soft_place(m, x, y, c)] = (uint16_t)((sum + volume / 2) / volume);
      }
}

static void blur_row(const struct mapping *m, int y) {
  for (int x = 0; x < m->w; x++)
    for (int c = 0; c < 3; c++)
      put(m, x, y, c, (m->soft[soft_place(m, x, y, c)] + 8) / 16);
}

static void lineart_row(const struct mapping *m, int y) {
  int low = 16 * m->parameter[1], gain = m->parameter[2];
  for (int x = 0; x < m->w; x++) {
    int darker = 0;
    for (int c = 0; c < 3; c++) {
      int d = m->soft[soft_place(m, x, y, c)] - 16 * m->code[3 * pixel(m, x, y) + (size_t)c];
      darker = d > darker ? d : darker;
    }
    put_grey(m, x, y, darker > low ? clamp(((darker - low) * gain + 128) / 256, 0, 255) : 0);
  }
}

static int soft_at(const struct mapping *m, int x, int y, int c) {
  return m->soft[soft_place(m, x, y, c)];
}

static void softedge_row(const struct mapping *m, int y) {
  int low = 16 * m->parameter[1], half = 16 * m->parameter[2];
  for (int x = 0; x < m->w; x++) {
    int most = 0;
    for (int c = 0; c < 3; c++) {
      int gx = soft_at(m, x + 1, y - 1, c) + 2 * soft_at(m, x + 1, y, c) + soft_at(m, x + 1, y + 1, c) -
               soft_at(m, x - 1, y - 1, c) - 2 * soft_at(m, x - 1, y, c) - soft_at(m, x - 1, y + 1, c);
      int gy = soft_at(m, x - 1, y + 1, c) + 2 * soft_at(m, x, y + 1, c) + soft_at(m, x + 1, y + 1, c) -
               soft_at(m, x - 1, y - 1, c) - 2 * soft_at(m, x, y - 1, c) - soft_at(m, x + 1, y - 1, c);
      most = gx * gx + gy * gy > most ? gx * gx + gy * gy : most;
    }
    int e = (int)sqrtf((float)most) - low;
    put_grey(m, x, y, e > 0 ? (255 * e + (e + half) / 2) / (e + half) : 0);
  }
}

/* --- maps that divide the picture into square cells of one colour each --- */

static int cells(int size, int cell) {
  return (size + cell - 1) / cell;
}

static void cell_means(const struct mapping *m) {
  int cell = m->parameter[0], columns = cells(m->w, cell);
#pragma omp parallel for
  for (int row = 0; row < cells(m->h, cell); row++)
    for (int column = 0; column < columns; column++) {
      int right = clamp((column + 1) * cell, 0, m->w), bottom = clamp((row + 1) * cell, 0, m->h), sum[3] = {0};
      int count = (right - column * cell) * (bottom - row * cell);
      for (int y = row * cell; y < bottom; y++)
        for (int x = column * cell; x < right; x++)
          for (int c = 0; c < 3; c++)
            sum[c] += m->code[3 * pixel(m, x, y) + (size_t)c];
      for (int c = 0; c < 3; c++)
        m->mean[3 * (row * columns + column) + c] = (uint8_t)((sum[c] + count / 2) / count);
    }
}

static void color_row(const struct mapping *m, int y) {
  int cell = m->parameter[0], columns = cells(m->w, cell);
  for (int x = 0; x < m->w; x++)
    for (int c = 0; c < 3; c++)
      put(m, x, y, c, m->mean[3 * (y / cell * columns + x / cell) + c]);
}

/* Where a pixel's centre lies between the centres of two cells (squares of equal colour). first, second: numbers of
 * these cells; part: distance from the first cell's centre, in half pixels. The cells' centres are 2 * `cell` half
 * pixels apart, where `cell` is the side of a cell in pixels. */
struct between {
  int first, second, part;
};

static struct between between(int position, int cell, int count) {
  /* index: number of the last cell whose centre is not after the pixel's */
  int from = 2 * position + 1 + cell, index = from / (2 * cell) - 1;
  return (struct between){clamp(index, 0, count - 1), clamp(index + 1, 0, count - 1), from % (2 * cell)};
}

static void tile_row(const struct mapping *m, int y) {
  int cell = m->parameter[0], columns = cells(m->w, cell), all = 4 * cell * cell;
  struct between v = between(y, cell, cells(m->h, cell));
  for (int x = 0; x < m->w; x++) {
    struct between u = between(x, cell, columns);
    for (int c = 0; c < 3; c++) {
      const uint8_t *above = m->mean + 3 * v.first * columns + c, *below = m->mean + 3 * v.second * columns + c;
      int high = above[3 * u.first] * (2 * cell - u.part) + above[3 * u.second] * u.part;
      int low = below[3 * u.first] * (2 * cell - u.part) + below[3 * u.second] * u.part;
      put(m, x, y, c, (high * (2 * cell - v.part) + low * v.part + all / 2) / all);
    }
  }
}

/* --- grey values, and masks by brightness --- */

static void gray_row(const struct mapping *m, int y) {
  for (int x = 0; x < m->w; x++)
    put_grey(m, x, y, grey_of(m, x, y));
}

static void mask_row(const struct mapping *m, int y) {
  for (int x = 0; x < m->w; x++) {
    int grey = grey_of(m, x, y);
    put_grey(m, x, y, grey >= m->parameter[0] && grey <= m->parameter[1] ? 255 : 0);
  }
}

/* --- edges by Canny's method --- */

static void slopes_row(const struct mapping *m, int y) {
  const uint8_t *above = m->grey + pixel(m, 0, y - 1), *here = m->grey + pixel(m, 0, y);
  const uint8_t *below = m->grey + pixel(m, 0, y + 1);
  int16_t *gx = m->slope[0] + pixel(m, 0, y), *gy = m->slope[1] + pixel(m, 0, y);
  for (int x = 0; x < m->w; x++) {
    int l = x ? x - 1 : 0, r = x + 1 < m->w ? x + 1 : x;
    gx[x] = (int16_t)(above[r] + 2 * here[r] + below[r] - above[l] - 2 * here[l] - below[l]);
    gy[x] = (int16_t)(below[l] + 2 * below[x] + below[r] - above[l] - 2 * above[x] - above[r]);
  }
}

/* Returns how steep the brightness is at a pixel: |gx| + |gy|; 0 outside the picture. */
static int steepness(const struct mapping *m, int x, int y) {
  if (x < 0 || y < 0 || x >= m->w || y >= m->h)
    return 0;
  int at = y * m->w + x;
  return abs(m->slope[0][at]) + abs(m->slope[1][at]);
}

/* Returns true if the gradient at this pixel is larger than at its two neighbours along the gradient's direction. Only
 * such pixels are kept, so that edges become one pixel thin. A direction within 22.5 degrees of an axis (tangent 13573
 * / 32768) counts as parallel to it, any other as diagonal. */
static bool is_ridge(const struct mapping *m, int x, int y, int here) {
  int gx = m->slope[0][y * m->w + x], gy = m->slope[1][y * m->w + x];
  long run = abs(gx), rise = (long)abs(gy) * 32768;
  if (rise < run * 13573)
    return here > steepness(m, x - 1, y) && here >= steepness(m, x + 1, y);
  if (rise > run * (13573 + 65536))
    return here > steepness(m, x, y - 1) && here >= steepness(m, x, y + 1);
  int side = (gx < 0) != (gy < 0) ? -1 : 1;
  return here > steepness(m, x - side, y - 1) && here > steepness(m, x + side, y + 1);
}

static void edges_row(const struct mapping *m, int y) {
  int a = m->parameter[0], b = m->parameter[1], low = a < b ? a : b, high = a < b ? b : a;
  for (int x = 0; x < m->w; x++) {
    int here = steepness(m, x, y);
    m->edge[0][y * m->w + x] = here > low && is_ridge(m, x, y, here) ? here > high ? STRONG : WEAK : 0;
  }
}

/* A tile of the picture in one round of hysteresis (strong edges grow along weak ones). `from` has the edges before the
 * round, `to` those after it. `stack` has the strong pixels whose neighbours are still to be looked at. */
struct tile {
  int left, top, right, bottom; /* the tile has the columns `left` to `right` - 1 of the rows `top` to `bottom` - 1 */
  const uint8_t *from;
  uint8_t *to;
  int *stack, count;
};

static void push_strong(struct tile *t, const struct mapping *m, int y, int left, int right) {
  for (int x = left; x < right && y >= 0 && y < m->h; x++)
    if (x >= 0 && x < m->w && t->from[y * m->w + x] == STRONG)
      t->stack[t->count++] = y * m->w + x;
}

/* Pushes strong edge pixels in and around the tile onto t->stack; from these, edges may grow into weak pixels. first:
 * true: this is the first round; in later rounds only strong pixels around the tile can be new. */
static void push_seeds(struct tile *t, const struct mapping *m, bool first) {
  push_strong(t, m, t->top - 1, t->left - 1, t->right + 1);
  push_strong(t, m, t->bottom, t->left - 1, t->right + 1);
  for (int y = t->top; y < t->bottom; y++) {
    if (first)
      push_strong(t, m, y, t->left, t->right);
    push_strong(t, m, y, t->left - 1, t->left);
    push_strong(t, m, y, t->right, t->right + 1);
  }
}

static void hysteresis_tile(const struct mapping *m, int left, int top, int round) {
  struct tile t = {.left = left,
                   .top = top,
                   .right = clamp(left + EDGE_TILE, 0, m->w),
                   .bottom = clamp(top + EDGE_TILE, 0, m->h),
                   .from = m->edge[round % 2],
                   .to = m->edge[1 - round % 2],
                   .stack = m->stack + (size_t)thread_number() * (EDGE_TILE * EDGE_TILE + MAP_AROUND)};
  for (int y = top; y < t.bottom; y++)
    memcpy(t.to + y * m->w + left, t.from + y * m->w + left, (size_t)(t.right - left));
  push_seeds(&t, m, round == 0);
  while (t.count) {
    int at = t.stack[--t.count], x = at % m->w, y = at / m->w;
    for (int j = clamp(y - 1, top, t.bottom); j < clamp(y + 2, top, t.bottom); j++)
      for (int i = clamp(x - 1, left, t.right); i < clamp(x + 2, left, t.right); i++)
        if (t.to[j * m->w + i] == WEAK) {
          t.to[j * m->w + i] = STRONG;
          t.stack[t.count++] = j * m->w + i;
        }
  }
}

static void find_edges(const struct mapping *m) {
#pragma omp parallel for
  for (int y = 0; y < m->h; y++)
    for (int x = 0; x < m->w; x++)
      m->grey[pixel(m, x, y)] = (uint8_t)grey_of(m, x, y);
#pragma omp parallel for
  for (int y = 0; y < m->h; y++)
    slopes_row(m, y);
#pragma omp parallel for
  for (int y = 0; y < m->h; y++)
    edges_row(m, y);
  for (int round = 0; round < EDGE_ROUNDS; round++)
#pragma omp parallel for collapse(2)
    for (int top = 0; top < m->h; top += EDGE_TILE)
      for (int left = 0; left < m->w; left += EDGE_TILE)
        hysteresis_tile(m, left, top, round);
}

static void canny_row(const struct mapping *m, int y) {
  for (int x = 0; x < m->w; x++)
    put_grey(m, x, y, m->edge[EDGE_ROUNDS % 2][pixel(m, x, y)] == STRONG ? 255 : 0);
}

/* --- how each kind of map is made --- */

/* How one kind of map is made: by a function for the whole picture, and then one for each row. */
static const struct recipe {
  bool soft;
  void (*ahead)(const struct mapping *m);
  void (*row)(const struct mapping *m, int y);
} recipes[MAP_KINDS] = {
    [MAP_CANNY] = {false, find_edges, canny_row}, [MAP_LINEART] = {true, NULL, lineart_row},
    [MAP_SOFTEDGE] = {true, NULL, softedge_row},  [MAP_COLOR] = {false, cell_means, color_row},
    [MAP_TILE] = {false, cell_means, tile_row},   [MAP_BLUR] = {true, NULL, blur_row},
    [MAP_GRAY] = {false, NULL, gray_row},         [MAP_MASK] = {false, NULL, mask_row},
};

static void *place(void *base, size_t *total, size_t bytes) {
  size_t at = cpu_bump(total, bytes);
  return base ? (char *)base + at : NULL;
}

/* Sets the addresses of a map's arrays, one after another from `base` on, and returns how many bytes they take. base
 * NULL: the bytes are only counted. */
static size_t lay_out(struct mapping *m, void *base, int threads) {
  const struct recipe *recipe = &recipes[m->op->kind];
  size_t pixels = (size_t)m->w * (size_t)m->h, total = 0;
  m->code = place(base, &total, 3 * pixels);
  if (recipe->soft) {
    m->along = place(base, &total, (size_t)m->h * m->row * sizeof *m->along);
    m->soft = place(base, &total, (size_t)m->h * m->row * sizeof *m->soft);
    m->wide = place(base, &total, (size_t)threads * m->wide_row * sizeof *m->wide);
  }
  if (recipe->ahead == cell_means)
    m->mean = place(base, &total, 3 * pixels);
  if (recipe->ahead == find_edges) {
    m->grey = place(base, &total, pixels);
    for (int i = 0; i < 2; i++) {
      m->edge[i] = place(base, &total, pixels);
      m->slope[i] = place(base, &total, pixels * sizeof *m->slope[i]);
    }
    m->stack = place(base, &total, (size_t)threads * (EDGE_TILE * EDGE_TILE + MAP_AROUND) * sizeof *m->stack);
  }
  return total;
}

static struct mapping mapping_of(const struct op_map *op) {
  return (struct mapping){.op = op,
                          .w = op->x.w,
                          .h = op->x.h,
                          .scale = 255 * op->scale,
                          .bias = 255 * op->bias + 0.5f,
                          .row = 3 * (size_t)op->x.w + SOFTEN_SPARE,
                          .wide_row = 3 * ((size_t)op->x.w + 2 * SOFTEN_REACH) + SOFTEN_SPARE};
}

int cpu_map_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  struct mapping m = mapping_of(&node->op->map);
  (void)err;
  cpu_reserve(program, lay_out(&m, NULL, program->device->threads));
  return 0;
}

static void read_parameters(struct mapping *m, const float *values) {
  const struct map_parameter *list;
  int count = map_parameters(m->op->kind, &list);
  for (int i = 0; i < count; i++)
    m->parameter[i] = (int)((list[i].value == MAP_VALUE_GAIN ? 16 * values[i] : values[i]) + 0.5f);
}

void cpu_map_run(const struct cpu_run *run, const struct cpu_node *node, const struct map_steps *steps) {
  const struct op_map *op = &node->op->map;
  const struct recipe *recipe = &recipes[op->kind];
  struct mapping m = mapping_of(op);
  lay_out(&m, run->program->scratch, run->program->device->threads);
  read_parameters(&m, run->params->control[op->control].param);
  m.x = cpu_f32(run->program, op->x);
  m.y = cpu_f32(run->program, op->y);
  steps->encode(run->program->device->kernels, &m);
  if (recipe->soft)
    steps->soften(run->program->device->kernels, &m);
  if (recipe->ahead)
    recipe->ahead(&m);
#pragma omp parallel for
  for (int y = 0; y < m.h; y++)
    recipe->row(&m, y);
}

static void map_run(const struct cpu_run *run, const struct cpu_node *node) {
  cpu_map_run(run, node, &(struct map_steps){encode_plainly, soften_plainly});
}

const struct cpu_impl cpu_define_map = {.prepare = cpu_map_prepare, .run = map_run};
