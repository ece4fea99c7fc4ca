#include "app/bench/steadiness.h"

#include <math.h>
#include <stdlib.h>

double steadiness_ratio(const struct steadiness_change *change) {
  return change->input > 0 ? change->output / change->input : NAN;
}

double steadiness_detail(const struct steadiness_frames *frames) {
  double output = 0, alone = 0;
  for (int i = 0; i < frames->count; i++) {
    output += judge_energy(&frames->output[i]);
    alone += judge_energy(&frames->alone[i]);
  }
  return alone > 0 ? output / alone : NAN;
}

/* Sums of the outputs' changes and of the inputs' changes over several pairs of frames. */
struct changes {
  struct judged output, input;
  double share;
  int pairs;
};

static void add_change(struct changes *changes, const struct steadiness_frames *frames, int now, int before,
                       const struct origins *origins) {
  judge_change(&changes->output, &frames->output[now], &frames->output[before], origins);
  judge_change(&changes->input, &frames->input[now], &frames->input[before], origins);
  changes->share += origins_share(origins);
  changes->pairs++;
}

static struct steadiness_change mean_change(const struct changes *changes) {
  return (struct steadiness_change){judged_mean(&changes->output), judged_mean(&changes->input),
                                    changes->pairs ? changes->share / changes->pairs : 0};
}

static int make_origins(struct origins *origins, const struct steadiness_frames *frames, struct error *err) {
  return origins_make(origins, frames->input->width, frames->input->height, err);
}

int steadiness_of_motion(struct steadiness_motion *figures, enum motion motion, const struct steadiness_frames *frames,
                         struct error *err) {
  struct origins origins;
  struct changes steps = {0}, ends = {0};
  if (make_origins(&origins, frames, err))
    return -1;
  for (int i = 1; i < frames->count; i++) {
    motion_origins(motion, i, i - 1, &origins);
    add_change(&steps, frames, i, i - 1, &origins);
  }
  motion_origins(motion, frames->count - 1, 0, &origins);
  add_change(&ends, frames, frames->count - 1, 0, &origins);
  origins_free(&origins);
  *figures = (struct steadiness_motion){mean_change(&steps), mean_change(&ends), steadiness_detail(frames)};
  return 0;
}

static struct steadiness_lag lag_of(const struct ghost after[STEADINESS_LAG_MAX]) {
  return (struct steadiness_lag){judge_lag(after, STEADINESS_LAG_MAX), ghost_share(&after[0])};
}

void steadiness_after_cut(struct steadiness_lag *lag, const struct raster *output, const struct raster *fresh) {
  struct ghost after[STEADINESS_LAG_MAX] = {0};
  for (int i = 0; i < STEADINESS_LAG_MAX; i++) {
    const struct ghost_pictures pictures = {&output[MOTION_CUT_AT + i], &fresh[i], &output[MOTION_CUT_AT - 1]};
    judge_ghost(&after[i], &pictures, NULL);
  }
  *lag = lag_of(after);
}

/* Computes what output number `now` would be if the cut-out ellipse had appeared only in this frame. That is the output
 * for the background, plus the ellipse's effect when the frame is computed alone. */
static void without_past(struct raster *to, const struct steadiness_frames *cut_out,
                         const struct steadiness_frames *ground, int now) {
  size_t count = (size_t)to->width * to->height * 3;
  for (size_t i = 0; i < count; i++)
    to->rgb[i] = ground->output[now].rgb[i] + cut_out->alone[now].rgb[i] - ground->alone[now].rgb[i];
}

int steadiness_behind_edge(struct steadiness_lag *lag, const struct steadiness_frames *cut_out,
                           const struct steadiness_frames *ground, struct error *err) {
  struct ghost after[STEADINESS_LAG_MAX] = {0};
  int width = cut_out->input->width, height = cut_out->input->height;
  struct raster unaffected;
  bool *where = malloc((size_t)width * height * sizeof *where);
  if (!where || raster_make(&unaffected, width, height, err)) {
    free(where);
    return error_set(err, STATUS_FAILED, "no memory for a picture of %dx%d", width, height);
  }
  for (int now = 1; now < cut_out->count; now++) {
    without_past(&unaffected, cut_out, ground, now);
    for (int age = 1; age <= now && age <= STEADINESS_LAG_MAX; age++) {
      const struct ghost_pictures pictures = {&cut_out->output[now], &unaffected, &cut_out->output[now - age]};
      motion_uncovered(now, age, width, height, where);
      judge_ghost(&after[age - 1], &pictures, where);
    }
  }
  free(where);
  raster_free(&unaffected);
  *lag = lag_of(after);
  return 0;
}

int steadiness_where_still(struct steadiness_change *still, const struct steadiness_frames *frames, struct error *err) {
  struct origins origins;
  struct changes changes = {0};
  int status = make_origins(&origins, frames, err);
  for (int i = 1; i < frames->count && !status; i++) {
    status = judge_still(&origins, &frames->input[i], &frames->input[i - 1], err);
    if (!status)
      add_change(&changes, frames, i, i - 1, &origins);
  }
  origins_free(&origins);
  *still = mean_change(&changes);
  return status;
}

int steadiness_along_flow(struct steadiness_change *warp, const struct steadiness_frames *frames,
                          const struct estimated_flow *flow, struct error *err) {
  struct origins origins;
  struct changes changes = {0};
  int status = make_origins(&origins, frames, err);
  for (int i = 1; i < frames->count && !status; i++) {
    status = judge_flow(&origins, &frames->input[i], &frames->input[i - 1], &flow->back[i], &flow->forth[i - 1], err);
    if (!status)
      add_change(&changes, frames, i, i - 1, &origins);
  }
  origins_free(&origins);
  *warp = mean_change(&changes);
  return status;
}
