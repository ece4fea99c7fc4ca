/* The noise of a handle: that of a seed, or of a place between two seeds. The host makes the noise of whole seeds and
 * writes it into states on the device. Between two seeds, noise_program interpolates there from the noise of both ends
 * (prepared.ends) to that of the frame plan. */
#include <math.h>

#include "unet/engine/engine_impl.h"
#include "unet/sample/noise.h"

/* values of noise that are computed after one frame: 0.16 ms of one core */
enum { AHEAD_ELEMENTS = 1 << 13 };

static int batch_of(const struct prepared *prepared) {
  return prepared->noise.start.n;
}

static size_t sample_elements(const struct prepared *prepared) {
  return tensor_elements(prepared->noise.start) / (size_t)batch_of(prepared);
}

/* Returns the first `elements` values of a seed's noise, in prepared->made. Only those that it does not have yet are
 * computed; those of another seed are dropped. */
static const float *make_noise(struct prepared *prepared, uint64_t seed, size_t elements) {
  struct made_noise *made = &prepared->made;
  size_t sample = sample_elements(prepared);
  if (made->seed != seed)
    made->elements = 0;
  made->seed = seed;
  while (made->elements < elements) {
    size_t at = made->elements % sample, left = elements - made->elements,
           count = left < sample - at ? left : sample - at;
    noise_fill(seed, (uint32_t)(made->elements / sample), at, made->values + made->elements, count);
    made->elements += count;
  }
  return made->values;
}

/* Returns the number of the sample that is the second table of noise that moves with the picture. */
static size_t second_sample(const struct prepared *prepared) {
  return 1 + (size_t)prepared->shape.noise_samples;
}

static int write_noise_sample(struct engine *engine, struct prepared *prepared, struct program *program, uint64_t seed,
                              size_t number, struct tensor to, size_t index, struct error *err) {
  size_t count = sample_elements(prepared);
  const float *values = make_noise(prepared, seed, (number + 1) * count) + number * count;
  return device_write(engine->device, program, to, index * count, values, count, err);
}

/* Writes a seed's noise for one picture into the states of `program`, as far as *held says that it is not there yet.
 * `end` (0 or 1) is for noise_program alone, whose states hold all samples of end 0 and then all samples of end 1. The
 * noise of a step is written only once a sampler table adds noise in that step. */
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
      write_noise_sample(engine, prepared, program, seed, second_sample(prepared), second, (size_t)end, err) < 0)
    return -1;
  held->second = true;
  return 0;
}

static bool holds(const struct prepared *prepared, const struct held_noise *held, uint64_t seed) {
  return held->start && held->second && held->seed == seed && held->samples >= sampler_table_noise(&prepared->table);
}

/* Even seeds are written to end 0 and odd ones to end 1. When the seed position passes a whole seed, only one end has
 * to be written anew. */
static int write_end(struct engine *engine, struct prepared *prepared, int picture, uint64_t seed, struct error *err) {
  int end = (int)(seed % 2);
  return write_noise(engine, prepared, prepared->noise_program, &prepared->noises[picture].end[end], seed, end, picture,
                     err);
}

/* The position, between two seeds, of each picture's noise in a run. */
struct noise_places {
  struct noise_place of[BATCH_MAX];
  int count;
};

static bool is_at(const struct picture_noise *noise, const struct noise_place *place, int samples) {
  return noise->between && noise->place.seed == place->seed && noise->place.part == place->part &&
         noise->samples >= samples;
}

static int write_ends(struct engine *engine, struct prepared *prepared, int picture, const struct noise_place *place,
                      struct error *err) {
  if (write_end(engine, prepared, picture, place->seed, err) < 0)
    return -1;
  return place->part > 0 ? write_end(engine, prepared, picture, place->seed + 1, err) : 0;
}

/* Interpolates between the two ends on the device. The sum of two independent standard normals, times the cosine and
 * the sine of one angle, is standard normal. Frames in flight are not disturbed: the device works in order, so they
 * have read the old noise before it is overwritten. */
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
    run.between[i][place->seed % 2] = (float)cos(place->part * quarter_turn);
    run.between[i][(place->seed + 1) % 2] = (float)sin(place->part * quarter_turn);
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
  return (struct noise_place){controls->seed + (uint64_t)(int64_t)whole, position - whole};
}

/* Returns by how many seeds `to` lies behind `from`, as a fraction; negative: it lies before. */
static double distance(const struct noise_place *from, const struct noise_place *to) {
  return (double)(int64_t)(to->seed - from->seed) + to->part - from->part;
}

/* Returns true if noise_program has to make the picture's noise: the position is between two seeds, or the noise of its
 * seed is on the device as one of the ends only. */
static bool goes_by_ends(const struct prepared *prepared, int picture, const struct noise_place *place) {
  const struct picture_noise *noise = &prepared->noises[picture];
  return place->part > 0 ||
         (!holds(prepared, &noise->whole, place->seed) && holds(prepared, &noise->end[place->seed % 2], place->seed));
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
  /* noise_program writes the noise of all pictures, so all are made like that even if only one needs it */
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

void noise_make_ahead(struct prepared *prepared) {
  const struct noise_place *place = &prepared->place;
  size_t samples = tensor_exists(prepared->noise.second) ? 1 + second_sample(prepared)
                                                         : 1 + (size_t)sampler_table_noise(&prepared->table);
  size_t all = samples * sample_elements(prepared);
  bool on = prepared->step > 0 && prepared->step < 1 && place->part >= 0.5,
       back = prepared->step < 0 && prepared->step > -1 && place->part <= 0.5;
  if (!on && !back)
    return;
  uint64_t seed = on ? place->seed + 2 : place->seed - 1;
  size_t made = prepared->made.seed == seed ? prepared->made.elements : 0;
  make_noise(prepared, seed, all < made + AHEAD_ELEMENTS ? all : made + AHEAD_ELEMENTS);
}
