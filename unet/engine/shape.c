#include <stdlib.h>

#include "unet/engine/engine_impl.h"
#include "unet/model/models.h"

enum { SIDE_MAX = 8192 };

static int check_side(const char *side, int size, int multiple, struct error *err) {
  if (size >= multiple && size % multiple == 0 && size <= SIDE_MAX)
    return 0;
  if (size > SIDE_MAX)
    return error_set(err, STATUS_USAGE, "%s %d: at most %d is supported", side, size, SIDE_MAX);
  if (size < multiple)
    return error_set(err, STATUS_USAGE, "%s %d: this model takes multiples of %d, at least %d", side, size, multiple,
                     multiple);
  int below = size / multiple * multiple;
  return error_set(err, STATUS_USAGE, "%s %d: this model takes multiples of %d, such as %d or %d", side, size, multiple,
                   below, below + multiple);
}

static int nearest(int size, int multiple) {
  int count = (size + multiple / 2) / multiple, most = SIDE_MAX / multiple;
  return (count < 1 ? 1 : count > most ? most : count) * multiple;
}

int shape_check(const struct model *model, const struct frame_shape *shape, struct error *err) {
  int multiple = model_size_multiple(model);
  if (check_side("width", shape->width, multiple, err) < 0 || check_side("height", shape->height, multiple, err) < 0)
    return -1;
  if (shape->steps < 1 || shape->steps > STEPS_MAX)
    return error_set(err, STATUS_USAGE, "%d steps: 1 to %d are supported", shape->steps, STEPS_MAX);
  return 0;
}

int shape_choose(const struct engine *engine, const struct engine_params *params, struct frame_shape *shape,
                 struct error *err) {
  int width, height, multiple = model_size_multiple(&engine->model);
  model_native_size(&engine->model, &width, &height);
  *shape = (struct frame_shape){
      .width = params->width ? params->width : width,
      .height = params->height ? params->height : height,
      .steps = engine->sampling.steps,
      .draws = sampler_draws(engine->sampling.method, engine->sampling.steps),
      .rows = model_rows(&engine->model, params->guidance),
      .text_to_image = params->text_to_image,
  };
  if (params->nearest_size) {
    shape->width = nearest(shape->width, multiple);
    shape->height = nearest(shape->height, multiple);
  }
  return shape_check(&engine->model, shape, err);
}

void frame_program_destroy(struct frame_program **frame, struct device *device) {
  if (!*frame)
    return;
  if (device)
    device_release(device, &(*frame)->program);
  plan_free(&(*frame)->plan);
  free((*frame)->draw);
  free(*frame);
  *frame = NULL;
}

struct frame_program *frame_program_create(struct engine *engine, const struct frame_shape *shape, struct error *err) {
  struct frame_program *frame = calloc(1, sizeof *frame);
  if (!frame) {
    error_set(err, STATUS_FAILED, "out of memory");
    return NULL;
  }
  frame->shape = *shape;
  if (plans_frame(&engine->model, shape, &frame->plan, &frame->noise, err) < 0)
    goto fail;
  frame->draw = malloc(tensor_elements(frame->noise.start) * sizeof *frame->draw);
  if (!frame->draw) {
    error_set(err, STATUS_FAILED, "out of memory");
    goto fail;
  }
  if (device_prepare(engine->device, &frame->program, &frame->plan, engine->output, err) < 0)
    goto fail;
  return frame;
fail:
  frame_program_destroy(&frame, engine->device);
  return NULL;
}
