#include "app/bench/judges.h"

#include <math.h>
#include <stdlib.h>

/* Constants of judge_still. still_blur: standard deviation, in pixels, of the blur that removes the sensor's noise.
 * still_change: largest change of the blurred luminance, in grey levels, of a pixel that stands still. STILL_REACH:
 * distance in pixels within which nothing may move.
 *
 * Noise with a standard deviation of 4 grey levels leaves 0.7 in the difference of two blurred pictures, so noise
 * hardly ever reaches 2. */
static const double still_blur = 2.5, still_change = 2;
enum { STILL_REACH = 4 };

/* Constants of judge_flow. flow_blur: standard deviation of the blur, in pixels. A block's estimated motion is used if
 * it lowers the block's difference to at most flow_part of the difference without motion, and by at least flow_gain
 * grey levels. A block whose remaining difference exceeds flow_unexplained grey levels is not judged. flow_agreement:
 * largest allowed distance, in pixels, between the motions of the two directions. */
static const double flow_blur = 1.5, flow_part = 0.75, flow_gain = 0.8, flow_unexplained = 3, flow_agreement = 1;

static const double seen_share = 0.05;

int origins_make(struct origins *origins, int width, int height, struct error *err) {
  size_t count = (size_t)width * height;
  *origins = (struct origins){width, height, malloc(2 * count * sizeof(float)), calloc(count, sizeof(bool))};
  if (!origins->xy || !origins->seen) {
    origins_free(origins);
    return error_set(err, STATUS_FAILED, "no memory for the motion of a picture of %dx%d", width, height);
  }
  for (size_t i = 0; i < count; i++) {
    origins->xy[2 * i] = (float)(i % (size_t)width);
    origins->xy[2 * i + 1] = (float)(i / (size_t)width);
  }
  return 0;
}

void origins_free(struct origins *origins) {
  free(origins->xy);
  free(origins->seen);
  *origins = (struct origins){0};
}

double origins_share(const struct origins *origins) {
  size_t count = (size_t)origins->width * origins->height, seen = 0;
  for (size_t i = 0; i < count; i++)
    seen += origins->seen[i];
  return count ? (double)seen / (double)count : 0;
}

void origins_leave_border(struct origins *origins, int border) {
  for (int y = 0; y < origins->height; y++)
    for (int x = 0; x < origins->width; x++)
      if (x < border || y < border || x >= origins->width - border || y >= origins->height - border)
        origins->seen[(size_t)y * origins->width + x] = false;
}

double judged_mean(const struct judged *judged) {
  return judged->count > 0 ? judged->sum / judged->count : NAN;
}

void judge_change(struct judged *judged, const struct raster *now, const struct raster *before,
                  const struct origins *origins) {
  size_t count = (size_t)now->width * now->height;
  for (size_t i = 0; i < count; i++) {
    float origin[3];
    if (!origins->seen[i])
      continue;
    raster_sample(before, origins->xy[2 * i], origins->xy[2 * i + 1], origin);
    for (int c = 0; c < 3; c++)
      judged->sum += fabs((double)now->rgb[3 * i + c] - origin[c]) / 3;
    judged->count++;
  }
}

/* Computes the blurred luminances of both pictures. Both arrays are in one allocation, which begins at *now_luma and
 * which the caller frees. Returns 0, or -1 with err and nothing to free. */
static int denoise_both(const struct raster *now, const struct raster *before, double deviation, float **now_luma,
                        float **before_luma, struct error *err) {
  size_t count = (size_t)now->width * now->height;
  *now_luma = malloc(2 * count * sizeof(float));
  if (!*now_luma)
    return error_set(err, STATUS_FAILED, "no memory for a picture of %dx%d", now->width, now->height);
  *before_luma = *now_luma + count;
  if (!raster_denoise(now, deviation, *now_luma, err) && !raster_denoise(before, deviation, *before_luma, err))
    return 0;
  free(*now_luma);
  *now_luma = NULL;
  return -1;
}

/* Sets origins->seen to false for all pixels within STILL_REACH of the moving pixel (x, y). */
static void spread_motion(struct origins *origins, int x, int y) {
  for (int j = y - STILL_REACH; j <= y + STILL_REACH; j++)
    for (int i = x - STILL_REACH; i <= x + STILL_REACH; i++)
      if (i >= 0 && j >= 0 && i < origins->width && j < origins->height)
        origins->seen[(size_t)j * origins->width + i] = false;
}

int judge_still(struct origins *origins, const struct raster *now, const struct raster *before, struct error *err) {
  float *now_luma, *before_luma;
  size_t count = (size_t)now->width * now->height;
  if (denoise_both(now, before, still_blur, &now_luma, &before_luma, err))
    return -1;
  for (size_t i = 0; i < count; i++)
    origins->seen[i] = true;
  for (size_t i = 0; i < count; i++)
    if (fabsf(now_luma[i] - before_luma[i]) >= still_change)
      spread_motion(origins, (int)(i % (size_t)now->width), (int)(i / (size_t)now->width));
  free(now_luma);
  return 0;
}

/* The luminances of two pictures. The motion leads from a block of `from` to its position in `to`. */
struct lumas {
  const float *from, *to;
  int width, height;
};

/* Stores a block's motion in `to`. It is (0, 0) unless the estimated motion explains the difference of the pictures
 * clearly better, and NAN if neither explains it. Pixels that the motion takes outside the picture do not count; if
 * they are more than half of the block, the result is NAN. */
static void choose_motion(const struct lumas *lumas, int x0, int y0, int size, const float moved[2], float to[2]) {
  double still = 0, moving = 0;
  int count = 0, width = lumas->width, dx = (int)lrintf(moved[0]), dy = (int)lrintf(moved[1]);
  for (int y = y0; y < y0 + size; y++)
    for (int x = x0; x < x0 + size; x++) {
      if (x + dx < 0 || y + dy < 0 || x + dx >= width || y + dy >= lumas->height)
        continue;
      double here = lumas->from[(size_t)y * width + x];
      still += fabs(here - lumas->to[(size_t)y * width + x]);
      moving += fabs(here - lumas->to[(size_t)(y + dy) * width + x + dx]);
      count++;
    }
  bool moves = moving <= flow_part * still && still - moving >= flow_gain * count;
  bool explained = 2 * count >= size * size && (moves ? moving : still) <= flow_unexplained * count;
  for (int i = 0; i < 2; i++)
    to[i] = !explained ? NAN : moves ? moved[i] : 0;
}

static void choose_motions(const struct lumas *lumas, const struct blocks *blocks, float *motion) {
  for (int row = 0; row < blocks->rows; row++)
    for (int column = 0; column < blocks->columns; column++) {
      size_t at = 2 * ((size_t)row * blocks->columns + column);
      choose_motion(lumas, column * blocks->size, row * blocks->size, blocks->size, blocks->dxdy + at, motion + at);
    }
}

/* Returns the motion of the block to which pixel (x, y) belongs; pixels to the right of or below all blocks belong to
 * the nearest one. NULL: the pixel lies outside the picture, or there are no blocks. */
static const float *motion_at(const struct blocks *blocks, const float *motion, const struct origins *size, int x,
                              int y) {
  if (x < 0 || y < 0 || x >= size->width || y >= size->height || blocks->columns < 1 || blocks->rows < 1)
    return NULL;
  int column = x / blocks->size, row = y / blocks->size;
  column = column < blocks->columns ? column : blocks->columns - 1;
  row = row < blocks->rows ? row : blocks->rows - 1;
  return motion + 2 * ((size_t)row * blocks->columns + column);
}

static void follow(struct origins *origins, const struct blocks *back, const float *back_motion,
                   const struct blocks *forth, const float *forth_motion) {
  for (int y = 0; y < origins->height; y++)
    for (int x = 0; x < origins->width; x++) {
      size_t i = (size_t)y * origins->width + x;
      const float *there = motion_at(back, back_motion, origins, x, y), *again = NULL;
      if (there && !isnan(there[0])) {
        origins->xy[2 * i] = (float)x + there[0];
        origins->xy[2 * i + 1] = (float)y + there[1];
        again = motion_at(forth, forth_motion, origins, (int)lrintf(origins->xy[2 * i]),
                          (int)lrintf(origins->xy[2 * i + 1]));
      }
      origins->seen[i] =
          again && fabsf(there[0] + again[0]) <= flow_agreement && fabsf(there[1] + again[1]) <= flow_agreement;
    }
}

int judge_flow(struct origins *origins, const struct raster *now, const struct raster *before,
               const struct blocks *back, const struct blocks *forth, struct error *err) {
  float *now_luma, *before_luma;
  size_t back_count = 2 * (size_t)back->columns * back->rows, forth_count = 2 * (size_t)forth->columns * forth->rows;
  float *motion = malloc((back_count + forth_count) * sizeof *motion), *forth_motion = motion + back_count;
  if (!motion)
    return error_set(err, STATUS_FAILED, "no memory for the motion of a picture of %dx%d", now->width, now->height);
  if (denoise_both(now, before, flow_blur, &now_luma, &before_luma, err)) {
    free(motion);
    return -1;
  }
  choose_motions(&(struct lumas){now_luma, before_luma, now->width, now->height}, back, motion);
  choose_motions(&(struct lumas){before_luma, now_luma, now->width, now->height}, forth, forth_motion);
  follow(origins, back, motion, forth, forth_motion);
  free(now_luma);
  free(motion);
  return 0;
}

double judge_energy(const struct raster *raster) {
  double sum = 0;
  for (int y = 0; y + 1 < raster->height; y++)
    for (int x = 0; x + 1 < raster->width; x++)
      for (int c = 0; c < 3; c++) {
        double here = raster_at(raster, x, y)[c], across = raster_at(raster, x + 1, y)[c] - here,
               down = raster_at(raster, x, y + 1)[c] - here;
        sum += across * across + down * down;
      }
  return sum / (3.0 * (raster->width - 1) * (raster->height - 1));
}

void judge_ghost(struct ghost *ghost, const struct ghost_pictures *pictures, const bool *where) {
  size_t count = (size_t)pictures->output->width * pictures->output->height;
  for (size_t i = 0; i < count; i++)
    for (size_t c = 3 * i; c < 3 * i + 3 && (!where || where[i]); c++) {
      double unaffected = pictures->unaffected->rgb[c], old = pictures->old->rgb[c] - unaffected;
      ghost->dot += (pictures->output->rgb[c] - unaffected) * old;
      ghost->norm += old * old;
    }
}

double ghost_share(const struct ghost *ghost) {
  return ghost->norm > 0 ? ghost->dot / ghost->norm : NAN;
}

int judge_lag(const struct ghost *after, int count) {
  int lag = 0;
  for (int i = 0; i < count; i++)
    if (fabs(ghost_share(&after[i])) >= seen_share)
      lag = i + 1;
  return lag;
}
