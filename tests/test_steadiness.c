/* Tests the measurement of steadiness with outputs of known properties: where the correct value can be computed, it is
 * compared. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/steadiness.h"

/* WIDTH is such that the part of the picture that a pan of one frame leaves visible has six whole periods of the
 * grating. */
enum { WIDTH = 102, HEIGHT = 80, PERIOD = 16, WAVES = 24 };
static const double strong = 20, keeps = 0.5;

/* Simulated engines: what each makes of a frame. */
enum engine {
  PERFECT, /* the frame itself */
  FIXED,   /* the frame with a grating that is fixed to the screen */
  CARRIED, /* the frame with a grating that moves with the scene */
  BLURRED, /* the frame, blurred */
  GHOSTED, /* a mixture of the frame and the picture before */
  FROZEN,  /* always the first picture */
  ENGINES
};

struct clip {
  struct raster input[MOTION_FRAMES], output[MOTION_FRAMES], alone[MOTION_FRAMES];
  struct steadiness_frames frames;
};

static struct raster make_raster(int width, int height) {
  struct raster raster;
  assert_false(raster_make(&raster, width, height, NULL));
  return raster;
}

/* Draws a picture of waves of many directions and of lengths from 7 pixels on. Its two halves differ. */
static struct raster make_still(void) {
  int margin = motion_margin(WIDTH, HEIGHT);
  struct raster still = make_raster(WIDTH + 2 * margin, HEIGHT + 2 * margin);
  for (int y = 0; y < still.height; y++)
    for (int x = 0; x < still.width; x++)
      for (int c = 0; c < 3; c++) {
        double sum = 80 + 90.0 * y / still.height;
        for (int i = 1; i <= WAVES; i++) {
          double length = 0.9 * i / WAVES, angle = 2.4 * i + 0.1 * c;
          sum += 7 * sin(length * (x * cos(angle) + y * sin(angle)) + 1.7 * i + c);
        }
        raster_at(&still, x, y)[c] = (float)sum;
      }
  return still;
}

static double grating(double x) {
  return strong * cos(2 * M_PI * x / PERIOD);
}

/* Adds the grating, moved by `by` pixels to the right, as the clip has moved. */
static void add_grating(struct raster *raster, double by) {
  for (int y = 0; y < raster->height; y++)
    for (int x = 0; x < raster->width; x++)
      for (int c = 0; c < 3; c++)
        raster_at(raster, x, y)[c] += (float)grating(x - by);
}

static void blur(struct raster *to, const struct raster *from) {
  for (int y = 0; y < to->height; y++)
    for (int x = 0; x < to->width; x++)
      for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (int i = 0; i < 25; i++) {
          int left = x + i % 5 - 2, top = y + i / 5 - 2;
          left = left < 0 ? 0 : left >= to->width ? to->width - 1 : left;
          top = top < 0 ? 0 : top >= to->height ? to->height - 1 : top;
          sum += raster_at(from, left, top)[c];
        }
        raster_at(to, x, y)[c] = (float)(sum / 25);
      }
}

static void copy(struct raster *to, const struct raster *from) {
  memcpy(to->rgb, from->rgb, (size_t)to->width * to->height * 3 * sizeof *to->rgb);
}

/* Makes the output for frame number `at`. begun: the first frame that the engine saw. */
static void make_output(struct clip *clip, enum engine engine, int begun, int at) {
  struct raster *output = &clip->output[at];
  copy(output, &clip->input[at]);
  copy(&clip->alone[at], &clip->input[at]);
  if (engine == FIXED || engine == CARRIED) {
    add_grating(output, engine == CARRIED ? 2 * (at - begun) : 0);
    add_grating(&clip->alone[at], 0);
  } else if (engine == BLURRED) {
    blur(output, &clip->input[at]);
  } else if (engine == FROZEN) {
    copy(output, &clip->output[begun]);
  } else if (engine == GHOSTED && at > begun) {
    for (size_t i = 0; i < (size_t)3 * WIDTH * HEIGHT; i++)
      output->rgb[i] = (float)((1 - keeps) * output->rgb[i] + keeps * clip->output[at - 1].rgb[i]);
  }
}

static struct clip *make_clip_from(enum motion motion, enum engine engine, int begun) {
  struct clip *clip = calloc(1, sizeof *clip);
  assert_non_null(clip);
  static struct raster still; /* drawn once for all clips */
  if (!still.rgb)
    still = make_still();
  for (int i = 0; i < MOTION_FRAMES; i++) {
    clip->input[i] = make_raster(WIDTH, HEIGHT);
    clip->output[i] = make_raster(WIDTH, HEIGHT);
    clip->alone[i] = make_raster(WIDTH, HEIGHT);
    motion_draw(motion, &still, i, &clip->input[i]);
    /* A texture that moves with the scene starts anew at a cut. */
    bool anew = engine == CARRIED && motion == MOTION_CUT && i >= MOTION_CUT_AT;
    if (i >= begun)
      make_output(clip, engine, anew ? MOTION_CUT_AT : begun, i);
  }
  clip->frames = (struct steadiness_frames){clip->input, clip->output, clip->alone, MOTION_FRAMES};
  return clip;
}

static struct clip *make_clip(enum motion motion, enum engine engine) {
  return make_clip_from(motion, engine, 0);
}

static void free_clip(struct clip *clip) {
  for (int i = 0; i < MOTION_FRAMES; i++) {
    raster_free(&clip->input[i]);
    raster_free(&clip->output[i]);
    raster_free(&clip->alone[i]);
  }
  free(clip);
}

static struct steadiness_motion judge(enum motion motion, enum engine engine) {
  struct clip *clip = make_clip(motion, engine);
  struct steadiness_motion figures;
  assert_false(steadiness_of_motion(&figures, motion, &clip->frames, NULL));
  free_clip(clip);
  return figures;
}

static void assert_near(double got, double wanted, double most) {
  if (!(fabs(got - wanted) <= most))
    fail_msg("got %g, want %g +- %g", got, wanted, most);
}

/* Returns the mean change, over a period, of a grating that moves by this many pixels. Between whole pixels it would be
 * 4 strong / pi |sin(pi pixels / PERIOD)|. */
static double grating_error(double pixels) {
  double sum = 0;
  for (int x = 0; x < PERIOD; x++)
    sum += fabs(grating(x) - grating(x - pixels));
  assert_near(sum / PERIOD, 4 * strong / M_PI * fabs(sin(M_PI * pixels / PERIOD)), 0.5);
  return sum / PERIOD;
}

static void test_pan_has_the_errors_that_can_be_calculated(void **state) {
  (void)state;
  struct steadiness_motion perfect = judge(MOTION_PAN, PERFECT), fixed = judge(MOTION_PAN, FIXED),
                           carried = judge(MOTION_PAN, CARRIED);
  assert_near(perfect.step.output, 0, 0);
  assert_near(perfect.step.input, 0, 0);
  assert_near(perfect.ends.output, 0, 0);
  assert_near(perfect.detail, 1, 0);
  /* Without the border, all of the picture was seen before, except the columns and rows that come in. */
  assert_near(perfect.step.share, (WIDTH - 2.0 * 2 - 2) * (HEIGHT - 2.0 * 2 - 1) / (WIDTH * HEIGHT), 1e-6);
  assert_near(fixed.step.output, grating_error(2), 1e-3);
  assert_near(fixed.ends.output, grating_error(2 * (MOTION_FRAMES - 1)), 1.5);
  assert_near(fixed.step.input, 0, 0);
  assert_near(fixed.detail, 1, 1e-6);
  assert_near(carried.step.output, 0, 1e-4);
  assert_near(carried.ends.output, 0, 1e-4);
  assert_near(carried.detail, 1, 0.05);
}

/* Blurred and ghosted outputs get no better judgement: they change less, but the value of detail falls. */
static void test_blur_and_ghosts_lose_detail(void **state) {
  (void)state;
  for (enum motion motion = 0; motion < MOTIONS_MOVING; motion++) {
    struct steadiness_motion blurred = judge(motion, BLURRED), ghosted = judge(motion, GHOSTED),
                             perfect = judge(motion, PERFECT);
    assert_true(blurred.detail < 0.9);
    assert_true(ghosted.detail < 0.99);
    assert_near(perfect.detail, 1, 0);
    /* with other motions the perfect output loses detail, too, by interpolation */
    if (motion == MOTION_PAN || motion == MOTION_CUT_OUT)
      assert_true(ghosted.step.output > perfect.step.output + 0.2);
  }
}

/* Frames of a made clip, brought back along the motion, differ only by resampling and rounding; and a texture that is
 * fixed to the screen is judged worse in each clip. */
static void test_origins_lead_to_the_same_thing(void **state) {
  (void)state;
  const double least_share[] = {0.85, 0.85, 0.85, 0.80};
  for (enum motion motion = 0; motion < MOTIONS_MOVING; motion++) {
    struct steadiness_motion perfect = judge(motion, PERFECT), fixed = judge(motion, FIXED),
                             frozen = judge(motion, FROZEN);
    bool whole = motion == MOTION_PAN || motion == MOTION_CUT_OUT;
    assert_near(perfect.step.output, 0, whole ? 0 : 0.45);
    assert_near(perfect.ends.output, 0, whole ? 0 : 0.6);
    assert_true(perfect.step.share > least_share[motion] && perfect.step.share < 1);
    assert_true(fixed.step.output > perfect.step.output + 0.1);
    assert_true(frozen.ends.output > perfect.ends.output + 3);
  }
}

static void test_what_is_uncovered_is_known(void **state) {
  (void)state;
  static bool where[WIDTH * HEIGHT], again[WIDTH * HEIGHT];
  struct origins origins;
  int uncovered = 0;
  assert_false(origins_make(&origins, WIDTH, HEIGHT, NULL));
  motion_origins(MOTION_CUT_OUT, 7, 6, &origins);
  motion_uncovered(7, 1, WIDTH, HEIGHT, where);
  motion_uncovered(8, 2, WIDTH, HEIGHT, again);
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    assert_false(where[i] && origins.seen[i]);
    assert_int_equal(where[i], again[i]);
    uncovered += where[i];
  }
  /* An ellipse of height h that moves by 3 pixels to the right uncovers about 3 h pixels. */
  assert_near(uncovered, 3 * 2 * HEIGHT / 4.0, 25);
  origins_free(&origins);
}

static struct steadiness_lag after_cut(enum engine engine) {
  struct clip *clip = make_clip(MOTION_CUT, engine), *fresh = make_clip_from(MOTION_CUT, engine, MOTION_CUT_AT);
  struct steadiness_lag lag;
  steadiness_after_cut(&lag, clip->output, fresh->output + MOTION_CUT_AT);
  free_clip(clip);
  free_clip(fresh);
  return lag;
}

static struct steadiness_lag behind_edge(enum engine engine) {
  struct clip *clip = make_clip(MOTION_CUT_OUT, engine), *ground = make_clip(MOTION_GROUND, engine);
  struct steadiness_lag lag;
  assert_false(steadiness_behind_edge(&lag, &clip->frames, &ground->frames, NULL));
  free_clip(clip);
  free_clip(ground);
  return lag;
}

/* An output that keeps half of the picture before contains 1/2, 1/4, 1/8, 1/16 and then less than a twentieth of the
 * old scene. A texture and a blur do not count as old scene. */
static void test_lag_is_that_of_the_old_picture(void **state) {
  (void)state;
  const enum engine without[] = {PERFECT, FIXED, CARRIED, BLURRED};
  for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
    struct steadiness_lag cut = after_cut(without[i]), edge = behind_edge(without[i]);
    assert_int_equal(cut.frames, 0);
    assert_near(cut.share, 0, 1e-6);
    /* A blur spreads the cut-out beyond its edge. */
    assert_int_equal(edge.frames > 0, without[i] == BLURRED);
    if (without[i] != BLURRED)
      assert_near(edge.share, 0, 1e-6);
  }
  assert_near(after_cut(GHOSTED).share, keeps, 1e-4);
  assert_int_equal(after_cut(GHOSTED).frames, 4);
  assert_near(behind_edge(GHOSTED).share, keeps, 0.02);
  assert_int_equal(behind_edge(GHOSTED).frames, 4);
  assert_near(after_cut(FROZEN).share, 1, 0.2);
  assert_int_equal(after_cut(FROZEN).frames, STEADINESS_LAG_MAX);
}

/* With noise as the only change, an output equal to the input changes as much, one that doubles the difference from the
 * mean twice as much, and one that is frozen not at all. */
static void test_still_pixels(void **state) {
  (void)state;
  struct clip *clip = make_clip(MOTION_NOISE, PERFECT);
  struct steadiness_change still;
  assert_false(steadiness_where_still(&still, &clip->frames, NULL));
  assert_near(still.share, 1, 1e-3);
  assert_near(steadiness_ratio(&still), 1, 0);
  /* The mean of |a - b| is 2 / sqrt(pi) standard deviations, and a little more because of rounding. */
  assert_near(still.input, 2 * 2 / sqrt(M_PI), 0.05);
  for (int i = 0; i < MOTION_FRAMES; i++)
    for (size_t j = 0; j < (size_t)3 * WIDTH * HEIGHT; j++)
      clip->output[i].rgb[j] = 2 * clip->input[i].rgb[j] - 128;
  assert_false(steadiness_where_still(&still, &clip->frames, NULL));
  assert_near(steadiness_ratio(&still), 2, 1e-5);
  free_clip(clip);
  clip = make_clip(MOTION_NOISE, FROZEN);
  assert_false(steadiness_where_still(&still, &clip->frames, NULL));
  assert_near(steadiness_ratio(&still), 0, 0);
  free_clip(clip);
}

/* Pixels behind the cut-out and on its way do not count as still; the rest of the background does. */
static void test_moving_pixels_are_not_still(void **state) {
  (void)state;
  struct clip *clip = make_clip(MOTION_CUT_OUT, PERFECT);
  struct steadiness_change still;
  assert_false(steadiness_where_still(&still, &clip->frames, NULL));
  assert_near(still.output, 0, 0.25);
  assert_true(still.share > 0.5 && still.share < 0.95);
  assert_true(isnan(steadiness_ratio(&(struct steadiness_change){0, 0, 1})));
  free_clip(clip);
}

static struct blocks make_blocks(float dx, float dy) {
  struct blocks blocks = {16, WIDTH / 16, HEIGHT / 16, calloc((size_t)(WIDTH / 16) * (HEIGHT / 16) * 2, sizeof(float))};
  assert_non_null(blocks.dxdy);
  for (int i = 0; i < blocks.columns * blocks.rows; i++) {
    blocks.dxdy[2 * i] = dx;
    blocks.dxdy[2 * i + 1] = dy;
  }
  return blocks;
}

/* A measured motion that only follows noise is replaced by none, one that explains the pictures is kept, and vectors
 * that disagree with their neighbours are left out. */
static void test_flow_prefers_to_stand(void **state) {
  (void)state;
  struct origins origins;
  struct clip *noise = make_clip(MOTION_NOISE, PERFECT), *pan = make_clip(MOTION_PAN, PERFECT);
  struct blocks back = make_blocks(-2, -1), forth = make_blocks(2, 1), wrong = make_blocks(0, 0);
  assert_false(origins_make(&origins, WIDTH, HEIGHT, NULL));
  assert_false(judge_flow(&origins, &noise->input[1], &noise->input[0], &back, &forth, NULL));
  for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++)
    assert_true(!origins.seen[i] || origins.xy[2 * i] == (float)(i % WIDTH));
  assert_true(origins_share(&origins) > 0.99);
  assert_false(judge_flow(&origins, &pan->input[1], &pan->input[0], &back, &forth, NULL));
  struct judged change = {0};
  judge_change(&change, &pan->input[1], &pan->input[0], &origins);
  assert_true(origins_share(&origins) > 0.6);
  assert_near(judged_mean(&change), 0, 0.5);
  assert_false(judge_flow(&origins, &pan->input[1], &pan->input[0], &back, &wrong, NULL));
  assert_true(origins_share(&origins) < 0.35);
  free(back.dxdy);
  free(forth.dxdy);
  free(wrong.dxdy);
  origins_free(&origins);
  free_clip(noise);
  free_clip(pan);
}

/* A pan whose motion must be measured: a texture that is fixed to the screen is judged worse also with the measured
 * flow. */
static void test_flow_is_found(void **state) {
  (void)state;
  struct estimated_flow flow;
  struct steadiness_change perfect, fixed;
  struct error err;
  struct clip *clip = make_clip(MOTION_PAN, PERFECT), *other = make_clip(MOTION_PAN, FIXED);
  if (estimated_flow_find(&flow, clip->input, MOTION_FRAMES, &err)) {
    print_message("%s\n", err.message);
    free_clip(clip);
    free_clip(other);
    skip();
  }
  int right = 0, all = 0;
  for (int i = 1; i < MOTION_FRAMES; i++)
    for (int row = 1; row < flow.back[i].rows - 1; row++)
      for (int column = 1; column < flow.back[i].columns - 1; column++, all++) {
        const float *back = flow.back[i].dxdy + 2 * (row * flow.back[i].columns + column);
        const float *forth = flow.forth[i - 1].dxdy + 2 * (row * flow.back[i].columns + column);
        right += back[0] == -2 && back[1] == -1 && forth[0] == 2 && forth[1] == 1;
      }
  assert_true(all > 100);
  assert_int_equal(right, all);
  assert_false(steadiness_along_flow(&perfect, &clip->frames, &flow, NULL));
  assert_false(steadiness_along_flow(&fixed, &other->frames, &flow, NULL));
  assert_true(perfect.share > 0.35); /* the outer blocks are left out, because their motion cannot be measured */
  assert_near(perfect.output, 0, 0.5);
  assert_near(fixed.output, grating_error(2), 0.8);
  estimated_flow_free(&flow);
  free_clip(clip);
  free_clip(other);
}

/* Interpolation is exact at whole pixels, and between them for a linear gradient. */
static void test_sampling(void **state) {
  (void)state;
  struct raster plane = make_raster(9, 7);
  float rgb[3];
  for (int y = 0; y < 7; y++)
    for (int x = 0; x < 9; x++)
      for (int c = 0; c < 3; c++)
        raster_at(&plane, x, y)[c] = (float)(10 * x + 3 * y + c);
  raster_sample(&plane, 3, 2, rgb);
  assert_near(rgb[1], 37, 0);
  raster_sample(&plane, 3.25, 2.5, rgb);
  assert_near(rgb[2], 42, 1e-4);
  raster_sample(&plane, -5, 100, rgb);
  assert_near(rgb[0], 18, 0);
  raster_free(&plane);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pan_has_the_errors_that_can_be_calculated),
      cmocka_unit_test(test_blur_and_ghosts_lose_detail),
      cmocka_unit_test(test_origins_lead_to_the_same_thing),
      cmocka_unit_test(test_what_is_uncovered_is_known),
      cmocka_unit_test(test_lag_is_that_of_the_old_picture),
      cmocka_unit_test(test_still_pixels),
      cmocka_unit_test(test_moving_pixels_are_not_still),
      cmocka_unit_test(test_flow_prefers_to_stand),
      cmocka_unit_test(test_flow_is_found),
      cmocka_unit_test(test_sampling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
