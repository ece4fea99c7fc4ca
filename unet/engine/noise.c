/* The noise of frames: that of a seed, or that of a position between two seeds. The host computes the noise of whole
 * seeds and writes it to the device. Between two seeds, noise_program interpolates on the device: it reads both seeds'
 * noise from the tensors prepared.ends, and writes the result to prepared.noise, which the frame's plan reads. */
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

/* Returns the first `elements` values of a seed's noise: samples of `sample` values each, the first of which has the
 * number `first`. *made keeps the computed values, so that only missing ones are computed; those of another seed are
 * dropped. */
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

/* A seed's noise is a sequence of samples: first the sample with which sampling starts, then one for each step, then
 * one for the second table of noise, which only noise that moves with the picture needs. Returns the number of that
 * last sample. It has memory of its own (prepared->second), so it can be computed without the samples of the steps. */
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

/* Writes a seed's noise for one picture into the tensors of `program`, except what they contain already (*held tells
 * that). The noise of steps is written only up to the last step in which the sampler's table adds noise. end: for
 * noise_program, which interpolates between two seeds: 0 or 1, the half of its tensors for this seed; otherwise 0. */
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

/* Interpolation reads the noise of two consecutive seeds. Memory 0 has the even seed's noise, memory 1 the odd one's.
 * So when the position passes a whole seed, only one of the two is written anew. Returns the number (0 or 1) of the
 * memory for place->seed; place->to uses the other one. */
static int first_end(const struct noise_place *place) {
  return (int)(place->seed % 2);
}

static int write_end(struct engine *engine, struct prepared *prepared, int picture, uint64_t seed, int end,
                     struct error *err) {
  return write_noise(engine, prepared, prepared->noise_program, &prepared->noises[picture].end[end], seed, end, picture,
                     err);
}

/* For each picture of a run, the position between two seeds of its noise. */
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

/* Makes noise between two seeds on the device: the first seed's noise times the cosine of an angle, plus the second
 * one's times the sine, which is standard normal again. Frames in flight need not be waited for: the device works in
 * order, so they have read the old noise before it is overwritten. */
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

/* Returns by how many seeds the position `to` lies above the position `from`; negative if it lies below. Positions may
 * lie between two seeds, so the result may have a fraction. */
static double distance(const struct noise_place *from, const struct noise_place *to) {
  return (double)(int64_t)(to->seed - from->seed) + to->part - from->part;
}

/* Returns true if noise_program must make the picture's noise. That is so if its position is between two seeds. It is
 * also so at a seed if the device has that seed's noise only as an end of interpolation. */
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
  /* one program run writes the noise of all pictures, so if one of them needs noise_program, it is used for all */
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

/* Computes further values of a seed's noise, at most AHEAD_ELEMENTS, and appends them to `made`. Returns false if
 * `made` had all of its `all` values before. sample: number of values of one sample (the noise of one latent); first:
 * number of the first sample. */
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
