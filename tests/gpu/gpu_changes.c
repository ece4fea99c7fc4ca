/* Measures on the CUDA device how long a change takes to show while two frames are in flight: from the change to the
 * first picture that has it. Prints a table for people; not a test by itself.
 *
 *   gpu_changes MODEL [W H]
 *
 * TUNING_DIR: the folder of tuning results. If it is empty, the table shows what a new size costs the first time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/timing.h"
#include "unet/engine.h"

enum { SKIPPED = 77 };

struct run {
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame frame;
  struct error err;
};

static void must(struct run *run, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", run->err.message);
  exit(1);
}

static long captures(const struct run *run) {
  struct engine_info info;
  engine_get_info(run->engine, &info);
  return info.device_captures;
}

static void submit(struct run *run) {
  const struct engine_request request = {.prepared = run->prepared, .controls = &run->controls, .frame = &run->frame};
  must(run, engine_submit(run->engine, &request, &run->err));
}

static void collect(struct run *run) {
  struct engine_result result;
  must(run, engine_collect(run->engine, &result, &run->err));
  frame_release(&result.picture);
}

/* Runs some frames, then makes the change while two are in flight. reconfigure: the change needs an engine without
 * frames in flight. */
static void measure(struct run *run, const char *what, void (*change)(struct run *run), bool reconfigure) {
  submit(run);
  for (int i = 0; i < 10; i++) {
    submit(run);
    collect(run);
  }
  submit(run);
  long before = captures(run);
  double start = clock_seconds();
  if (reconfigure)
    for (int i = 0; i < 2; i++)
      collect(run);
  change(run);
  int in_flight = reconfigure ? 0 : 2;
  if (in_flight == 2) { /* room for the frame that has the change */
    collect(run);
    in_flight = 1;
  }
  submit(run);
  for (in_flight++; in_flight > 0; in_flight--)
    collect(run);
  printf("%-28s %9.2f ms %6ld captures\n", what, 1e3 * (clock_seconds() - start), captures(run) - before);
  fflush(stdout);
}

static void change_prompt(struct run *run) {
  run->controls.prompt = 2;
}

static void change_text(struct run *run) {
  must(run, engine_set_prompt(run->engine, 2, "neon", &run->err));
}

static void change_strength(struct run *run) {
  run->controls.strength = 0.8f;
}

static void change_seed(struct run *run) {
  run->controls.seed++;
}

/* Moves half way to the next seed, whose noise is then copied to the device. walk_on moves a little further. */
static void walk_to_seed(struct run *run) {
  run->controls.seed_position = 0.5;
}

static void walk_on(struct run *run) {
  run->controls.seed_position += 0.1;
}

static void change_blend(struct run *run) {
  for (int i = 0; i < 4; i++)
    run->controls.blend[i] = (float)(1 + i);
}

static void change_negative(struct run *run) {
  must(run, engine_set_prompt(run->engine, SLOT_NEGATIVE, "night", &run->err));
}

static void change_guidance(struct run *run) {
  run->controls.guidance = 2;
}

/* Replaces the handle by one of another shape. A width, height or number of steps of 0 keeps the old value. */
static void reshape(struct run *run, int width, int height, int steps) {
  struct prepared *prepared;
  struct prepared_info info;
  prepared_get_info(run->prepared, &info);
  info.shape.width = width ? width : info.shape.width;
  info.shape.height = height ? height : info.shape.height;
  info.shape.steps = steps;
  must(run, engine_prepare(run->engine, &info.shape, &prepared, &run->err));
  engine_release(run->engine, &run->prepared);
  run->prepared = prepared;
}

static void two_steps(struct run *run) {
  reshape(run, 0, 0, 2);
}

static void four_steps(struct run *run) {
  reshape(run, 0, 0, 4);
}

static void twenty_steps(struct run *run) {
  reshape(run, 0, 0, 20);
}

static void fifty_steps(struct run *run) {
  reshape(run, 0, 0, 50);
}

static void smaller(struct run *run) {
  reshape(run, 448, 448, 1);
}

static void wider(struct run *run) {
  reshape(run, 576, 320, 1);
}

static void larger(struct run *run) {
  reshape(run, 768, 768, 1);
}

static void taller_fifty_steps(struct run *run) {
  reshape(run, 448, 640, 50);
}

static void as_before(struct run *run) {
  reshape(run, run->frame.width, run->frame.height, 1);
}

int main(int argc, char **argv) {
  struct run run = {.controls = CONTROLS_DEFAULTS};
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  struct engine_info info;
  if (argc != 2 && argc != 4) {
    fprintf(stderr, "usage: gpu_changes MODEL [W H]\n");
    return 2;
  }
  params.model = argv[1];
  params.device.name = "cuda";
  params.device.cache_dir = getenv("TUNING_DIR");
  const struct engine_shape shape = {.width = argc > 3 ? atoi(argv[2]) : 0, .height = argc > 3 ? atoi(argv[3]) : 0};
  double start = clock_seconds();
  if (engine_open(&run.engine, &params, &run.err) < 0 ||
      engine_prepare(run.engine, &shape, &run.prepared, &run.err) < 0) {
    fprintf(stderr, "%s\n", run.err.message);
    return run.err.status == STATUS_DEVICE ? SKIPPED : 1;
  }
  engine_get_info(run.engine, &info);
  struct prepared_info own;
  prepared_get_info(run.prepared, &own);
  int width = own.shape.width, height = own.shape.height;
  size_t bytes = 4 * (size_t)width * (size_t)height;
  uint8_t *pixels = malloc(bytes);
  for (size_t i = 0; pixels && i < bytes; i++)
    pixels[i] = (uint8_t)(i * 2654435761u >> 24);
  run.frame =
      (struct frame){.format = PIXEL_RGBA, .width = width, .height = height, .plane = {pixels}, .pitch = {4 * width}};
  run.controls.strength = info.image_conditioned ? 1 : 0.5f;
  must(&run, engine_set_prompt(run.engine, 1, "oil painting", &run.err));
  must(&run, engine_set_prompt(run.engine, 2, "watercolor", &run.err));
  submit(&run);
  collect(&run);
  printf("%s: %s\n%s, %dx%d: opened and first picture after %.2f s\n", info.device, info.device_detail, info.model,
         width, height, clock_seconds() - start);
  measure(&run, "guidance scale", change_guidance, false);
  measure(&run, "another prompt", change_prompt, false);
  measure(&run, "the prompt's text", change_text, false);
  measure(&run, "a blend of four", change_blend, false);
  measure(&run, "the negative prompt", change_negative, false);
  measure(&run, "strength", change_strength, false);
  measure(&run, "seed", change_seed, false);
  measure(&run, "on the way to the next", walk_to_seed, false);
  for (int i = 0; i < 3; i++)
    measure(&run, "further on that way", walk_on, false);
  measure(&run, "2 steps", two_steps, true);
  measure(&run, "4 steps", four_steps, true);
  measure(&run, "20 steps", twenty_steps, true);
  measure(&run, "50 steps", fifty_steps, true);
  measure(&run, "448x448, 1 step", smaller, true);
  measure(&run, "576x320, 1 step", wider, true);
  measure(&run, "768x768, 1 step", larger, true);
  measure(&run, "448x640, 50 steps", taller_fifty_steps, true);
  measure(&run, "the first size, 1 step", as_before, true);
  engine_close(&run.engine);
  free(pixels);
  return 0;
}
