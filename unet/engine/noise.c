/* A handle's noise: that of a seed, or of a place between two. */
#include <math.h>

#include "unet/engine/engine_impl.h"
#include "unet/sample/noise.h"

/* Made behind a frame: 0.16 ms of one core. */
enum { AHEAD_ELEMENTS = 1 << 13 };

static size_t sample_elements(const struct prepared *prepared) {
  return tensor_elements(prepared->noise.start);
}

/* So many elements of a seed's samples, from the first one's on. */
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

static int write_noise_sample(struct engine *engine, struct prepared *prepared, struct program *program, uint64_t seed,
                              size_t number, struct tensor to, size_t index, struct error *err) {
  size_t count = sample_elements(prepared);
  const float *values = make_noise(prepared, seed, (number + 1) * count) + number * count;
  return device_write(engine->device, program, to, index * count, values, count, err);
}

/* A seed's noise into the states of one of the handle's programs, behind so many of that size. That of the steps is
 * written when a table first adds it. */
static int write_noise(struct engine *engine, struct prepared *prepared, struct program *program,
                       struct held_noise *held, uint64_t seed, int behind, struct error *err) {
  bool at_end = program == prepared->noise_program;
  struct tensor start = at_end ? prepared->ends.start : prepared->noise.start,
                steps = at_end ? prepared->ends.steps : prepared->noise.steps;
  if (held->seed != seed)
    *held = (struct held_noise){.seed = seed};
  if (!held->start && write_noise_sample(engine, prepared, program, seed, 0, start, (size_t)behind, err) < 0)
    return -1;
  held->start = true;
  for (; held->samples < sampler_table_noise(&prepared->table); held->samples++) {
    size_t index = (size_t)(behind * prepared->shape.noise_samples + held->samples);
    if (write_noise_sample(engine, prepared, program, seed, 1 + (size_t)held->samples, steps, index, err) < 0)
      return -1;
  }
  return 0;
}

static bool holds(const struct prepared *prepared, const struct held_noise *held, uint64_t seed) {
  return held->start && held->seed == seed && held->samples >= sampler_table_noise(&prepared->table);
}

/* Even seeds are at one end and odd ones at the other: on the way from one seed to the next both stay, and then one
 * does. */
static int write_end(struct engine *engine, struct prepared *prepared, uint64_t seed, struct error *err) {
  int end = (int)(seed % 2);
  return write_noise(engine, prepared, prepared->noise_program, &prepared->end[end], seed, end, err);
}

/* Two independent standard normals, times cosine and sine of one angle, add up to a standard normal. As for time
 * projections, nothing waits. */
static int write_between(struct engine *engine, struct prepared *prepared, const struct noise_place *place,
                         struct error *err) {
  static const double quarter_turn = 1.57079632679489661923;
  struct run_params run = {0};
  int samples = sampler_table_noise(&prepared->table);
  if (prepared->place_known && prepared->place.seed == place->seed && prepared->place.part == place->part &&
      prepared->place_samples >= samples)
    return 0;
  prepared->place_known = false;
  run.between[place->seed % 2] = (float)cos(place->part * quarter_turn);
  run.between[(place->seed + 1) % 2] = (float)sin(place->part * quarter_turn);
  if (write_end(engine, prepared, place->seed, err) < 0 ||
      (place->part > 0 && write_end(engine, prepared, place->seed + 1, err) < 0) ||
      device_start(engine->device, prepared->noise_program, &run, err) < 0)
    return -1;
  prepared->place_samples = samples;
  prepared->place_known = true;
  return 0;
}

static struct noise_place find_place(const struct controls *controls) {
  static const double far = 0x1p53;
  double position = isfinite(controls->seed_position) ? fmin(far, fmax(-far, controls->seed_position)) : 0;
  double whole = floor(position);
  return (struct noise_place){controls->seed + (uint64_t)(int64_t)whole, position - whole};
}

/* The way from one place to another, in seeds. */
static double distance(const struct noise_place *from, const struct noise_place *to) {
  return (double)(int64_t)(to->seed - from->seed) + to->part - from->part;
}

int noise_bring(struct engine *engine, struct prepared *prepared, const struct controls *controls, struct error *err) {
  const struct noise_place place = find_place(controls);
  bool at_end =
      !holds(prepared, &prepared->whole, place.seed) && holds(prepared, &prepared->end[place.seed % 2], place.seed);
  int status;
  if (place.part > 0 || at_end) {
    prepared->whole = (struct held_noise){0};
    status = write_between(engine, prepared, &place, err);
  } else {
    prepared->place_known = false;
    status = write_noise(engine, prepared, prepared->program, &prepared->whole, place.seed, 0, err);
  }
  prepared->step = distance(&prepared->place, &place);
  prepared->place = place;
  return status;
}

void noise_make_ahead(struct prepared *prepared) {
  const struct noise_place *place = &prepared->place;
  size_t all = (1 + (size_t)sampler_table_noise(&prepared->table)) * sample_elements(prepared);
  bool on = prepared->step > 0 && prepared->step < 1 && place->part >= 0.5,
       back = prepared->step < 0 && prepared->step > -1 && place->part <= 0.5;
  if (!on && !back)
    return;
  uint64_t seed = on ? place->seed + 2 : place->seed - 1;
  size_t made = prepared->made.seed == seed ? prepared->made.elements : 0;
  make_noise(prepared, seed, all < made + AHEAD_ELEMENTS ? all : made + AHEAD_ELEMENTS);
}
