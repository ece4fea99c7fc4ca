/* The noise of frames: that of a seed, or at a position between two seeds. The host makes the noise of whole seeds and
 * writes it to the device. Between two seeds noise_program interpolates on the device: it reads the noise of both seeds
 * from the tensors prepared.ends, and writes the result to the tensors prepared.noise, which the frame's plan reads. */
#include <math.h>
#include <stdlib.h>

#include "unet/engine/engine_impl.h"
#include "unet/sample/noise.h"

/* number of values of noise that are computed in advance after each frame; they take 0.16 ms of one core */
enum { AHEAD_ELEMENTS = 1 << 13 };

static int batch_of(const struct prepared *prepared) {
  return prepared->noise.start.n;
}

static size_t sample_elements(const struct prepared *prepared) {
  return tensor_elements(prepared->noise.start) / (size_t)batch_of(prepared);
}

int noise_allocate(struct prepared *prepared, struct error *err) {
  size_t sample = sample_elements(prepared), samples = 1 + (size_t)prepared->shape.noise_samples;
  bool carried = tensor_exists(prepared->noise.second);
  prepared->made.values = malloc(samples * sample * sizeof *prepared->made.values);
  if (carried)
    prepared->second.values = malloc(sample * sizeof *prepared->second.values);
  if (!prepared->made.values || (carried && !prepared->second.values))
    return error_set(err, STATUS_FAILED, "out of memory");
  return 0;
}

/* Returns the first `elements` values of a seed's noise, a sequence of samples of `sample` values each; the first
 * sample has the number `first`. Computes only values that *made does not have yet; if *made has another seed's values,
 * these are dropped. */
static const float *make_noise(struct made_noise *made, uint64_t seed, size_t first, size_t sample, size_t elements) {
  if (made->seed != seed)
    made->elements = 0;
  made->seed = seed;
  while (made->elements < elements) {
    size_t at = made->elements % sample, left = elements - made->elements,
           count = left < sample - at ? left : sample - at;
    noise_fill(seed, (uint32_t)(first + made->elements / sample), at, made->values + made->elements, count);
    made->elements += count;
  }
  return made->values;
}

/* A seed's noise is a sequence of samples. The first ones are those with which sampling starts and those of all steps.
 * The one after them fills the second table of noise, which is needed only by noise that moves with the picture.
 * Returns that sample's number. The sample has memory of its own (prepared->second), so it can be computed without the
 * samples of the steps. */
static size_t second_sample(const struct prepared *prepared) {
  return 1 + (size_t)prepared->shape.noise_samples;
}

static int write_second(struct engine *engine, struct prepared *prepared, struct program *program, uint64_t seed,
                        struct tensor to, size_t index, struct error *err) {
  size_t count = sample_elements(prepared);
  const float *values = make_noise(&prepared->second, seed, second_sample(prepared), count, count);
  return device_write(engine->device, program, to, index * count, values, count, err);
}

static int write_noise_sample(struct engine *engine, struct prepared *prepared, struct program *program, uint64_t seed,
                              size_t number, struct tensor to, size_t index, struct error *err) {
  size_t count = sample_elements(prepared);
  const float *values = make_noise(&prepared->made, seed, 0, count, (number + 1) * count) + number * count;
  return device_write(engine->device, program, to, index * count, values, count, err);
}

/* Writes a seed's noise for one picture into the tensors of `program`, except for noise that they contain already
 * (*held tells which). The noise of a step is written only if the sampler's table adds noise in that step. end: 0 or 1,
 * only for noise_program, whose tensors contain the samples of two seeds: all of the first, then all of the second. */
static int write_noise(struct engine *engine, struct prepared *prepared, struct program *program,
                       struct held_noise *held, uint64_t seed, int end, int picture, struct error *err) {
  bool at_end = program == prepared->noise_program;
  struct tensor start = at_end ? prepared->ends.start : prepared->noise.start,
                steps = at_end ? prepared->ends.steps : prepared->noise.steps,
                second = at_end ? prepared->ends.second : prepared->noise.second;
  int batch = batch_of(prepared);
  if (held->seed != seed)
    *held = (struct held_noise){.seed = seed};
  if (!held->start &&
      write_noise_sample(engine, prepared, program, seed, 0, start, (size_t)(end * batch + picture), err) < 0)
    return -1;
  held->start = true;
  for (; held->samples < sampler_table_noise(&prepared->table); held->samples++) {
    size_t index = (size_t)((end * prepared->shape.noise_samples + held->samples) * batch + picture);
    if (write_noise_sample(engine, prepared, program, seed, 1 + (size_t)held->samples, steps, index, err) < 0)
      return -1;
  }
  if (tensor_exists(second) && !held->second &&
      write_second(engine, prepared, program, seed, second, (size_t)end, err) < 0)
    return -1;
  held->second = true;
  return 0;
}

static bool holds(const struct prepared *prepared, const struct held_noise *held, uint64_t seed) {
  return held->start && held->second && held->seed == seed && held->samples >= sampler_table_noise(&prepared->table);
}

/* Interpolation reads the noise of two consecutive seeds. Memory 0 has the even seed's noise and memory 1 the odd
 * one's. So, when the seed position passes a whole seed, only one of the two has to be written anew. Returns the
 * number (0 or 1) of the memory for place->seed; place->to has the other one. */
static int first_end(const struct noise_place *place) {
  return (int)(place->seed % 2);
}

static int write_end(struct engine *engine, struct prepared *prepared, int picture, uint64_t seed, int end,
                     struct error *err) {
  return write_noise(engine, prepared, prepared->noise_program, &prepared->noises[picture].end[end], seed, end, picture,
                     err);
}

/* The positions between two seeds at which the noise of a run's pictures lies. */
struct noise_places {
  struct noise_place of[BATCH_MAX];
  int count;
};

static bool is_at(const struct picture_noise *noise, const struct noise_place *place, int samples) {
  return noise->between && noise->place.seed == place->seed && noise->place.to == place->to &&
         noise->place.part == place->part && noise->samples >= samples;
}

static int write_ends(struct engine *engine, struct prepared *prepared, int picture, const struct noise_place *place,
                      struct error *err) {
  int first = first_end(place);
  if (write_end(engine, prepared, picture, place->seed, first, err) < 0)
    return -1;
  return place->part > 0 ? write_end(engine, prepared, picture, place->to, 1 - first, err) : 0;
}

/* Makes noise between two seeds on the device: the noise of one seed times the cosine of an angle, plus that of the
 * other times the sine, so that the sum is standard normal again. Frames in flight need not be waited for: the device
 * works in order, so they have read the old noise before it is overwritten. */
static int write_between(struct engine *engine, struct prepared *prepared, const struct noise_places *places,
                         struct error *err) {
  static const double quarter_turn = 1.57079632679489661923;
  struct run_params run = {0};
  int samples = sampler_table_noise(&prepared->table), there = 0;
  for (int i = 0; i < places->count; i++)
    there += is_at(&prepared->noises[i], &places->of[i], samples);
  if (there == places->count)
    return 0;
  for (int i = 0; i < BATCH_MAX; i++)
    prepared->noises[i].between = false;
  for (int i = 0; i < places->count; i++) {
    const struct noise_place *place = &places->of[i];
    run.between[i][first_end(place)] = (float)cos(place->part * quarter_turn);
    run.between[i][1 - first_end(place)] = (float)sin(place->part * quarter_turn);
    if (write_ends(engine, prepared, i, place, err) < 0)
      return -1;
  }
  if (device_start(engine->device, prepared->noise_program, &run, err) < 0)
    return -1;
  for (int i = 0; i < places->count; i++) {
    prepared->noises[i].place = places->of[i];
    prepared->noises[i].samples = samples;
    prepared->noises[i].between = true;
  }
  return 0;
}

static int write_whole(struct engine *engine, struct prepared *prepared, const struct noise_places *places,
                       struct error *err) {
  for (int i = 0; i < places->count; i++) {
    struct picture_noise *noise = &prepared->noises[i];
    noise->between = false;
    if (write_noise(engine, prepared, prepared->program, &noise->whole, places->of[i].seed, 0, i, err) < 0)
      return -1;
  }
  return 0;
}

static struct noise_place find_place(const struct controls *controls) {
  static const double far = 0x1p53;
  double position = isfinite(controls->seed_position) ? fmin(far, fmax(-far, controls->seed_position)) : 0;
  double whole = floor(position);
  uint64_t seed = controls->seed + (uint64_t)(int64_t)whole, to = controls->seed_to;
  if (controls->seed_share >= 1)
    return (struct noise_place){to, to + 1, 0};
  if (controls->seed_share > 0 && to != seed)
    return (struct noise_place){seed, to, controls->seed_share};
  return (struct noise_place){seed, seed + 1, controls->seed_share > 0 ? 0 : position - whole};
}

/* Positions lie at seeds or between two seeds. Returns by how many seeds `to` lies above `from`, with fractions;
 * negative if `to` lies below `from`. */
static double distance(const struct noise_place *from, const struct noise_place *to) {
  return (double)(int64_t)(to->seed - from->seed) + to->part - from->part;
}

/* Returns true if noise_program must make the picture's noise: its position is between two seeds, or it is at a seed
 * whose noise the device has only as one of the two ends of interpolation. */
static bool goes_by_ends(const struct prepared *prepared, int picture, const struct noise_place *place) {
  const struct picture_noise *noise = &prepared->noises[picture];
  return place->part > 0 ||
         (!holds(prepared, &noise->whole, place->seed) && holds(prepared, &noise->end[first_end(place)], place->seed));
}

int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *const *controls, int count,
                struct error *err) {
  struct noise_places places = {.count = count};
  bool by_ends = false;
  int status;
  for (int i = 0; i < count; i++) {
    places.of[i] = find_place(controls[i]);
    by_ends |= goes_by_ends(prepared, i, &places.of[i]);
  }
  /* noise_program writes the noise of all pictures of the run, so if one picture needs the program, it is used for
   * all */
  if (by_ends) {
    for (int i = 0; i < BATCH_MAX; i++)
      prepared->noises[i].whole = (struct held_noise){0};
    status = write_between(engine, prepared, &places, err);
  } else {
    status = write_whole(engine, prepared, &places, err);
  }
  const struct noise_place *last = &places.of[count - 1];
  prepared->step = distance(count > 1 ? &places.of[count - 2] : &prepared->place, last);
  prepared->place = *last;
  return status;
}

/* Computes the next values of a seed's noise in `made`, at most AHEAD_ELEMENTS, until `made` has `all` values. sample:
 * number of values of one sample (the noise for one latent); first: number of the first sample. Returns false if all
 * values were computed already. */
static bool make_some(struct made_noise *made, uint64_t seed, size_t first, size_t sample, size_t all) {
  size_t there = made->seed == seed ? made->elements : 0;
  make_noise(made, seed, first, sample, all < there + AHEAD_ELEMENTS ? all : there + AHEAD_ELEMENTS);
  return there < all;
}

void noise_make_ahead(struct prepared *prepared) {
  const struct noise_place *place = &prepared->place;
  size_t sample = sample_elements(prepared), all = (1 + (size_t)sampler_table_noise(&prepared->table)) * sample;
  bool on = prepared->step > 0 && prepared->step < 1 && place->part >= 0.5,
       back = prepared->step < 0 && prepared->step > -1 && place->part <= 0.5;
  if ((!on && !back) || place->to != place->seed + 1)
    return;
  uint64_t seed = on ? place->seed + 2 : place->seed - 1;
  if (!make_some(&prepared->made, seed, 0, sample, all) && prepared->second.values)
    make_some(&prepared->second, seed, second_sample(prepared), sample, sample);
}
