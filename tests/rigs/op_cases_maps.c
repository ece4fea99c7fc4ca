/* Cases of maps: every kind, at sizes that are not multiples of tiles, with the least and greatest parameters. Pictures
 * have 8-bit codes, so that devices of any precision get the same values. */
#include "tests/rigs/op_cases.h"

#include <math.h>

enum content {
  NOISE,      /* independent values */
  WAVES,      /* smooth hills, with edges between them */
  SERPENTINE, /* a faint line through the whole picture, with one strong spot */
  WILD,       /* values below 0 and above 1, and NaN */
};

struct map_case {
  enum map_kind kind;
  enum content content;
  int w, h;
  float parameters[MAP_PARAMS]; /* the first one below 0: the map's default parameters are used */
  /* how 8-bit codes are converted to the picture's values; scale 0: codes become values from 0 to 1 */
  float scale, bias;
};

/* Returns true on lines 12 pixels apart that are joined at the right and left in turn. */
static bool is_line(int x, int y, int w) {
  int turn = y / 12 % 2, end = turn ? 3 : w - 5;
  return y % 12 == 5 || y % 12 == 6 ? x > 2 && x < w - 3 : (y + 6) % 12 > 0 && (x == end || x == end + 1) && y > 5;
}

static int code_at(struct op_test *t, enum content content, int x, int y, int w, int c) {
  double waves = sin(x / 9.0) * cos(y / 7.0) + 0.5 * sin((x + 2 * y) / 23.0) + 0.1 * c;
  switch (content) {
  case WAVES:
    return (int)(128 + (waves > 0.3 ? 60 : 40) * waves) + test_integer(t, 0, 3);
  case SERPENTINE:
    return is_line(x, y, w) ? (y < 8 && x > 10 && x < 14 ? 200 : 60) : 20;
  default:
    return test_integer(t, 0, 255);
  }
}

static void build_map(struct op_test *t, const void *argument) {
  const struct map_case *c = argument;
  struct op_map op = {.kind = c->kind, .control = 2, .scale = c->scale, .bias = c->bias};
  op.x = test_input(t, 1, c->h, c->w, 3, ELEMENT_DEVICE, FILL_NORMAL);
  float *data = t->operands[t->operand_count - 1].data;
  for (int y = 0; y < c->h && c->content != WILD; y++)
    for (int x = 0; x < c->w; x++)
      for (int i = 0; i < 3; i++)
        data[(y * c->w + x) * 3 + i] = (float)code_at(t, c->content, x, y, c->w, i) / 256;
  for (int i = 0; i < 3 * c->w * c->h && c->content == WILD; i += test_integer(t, 1, 9))
    data[i] = (float[]){NAN, INFINITY, -INFINITY, -1000, 1000}[test_integer(t, 0, 4)];
  if (c->scale == 0)
    op.scale = 256 / 255.0f;
  map_standard(c->kind, t->params.control[op.control].param);
  for (int i = 0; i < MAP_PARAMS && c->parameters[0] >= 0; i++)
    t->params.control[op.control].param[i] = c->parameters[i];
  test_output(t, plan_map(&t->plan, "map", op));
}

#define STANDARD                                                                                                       \
  { -1 }
static const struct map_case canny_cases[] = {
    {MAP_CANNY, WAVES, 300, 260, {20, 90}},
    {MAP_CANNY, SERPENTINE, 300, 260, {100, 400}},
    {MAP_CANNY, SERPENTINE, 517, 130, {400, 100}},
    {MAP_CANNY, NOISE, 129, 128, {300, 700}},
    {MAP_CANNY, NOISE, 37, 23, STANDARD},
    {MAP_CANNY, NOISE, 1, 1, STANDARD},
    {MAP_CANNY, NOISE, 2, 131, {0, 0}},
    {MAP_CANNY, NOISE, 33, 1, {0, 2040}},
    {MAP_CANNY, WILD, 64, 40, STANDARD, 0.25f, 0.5f},
    {MAP_CANNY, WAVES, 128, 256, {10.4f, 60.5f}, 0.5f, 0.25f},
};
static const struct map_case soft_cases[] = {
    {MAP_BLUR, NOISE, 129, 67, STANDARD},
    {MAP_BLUR, WAVES, 75, 41, {16}},
    {MAP_BLUR, NOISE, 1, 1, {1}},
    {MAP_BLUR, NOISE, 7, 5, {16}},
    {MAP_BLUR, WILD, 33, 40, {3}, 0.25f, 0.5f},
    {MAP_LINEART, WAVES, 130, 65, STANDARD},
    {MAP_LINEART, NOISE, 66, 33, {1, 0, 64}},
    {MAP_LINEART, NOISE, 3, 70, {16, 40, 0.3f}},
    {MAP_LINEART, WILD, 20, 20, STANDARD},
    {MAP_SOFTEDGE, WAVES, 130, 65, STANDARD},
    {MAP_SOFTEDGE, NOISE, 35, 66, {1, 0, 1}},
    {MAP_SOFTEDGE, NOISE, 34, 3, {16, 255, 1000}},
    {MAP_SOFTEDGE, WILD, 70, 20, STANDARD},
    {MAP_SOFTEDGE, NOISE, 1, 1, {2, 0, 1}},
};
static const struct map_case cell_cases[] = {
    {MAP_COLOR, NOISE, 200, 130, STANDARD},   {MAP_COLOR, NOISE, 37, 23, {8}},
    {MAP_COLOR, WAVES, 300, 10, {256}},       {MAP_COLOR, NOISE, 1, 1, STANDARD},
    {MAP_COLOR, WILD, 70, 70, {16}, 1, 0.1f}, {MAP_TILE, NOISE, 75, 41, STANDARD},
    {MAP_TILE, NOISE, 75, 41, {2}},           {MAP_TILE, WAVES, 130, 67, {7}},
    {MAP_TILE, NOISE, 100, 80, {64}},         {MAP_TILE, NOISE, 1, 3, {4}},
    {MAP_TILE, WILD, 40, 40, {3}, 1, 0},
};
static const struct map_case tone_cases[] = {
    {MAP_GRAY, NOISE, 75, 41},           {MAP_GRAY, WILD, 64, 64, {0}, 0.5f, 0.5f}, {MAP_GRAY, NOISE, 1, 1},
    {MAP_MASK, WAVES, 75, 41, STANDARD}, {MAP_MASK, NOISE, 33, 65, {100, 140}},     {MAP_MASK, WILD, 33, 9, {0, 0}},
};

/* Maps of one picture after another, and maps of other maps. */
static void build_chain(struct op_test *t, const void *argument) {
  (void)argument;
  struct tensor x = test_input(t, 1, 45, 77, 3, ELEMENT_DEVICE, FILL_NORMAL);
  for (int i = 0; i < 3; i++)
    map_standard((enum map_kind[]){MAP_BLUR, MAP_SOFTEDGE, MAP_CANNY}[i], t->params.control[i].param);
  struct tensor blur =
      plan_map(&t->plan, "blur", (struct op_map){.x = x, .kind = MAP_BLUR, .scale = 0.25f, .bias = 0.5f});
  test_output(t, blur);
  test_output(t,
              plan_map(&t->plan, "edge", (struct op_map){.x = blur, .kind = MAP_SOFTEDGE, .control = 1, .scale = 1}));
  test_output(t, plan_map(&t->plan, "canny", (struct op_map){.x = x, .kind = MAP_CANNY, .control = 2, .scale = 1}));
}
static const int once[1];

const struct op_cases op_cases_maps[] = {
    OP_CASES_CODES("map canny", build_map, canny_cases), OP_CASES_CODES("map soft", build_map, soft_cases),
    OP_CASES_CODES("map cells", build_map, cell_cases),  OP_CASES_CODES("map tones", build_map, tone_cases),
    OP_CASES_CODES("map chain", build_chain, once),      {NULL},
};
