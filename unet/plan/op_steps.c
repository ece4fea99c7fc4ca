#include "unet/plan/op_checks.h"

/* Returns at how many different steps of the sampler the latents of a stream batch are. together: number of
 * neighbouring latents at each step; 0 means 1. The result is 0 if the latents cannot be divided evenly. */
static int count_steps(int latents, int together) {
  int each = together ? together : 1;
  return each > 0 && latents % each == 0 ? latents / each : 0;
}

static bool fits_noise(struct tensor x, struct tensor noise) {
  return !tensor_exists(x) || !tensor_exists(noise) || (noise.h == x.h && noise.w == x.w && noise.c == x.c);
}

const char *op_check_between(const struct op *op, int runs, struct op_result *y) {
  struct tensor ends = op->between.ends, noise = op->between.noise;
  int pictures = op->between.pictures ? op->between.pictures : 1;
  (void)runs, (void)y;
  if (pictures < 1 || pictures > BATCH_MAX || noise.n % pictures)
    return "the samples are not of so many pictures";
  bool fits = ends.n == 2 * noise.n && ends.h == noise.h && ends.w == noise.w && ends.c == noise.c;
  return fits ? NULL : "the ends are not two of the noise's shape";
}

/* Returns true if the operand `last` (feedback) was left out, or is given together with all operands that it needs. */
static bool fits_feedback(const struct op_start *o) {
  if (!tensor_exists(o->last))
    return !tensor_exists(o->flow) && !tensor_exists(o->visible) && !tensor_exists(o->global);
  return tensor_exists(o->z) && fits_latents(o->last, o->z) && o->z.n == 1 && o->cell > 0 && has_size(o->flow, o->z) &&
         o->flow.c == 2 && has_size(o->visible, o->z) && o->visible.c == 1 &&
         tensor_elements(o->global) == GLOBAL_VALUES;
}

const char *op_check_start(const struct op *op, int runs, struct op_result *y) {
  const struct op_start *o = &op->start;
  (void)runs;
  *y = shape_of(tensor_exists(o->z) ? o->z : o->noise);
  y->demand = ELEMENT_PRECISE;
  if (!fits_feedback(o))
    return "the last latent, the flow and the cells that were seen do not fit the latent";
  return fits_noise(o->z, o->noise) && o->noise.n >= y->n ? NULL : "the noise's shape is not the latent's";
}

const char *op_check_mask(const struct op *op, int runs, struct op_result *y) {
  const struct op_mask *o = &op->mask;
  (void)runs;
  *y = shape_of(o->x);
  bool fits = o->kept.h == o->x.h && o->kept.w == o->x.w && o->kept.n == 1 && o->kept.c == 1;
  return fits ? NULL : "the mask's size differs from the picture's";
}

/* Returns true if the mask `kept` was left out, or has k x k values for each pixel of x, as one mask for all pictures
 * or one for each picture. */
static bool fits_mask(struct tensor kept, struct tensor x) {
  int k = kept.h / x.h;
  return !tensor_exists(kept) ||
         (k > 0 && (kept.n == 1 || kept.n == x.n) && kept.h == k * x.h && kept.w == k * x.w && kept.c == 1);
}

const char *op_check_unet_input(const struct op *op, int runs, struct op_result *y) {
  const struct op_unet_input *o = &op->unet_input;
  (void)runs;
  *y = (struct op_result){.n = o->y.n, .h = o->x.h, .w = o->x.w, .c = o->x.c + o->kept.c + o->image.c};
  if (!fits_mask(o->kept, o->x))
    return "the mask's size is no multiple of the latent's";
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->y.n);
  if (!has_rows(rows, o->y.n) || guidance_total(rows, o->x.n) != o->y.n)
    return "the guidance rows are not all there";
  return !tensor_exists(o->image) || has_size(o->image, o->x)
             ? NULL
             : "the image latent's size differs from the noisy latent's";
}

const char *op_check_guide(const struct op *op, int runs, struct op_result *y) {
  const struct op_guide *o = &op->guide;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->model.n);
  int latents = tensor_exists(o->x) ? o->x.n : 1, steps = count_steps(latents, o->together);
  struct tensor one = o->model;
  one.n = latents;
  *y = shape_of(one);
  y->demand = ELEMENT_PRECISE;
  if (!steps || !has_steps(o->step, runs + steps - 1))
    return "no such step";
  if (!has_rows(rows, o->model.n) || guidance_total(rows, latents) != o->model.n)
    return "the guidance rows are not all there";
  if (!fits_latents(o->x, one) || !fits_latents(o->reference, one) || !fits_latents(o->anew, one))
    return "x, reference or anew do not have the prediction's shape";
  if (tensor_exists(o->anew) && (rows.first != 2 || (o->together > 1 && rows.each != 2) || !tensor_exists(o->x)))
    return "there is nothing to make the reference anew from";
  return !tensor_exists(o->reference) || tensor_exists(o->x) ? NULL : "a reference without an x";
}

const char *op_check_step(const struct op *op, int runs, struct op_result *y) {
  const struct op_step *o = &op->step;
  struct tensor m = o->model;
  int steps = count_steps(o->x.n, o->together);
  (void)y;
  if (!steps || !has_steps(o->step, runs + steps - 1) ||
      (tensor_exists(o->noise) && o->step >= o->noise.n / (o->x.n / steps)))
    return "no such step";
  if (!fits_noise(o->x, o->noise))
    return "the noise's shape is not the latent's";
  if (!fits_latents(m, o->x))
    return "the prediction does not have the latent's shape";
  if (!fits_noise(o->x, o->earlier) || o->earlier.n % o->x.n || o->earlier.n / o->x.n > EARLIER_MAX)
    return "the earlier predictions do not have the latent's shape, or are too many";
  return is_same(o->earlier, o->x) || is_same(o->earlier, m) ? "the earlier predictions are another operand" : NULL;
}
