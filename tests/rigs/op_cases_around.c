/* Cases of the ops around the networks: text, time, prompt slots, the sampler. */
#include <math.h>

#include "tests/rigs/op_cases.h"

static void build_embed(struct op_test *t, const void *argument) {
  (void)argument;
  struct op_embed op = {.token = test_table(t, 53, 24), .position = test_table(t, 77, 24)};
  for (int i = 0; i < 77; i++)
    t->params.tokens[i] = i == 0 ? 52 : i == 1 ? 0 : test_integer(t, 0, 52);
  test_output(t, plan_embed(&t->plan, "embed", op));
}

/* Joins token rows: a weight of one row and an input of 16, then two inputs. */
static void build_join(struct op_test *t, const void *argument) {
  const enum demand *demand = argument;
  struct tensor first = test_table(t, 1, 24), x = test_input(t, 1, 1, 16, 24, *demand, FILL_NORMAL);
  struct op_join op = {.x = first, .x2 = x, .position = test_table(t, 17, 24)};
  test_output(t, plan_join(&t->plan, "join", op));
  op = (struct op_join){.x = x, .x2 = test_input(t, 1, 1, 5, 24, ELEMENT_DEVICE, FILL_NORMAL)};
  test_output(t, plan_join(&t->plan, "join", op));
}

struct timestep_case {
  bool cos_first;
  float shift;
  int c;
};

static void build_timestep(struct op_test *t, const void *argument) {
  const struct timestep_case *c = argument;
  const float timesteps[] = {0, 999, 499, 0.5f, (float)(999 * test_uniform(t))};
  for (int i = 0; i < 5; i++)
    t->params.step[i].timestep = timesteps[i];
  test_output(
      t, plan_timestep(&t->plan, "time",
                       (struct op_timestep){.y = {.n = 5, .c = c->c}, .cos_first = c->cos_first, .shift = c->shift}));
}

/* Six rows, two for each of three steps; four rows, two for the first step and one for each later one; and three rows
 * of six values side by side, as for SDXL's sizes. */
static void build_timestep_rows(struct op_test *t, const void *argument) {
  (void)argument;
  for (int i = 0; i < 3; i++)
    t->params.step[i].timestep = 100.0f * (float)i + 99;
  struct op_timestep op = {.y = {.n = 6, .c = 64}, .cos_first = true, .rows = 2};
  test_output(t, plan_timestep(&t->plan, "time", op));
  op = (struct op_timestep){.y = {.n = 4, .c = 64}, .cos_first = true, .rows = 1, .first = 2};
  test_output(t, plan_timestep(&t->plan, "more rows of the first", op));
  op = (struct op_timestep){.y = {.n = 3, .c = 6 * 32}, .values = 6, .value = {1024, 512, 0, 0, 576, 1023}};
  test_output(t, plan_timestep(&t->plan, "sizes", op));
}

static const struct timestep_case timestep_cases[] = {{true, 0, 128}, {false, 1, 64}, {true, 0, 320}};

static void build_guidance_embed(struct op_test *t, const void *argument) {
  (void)argument;
  t->params.guidance = 7.5f;
  test_output(t, plan_guidance_embed(&t->plan, "guidance", (struct op_guidance_embed){.y = {.n = 3, .c = 256}}));
}

static void build_time_row(struct op_test *t, const void *argument) {
  (void)argument;
  struct tensor table = test_state(t, 7, 1, 1, 40, ELEMENT_DEVICE);
  const int rows[] = {0, 6, 3};
  for (int i = 0; i < 3; i++)
    test_output(t, plan_time_row(&t->plan, "row", (struct op_time_row){.step = rows[i], .table = table}));
}

static void build_time_rows(struct op_test *t, const void *argument) {
  (void)argument;
  struct tensor table = test_state(t, 12, 1, 1, 40, ELEMENT_DEVICE);
  for (int i = 0; i < 4; i += 3)
    test_output(t, plan_time_row(&t->plan, "row", (struct op_time_row){.step = i, .table = table, .y.n = 3}));
}

struct store_case {
  bool state, ring;
  enum demand demand;
  int n, h;
};

static void build_store_slot(struct op_test *t, const void *argument) {
  const struct store_case *c = argument;
  struct op_store_slot op = {.x = test_input(t, 1, c->h, 77, 24, c->demand, FILL_NORMAL), .ring = c->ring};
  op.slots = c->state ? test_state(t, c->n, c->h, 77, 24, c->demand) : test_slots(t, c->n, c->h, 77, 24);
  t->params.slot = test_integer(t, 0, c->n - 1);
  t->params.turn = (unsigned)test_integer(t, 0, 1000000);
  plan_store_slot(&t->plan, "store", op);
  test_output(t, op.slots);
}

static const struct store_case store_cases[] = {
    {.n = 12, .h = 1},
    {.n = 5, .h = 3, .state = true},
    {.n = 5, .h = 3, .state = true, .ring = true},
    {.n = 1, .h = 2, .state = true, .ring = true, .demand = ELEMENT_PRECISE},
};

struct shift_case {
  int n, by;
  bool x;
  enum demand demand, x_demand;
};

static void build_shift(struct op_test *t, const void *argument) {
  const struct shift_case *c = argument;
  struct op_shift op = {.rows = test_state(t, c->n, 5, 7, 6, c->demand), .by = c->by};
  if (c->x)
    op.x = test_input(t, c->by ? c->by : 1, 5, 7, 6, c->x_demand, FILL_NORMAL);
  plan_shift(&t->plan, "shift", op);
  test_output(t, op.rows);
}

static const struct shift_case shift_cases[] = {
    {.n = 4, .x = true},
    {.n = 6, .by = 2, .x = true, .demand = ELEMENT_PRECISE, .x_demand = ELEMENT_PRECISE},
    {.n = 3, .demand = ELEMENT_PRECISE},
    {.n = 2, .x = true, .demand = ELEMENT_PRECISE},
};

/* Blends of one prompt, two, four and all. The list ends with the first weight of 0: slots after it must not be
 * read. */
static void build_prompt(struct op_test *t, const void *argument) {
  struct tensor slots = test_slots(t, 12, 1, 77, 24);
  const int *count = argument;
  for (int row = 0; row < GUIDANCE_ROWS_MAX; row++) {
    struct prompt_params *prompt = &t->params.prompt[row];
    for (int i = 0; i < PROMPTS_MAX; i++) {
      prompt->slot[i] = i < *count ? test_integer(t, 0, 11) : 1000;
      prompt->weight[i] = i < *count ? (float)test_integer(t, 1, 100) / 100 : i > *count ? 1 : 0;
    }
  }
  test_output(t, plan_prompt(&t->plan, "prompt", (struct op_prompt){.slots = slots, .y.n = GUIDANCE_ROWS_MAX}));
}

static const int prompt_cases[] = {1, 2, 4, PROMPTS_MAX};

static void build_affine(struct op_test *t, const void *argument) {
  const enum demand *demand = argument;
  struct op_affine op = {.x = test_input(t, 1, 5, 7, 4, *demand, FILL_NORMAL), .scale = 5.490118f, .bias = 0.1159f};
  test_output(t, plan_affine(&t->plan, "affine", op));
}

/* Copies the last one of three pictures. */
static void build_affine_of_one(struct op_test *t, const void *argument) {
  const enum demand *demand = argument;
  struct tensor all = test_state(t, 3, 5, 7, 4, *demand);
  struct op_affine op = {.x = tensor_pictures(all, 2, 1), .scale = 1, .precise = *demand == ELEMENT_PRECISE};
  test_output(t, plan_affine(&t->plan, "affine", op));
}

static const enum demand affine_cases[] = {ELEMENT_DEVICE, ELEMENT_PRECISE};

/* Two guidance rows for each of four steps, the second of which has no prompt (its first weight is 0); then two rows
 * for the first step and one for each later one. */
static void build_prompt_rows(struct op_test *t, const void *argument) {
  (void)argument;
  struct tensor slots = test_slots(t, 12, 1, 1, 40);
  t->params.prompt[0] = (struct prompt_params){{3, 5}, {0.25f, 0.75f}};
  t->params.prompt[1] = (struct prompt_params){{1000, 1000}, {0, 0}};
  test_output(t, plan_prompt(&t->plan, "prompt", (struct op_prompt){.slots = slots, .y.n = 8, .rows = 2}));
  test_output(t, plan_prompt(&t->plan, "more rows of the first",
                             (struct op_prompt){.slots = slots, .y.n = 5, .rows = 1, .first = 2}));
}

static void build_end_token(struct op_test *t, const void *argument) {
  const enum demand *demand = argument;
  t->params.end = test_integer(t, 0, 76);
  test_output(t, plan_end_token(&t->plan, "end",
                                (struct op_end_token){.x = test_input(t, 1, 1, 77, 24, *demand, FILL_NORMAL)}));
}

static const enum demand end_token_cases[] = {ELEMENT_DEVICE, ELEMENT_PRECISE};

struct emphasis_case {
  enum demand demand;
  float emphasis[2]; /* weights by which emphasised tokens are multiplied: [0] of even tokens, [1] of odd tokens */
};

/* The mean must be far from 0, or the factor would consist of rounding errors. */
static void build_emphasis(struct op_test *t, const void *argument) {
  const struct emphasis_case *c = argument;
  struct tensor x = test_input(t, 1, 1, 77, 40, c->demand, FILL_OFFSET);
  for (int i = 0; i < 77; i++)
    t->params.emphasis[i] = c->emphasis[i % 2];
  test_output(t, plan_emphasis(&t->plan, "emphasis", (struct op_emphasis){.x = x}));
}

static const struct emphasis_case emphasis_cases[] = {
    {ELEMENT_DEVICE, {0.331f, 0}},
    {ELEMENT_PRECISE, {-1.5f, 9}},
    {ELEMENT_DEVICE, {-1, -1}},
    {ELEMENT_PRECISE, {0, 0}},
};

struct between_case {
  int samples, pictures;
};

static void build_between(struct op_test *t, const void *argument) {
  const struct between_case *c = argument;
  struct op_between op = {.ends = test_state(t, 2 * c->samples, 5, 7, 4, ELEMENT_PRECISE),
                          .noise = test_state(t, c->samples, 5, 7, 4, ELEMENT_PRECISE),
                          .pictures = c->pictures};
  for (int i = 0; i < BATCH_MAX; i++) {
    t->params.between[i][0] = 0.6f - (float)i;
    t->params.between[i][1] = -0.8f + 0.25f * (float)i;
  }
  plan_between(&t->plan, "between", op);
  test_output(t, op.noise);
}

static const struct between_case between_cases[] = {{1}, {3}, {3, 3}, {8, 4}};

struct start_case {
  bool image;
  int n;
};

static void build_start(struct op_test *t, const void *argument) {
  const struct start_case *c = argument;
  struct op_start op = {.noise = test_state(t, c->n, 5, 7, 16, ELEMENT_PRECISE)};
  if (c->image)
    op.z = test_input(t, c->n, 5, 7, 16, ELEMENT_DEVICE, FILL_NORMAL);
  t->params.start_latent = 0.4f;
  t->params.start_noise = 0.9f;
  test_output(t, plan_start(&t->plan, "start", op));
}

static const struct start_case start_cases[] = {{true, 1}, {false, 1}, {true, 3}, {false, 4}};

static struct tensor test_kept(struct op_test *t, int h, int w) {
  return test_state(t, 1, h, w, 1, ELEMENT_PRECISE);
}

struct mask_case {
  enum demand demand;
  int n;
};

static const struct mask_case mask_cases[] = {{ELEMENT_DEVICE, 1}, {ELEMENT_PRECISE, 1}, {ELEMENT_DEVICE, 3}};

static void build_mask(struct op_test *t, const void *argument) {
  const struct mask_case *c = argument;
  struct op_mask op = {
      .x = test_input(t, c->n, 10, 14, 3, c->demand, FILL_NORMAL), .kept = test_kept(t, 10, 14), .value = 0.375f};
  test_output(t, plan_mask(&t->plan, "mask", op));
}

struct unet_input_case {
  int rows, c_image;
  unsigned image_rows;
  int size; /* size of the mask for each pixel; 0: there is none */
  int latents, first;
  bool one_mask;
};

static void build_unet_input(struct op_test *t, const void *argument) {
  const struct unet_input_case *c = argument;
  int n = c->latents ? c->latents : 1, first = c->first ? c->first : c->rows;
  struct op_unet_input op = {.x = test_input(t, n, 5, 7, 16, ELEMENT_PRECISE, FILL_NORMAL),
                             .image_rows = c->image_rows,
                             .rows = c->rows,
                             .first = c->first,
                             .y.n = first + (n - 1) * c->rows};
  if (c->c_image)
    op.image = test_input(t, n, 5, 7, c->c_image, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->size)
    op.kept = test_state(t, c->one_mask ? 1 : n, 5 * c->size, 7 * c->size, 1, ELEMENT_PRECISE);
  test_output(t, plan_unet_input(&t->plan, "input", op));
}

static const struct unet_input_case unet_input_cases[] = {{1, 0, 0},
                                                          {2, 0, 0},
                                                          {1, 16, 1},
                                                          {3, 4, 3},
                                                          {2, 16, 2},
                                                          {1, 4, 1, 8},
                                                          {2, 4, 3, 4},
                                                          {3, 4, 1, 1},
                                                          {2, 4, 1, 2, .latents = 3},
                                                          {1, 4, 3, 4, .latents = 4, .first = 2},
                                                          {2, 4, 3, 4, .latents = 3, .one_mask = true}};

struct guide_case {
  int latents, rows, first;
  bool x, reference, anew, device;
  float rescale;
  int together;
};

static void build_guide(struct op_test *t, const void *argument) {
  const struct guide_case *c = argument;
  int first = c->first ? c->first : c->rows, n = c->latents;
  struct op_guide op = {.step = 2, .together = c->together, .rows = c->rows, .first = c->first};
  op.model = test_input(t, first + (n - 1) * c->rows, 9, 7, 16, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->x)
    op.x = test_input(t, n, 9, 7, 16, ELEMENT_PRECISE, FILL_NORMAL);
  if (c->reference)
    op.reference = test_input(t, n, 9, 7, 16, c->device ? ELEMENT_DEVICE : ELEMENT_PRECISE, FILL_NORMAL);
  if (c->anew)
    op.anew = test_state(t, n, 9, 7, 16, ELEMENT_PRECISE);
  for (int i = 0; i < GUIDANCE_ROWS_MAX; i++)
    t->params.row_weight[i] = (float)(i + 1) * (i % 2 ? -1.5f : 1.25f);
  t->params.virtual_weight = -0.375f;
  t->params.guidance_rescale = c->rescale;
  for (int i = 0; i < STEPS_MAX; i++)
    t->params.residual[i] = (struct residual_params){1.25f + (float)i, -0.5f, 2, 0.25f * (float)i};
  test_output(t, plan_guide(&t->plan, "guide", op));
  if (c->anew)
    test_output(t, op.anew);
}

static const struct guide_case guide_cases[] = {
    {1, 2, .rescale = 0},
    {1, 3, .rescale = 0.75f},
    {1, 2, .x = true, .anew = true, .rescale = 1},
    {1, 1, .x = true, .rescale = 0.5f},
    {1, 1, .x = true, .reference = true, .device = true},
    {4, 2, .x = true, .rescale = 0.7f},
    {3, 1, .x = true, .reference = true, .rescale = 0.7f},
    {3, 1, .first = 2, .x = true, .reference = true, .anew = true, .rescale = 0.25f},
    {4, 2, .x = true, .rescale = 0.7f, .together = 4},
    {3, 2, .x = true, .anew = true, .rescale = 0.25f, .together = 3},
    {4, 1, .x = true, .reference = true, .together = 2},
};

struct step_case {
  bool noise;
  int kept; /* number of earlier predictions that each of the four steps uses; 0: none */
  bool state, loop, precise;
  int latents, together;
};

static float factor(struct op_test *t, float most) {
  return most * fmaxf(-1, fminf(1, test_normal(t)));
}

/* Sets coefficients that say how earlier predictions are used; each step uses as many as there are. The second step
 * stores no prediction, so the third one uses that of the first step. The latent has a larger coefficient than all that
 * is added to it together: else a sum may nearly vanish, and errors are large beside it. */
static void look_back(struct op_test *t, int first, int count, int kept) {
  for (int i = 0; i < count; i++) {
    struct step_params *s = &t->params.step[first + i];
    *s =
        (struct step_params){.x = 0.75f, .model = factor(t, 0.25f), .keep_x = 1 + factor(t, 0.25f), .keep_model = 0.5f};
    if (i == 1)
      s->keep_x = s->keep_model = 0;
    for (int j = 0; j < kept && j < (i > 1 ? i - 1 : i); j++)
      s->earlier[j] = factor(t, 0.0625f);
  }
}

/* Returns a latent to start from that is computed again in every run. */
static struct tensor start(struct op_test *t, struct tensor z) {
  t->params.start_latent = 0.5f;
  t->params.start_noise = 0.75f;
  return plan_start(&t->plan, "start",
                    (struct op_start){.z = z, .noise = test_state(t, 1, z.h, z.w, z.c, ELEMENT_PRECISE)});
}

static void build_step(struct op_test *t, const void *argument) {
  const struct step_case *c = argument;
  struct op_step op = {.step = 2, .x = start(t, test_input(t, 1, 5, 7, 16, ELEMENT_DEVICE, FILL_NORMAL))};
  op.model = test_input(t, 1, 5, 7, 16, c->precise ? ELEMENT_PRECISE : ELEMENT_DEVICE, FILL_NORMAL);
  if (c->noise)
    op.noise = test_state(t, 4, 5, 7, 16, ELEMENT_PRECISE);
  t->params.step[2] = (struct step_params){499, 0.75f, -0.5f, 0.25f};
  plan_step(&t->plan, "step", op);
  test_output(t, op.x);
}

/* Four steps, as a list or as a loop, with a prediction that depends on x. */
static void build_look_back(struct op_test *t, const void *argument) {
  const struct step_case *c = argument;
  struct plan *plan = &t->plan;
  struct op_step op = {.step = 3, .x = start(t, test_input(t, 1, 5, 7, 16, ELEMENT_DEVICE, FILL_NORMAL))};
  struct tensor weight = test_weight(t, 16, 1, 16);
  op.earlier = c->state ? test_state(t, c->kept, 5, 7, 16, ELEMENT_PRECISE)
                        /* an input with invalid values (NaN): it must not be read before it is written */
                        : plan_input(plan, c->kept, 5, 7, 16, ELEMENT_PRECISE);
  look_back(t, 3, 4, c->kept);
  if (c->loop)
    plan_loop_begin(plan, 4);
  for (int i = 0; i < (c->loop ? 1 : 4); i++, op.step++) {
    op.model = plan_unet_input(plan, "input", (struct op_unet_input){.x = op.x, .y.n = 1});
    op.model = plan_linear(plan, "model", (struct op_linear){.x = op.model, .weight = weight});
    plan_step(plan, "step", op);
  }
  if (c->loop)
    plan_loop_end(plan);
  test_output(t, op.x);
  test_output(t, op.earlier);
}

static const struct step_case look_back_cases[] = {{.kept = 1},
                                                   {.kept = 2, .loop = true},
                                                   {.kept = 3},
                                                   {.kept = 3, .loop = true},
                                                   {.kept = 2, .state = true},
                                                   {.kept = 3, .state = true, .loop = true}};

/* A loop of three iterations, with noise for the first two. Its ops read what was computed before it, and other ops
 * follow it. */
static void build_loop(struct op_test *t, const void *argument) {
  (void)argument;
  struct plan *plan = &t->plan;
  struct tensor z = test_input(t, 1, 5, 7, 16, ELEMENT_DEVICE, FILL_NORMAL),
                table = test_state(t, 4, 1, 1, 16, ELEMENT_DEVICE);
  struct tensor noise = test_state(t, 3, 5, 7, 16, ELEMENT_PRECISE), weight = test_weight(t, 16, 3, 16),
                x = start(t, z);
  struct tensor before = plan_norm(plan, "before", (struct op_norm){.x = z, .prologue = {.act = ACT_SILU}});
  plan_loop_begin(plan, 3);
  struct op_conv conv = {.weight = weight, .residual = before, .stride = 1, .pad = 1};
  conv.time = plan_time_row(plan, "row", (struct op_time_row){.step = 1, .table = table});
  conv.x = plan_unet_input(plan, "input", (struct op_unet_input){.x = x, .y.n = 1});
  struct tensor model = plan_conv(plan, "conv", conv);
  plan_step(plan, "step", (struct op_step){.step = 1, .x = x, .model = model, .noise = noise});
  plan_loop_end(plan);
  test_output(t, plan_unet_input(plan, "latent", (struct op_unet_input){.x = x, .y.n = 1}));
  test_output(t, plan_time_row(plan, "row", (struct op_time_row){.step = 0, .table = table}));
  t->params.step[1] = (struct step_params){999, 0.75f, -0.5f, 0.25f};
  t->params.step[2] = (struct step_params){480, 1.25f, -0.25f, 0.5f};
  t->params.step[3] = (struct step_params){1, 0.5f, 0.5f, 0};
}

struct convolved_case {
  int n, c, steps; /* number of latents and of their channels; number of steps, more than one in a loop */
};

/* Steps between two convolutions: one reads the U-Net's input, the other the last step's latent. A device may make what
 * a convolution reads, in another type, with an activation or with more channels, together with the op before. */
static void build_convolved_steps(struct op_test *t, const void *argument) {
  const struct convolved_case *c = argument;
  struct plan *plan = &t->plan;
  struct op_start start = {.z = test_input(t, c->n, 5, 7, c->c, ELEMENT_DEVICE, FILL_NORMAL),
                           .noise = test_state(t, c->n, 5, 7, c->c, ELEMENT_PRECISE)};
  struct op_conv model = {.weight = test_weight(t, c->c, 3, c->c), .stride = 1, .pad = 1};
  struct op_conv last = {.weight = test_weight(t, 24, 3, c->c), .stride = 1, .pad = 1, .prologue.act = ACT_TANH3};
  t->params.start_latent = 0.5f;
  t->params.start_noise = 0.75f;
  for (int i = 0; i < c->steps; i++)
    t->params.step[i] = (struct step_params){.timestep = 499, .x = 0.75f, .model = factor(t, 0.25f)};
  last.x = plan_start(plan, "start", start);
  if (c->steps > 1)
    plan_loop_begin(plan, c->steps);
  model.x = plan_unet_input(plan, "input", (struct op_unet_input){.x = last.x, .y.n = c->n, .rows = 1});
  plan_step(plan, "step", (struct op_step){.x = last.x, .model = plan_conv(plan, "model", model)});
  if (c->steps > 1)
    plan_loop_end(plan);
  test_output(t, plan_conv(plan, "last", last));
  test_output(t, last.x);
}

static const struct convolved_case convolved_cases[] = {{1, 4, 1},  {1, 16, 1}, {3, 4, 1},
                                                        {2, 16, 1}, {1, 4, 3},  {2, 16, 2}};

/* Several latents, each at its own step, or several at each step. */
static void build_steps(struct op_test *t, const void *argument) {
  const struct step_case *c = argument;
  int n = c->latents, together = c->together ? c->together : 1, steps = n / together;
  struct op_step op = {.step = 1, .together = c->together, .x = test_state(t, n, 5, 7, 16, ELEMENT_PRECISE)};
  op.model = test_input(t, n, 5, 7, 16, ELEMENT_DEVICE, FILL_NORMAL);
  if (c->noise)
    op.noise = test_state(t, n, 5, 7, 16, ELEMENT_PRECISE); /* the last step has none */
  if (c->kept)
    op.earlier = test_state(t, n * c->kept, 5, 7, 16, ELEMENT_PRECISE);
  look_back(t, 1, steps, c->kept);
  for (int i = 1; c->noise && i < steps; i++)
    t->params.step[i].noise = 0.25f * (float)i;
  plan_step(&t->plan, "step", op);
  test_output(t, op.x);
  if (c->kept)
    test_output(t, op.earlier);
}

static const struct step_case steps_cases[] = {
    {.latents = 4, .noise = true},
    {.latents = 3, .kept = 2},
    {.latents = 8, .noise = true, .kept = 1},
    {.latents = 6, .noise = true, .kept = 2, .together = 3},
};

static const struct step_case step_cases[] = {{.noise = true}, {.noise = false}, {.noise = true, .precise = true}};

const struct op_cases op_cases_around[] = {
    OP_CASE_EXACT("embed", build_embed),
    OP_CASES_EXACT("timestep", build_timestep, timestep_cases),
    OP_CASE_EXACT("timestep of several rows", build_timestep_rows),
    OP_CASE_EXACT("guidance embed", build_guidance_embed),
    OP_CASE_EXACT("time row", build_time_row),
    OP_CASE_EXACT("time row of several", build_time_rows),
    OP_CASES_EXACT("store slot", build_store_slot, store_cases),
    OP_CASES_EXACT("shift", build_shift, shift_cases),
    OP_CASES_EXACT("prompt", build_prompt, prompt_cases),
    OP_CASES_EXACT("join", build_join, affine_cases),
    OP_CASES("affine", build_affine, affine_cases),
    OP_CASES_EXACT("affine of one picture", build_affine_of_one, affine_cases),
    OP_CASE_EXACT("prompt of several steps", build_prompt_rows),
    OP_CASES_EXACT("end token", build_end_token, end_token_cases),
    OP_CASES("emphasis", build_emphasis, emphasis_cases),
    OP_CASES_EXACT("between", build_between, between_cases),
    OP_CASES_EXACT("start", build_start, start_cases),
    OP_CASES_EXACT("mask", build_mask, mask_cases),
    OP_CASES_EXACT("unet input", build_unet_input, unet_input_cases),
    OP_CASES("guide", build_guide, guide_cases),
    OP_CASES_EXACT("step", build_step, step_cases),
    OP_CASES("steps of several latents", build_steps, steps_cases),
    OP_CASES("step with earlier predictions", build_look_back, look_back_cases),
    OP_CASES("steps between convolutions", build_convolved_steps, convolved_cases),
    OP_CASE("loop", build_loop),
    {NULL},
};
