/* Measures the motion of a frame without making its picture (engine_follow), for frames that are skipped. A small
 * program writes the motion to tensors that the frame's program reads. So later frames have the same position on the
 * canvas (the plane that follows the camera), and the same moved noise, as if no frame had been skipped. */
#include "unet/base/platform.h"
#include "unet/engine/engine_impl.h"

bool engine_follows(const struct prepared *prepared) {
  return prepared->shape.canvas.lattice || prepared->shape.carried;
}

/* Prepares the program that computes only motion, when a frame first needs it; most handles (prepared engines) never
 * need it. */
static int prepare_program(struct engine *engine, struct prepared *prepared, struct error *err) {
  if (prepared->follow_program)
    return 0;
  const struct program_options options = {.owner = prepared->program};
  pthread_mutex_lock(&engine->preparing);
  plan_free(&prepared->follow_plan);
  int status = plans_follow(&engine->model, &prepared->shape, &prepared->follow_plan, err);
  if (!status)
    status = device_prepare(engine->device, &prepared->follow_program, &prepared->follow_plan, &options, err);
  pthread_mutex_unlock(&engine->preparing);
  return status;
}

/* Waits for the end of the run that the last engine_follow has started, if there is one. */
static int finish(struct engine *engine, struct prepared *prepared, struct error *err) {
  if (!program_in_flight(prepared->follow_program))
    return 0;
  int status = device_collect(engine->device, prepared->follow_program, NULL, err);
  engine->ended_ns = platform_now_ns();
  return status;
}

int engine_follow(struct engine *engine, const struct engine_request *request, struct error *err) {
  struct prepared *prepared = request->prepared;
  struct frame frames[FRAMES_MAX] = {{0}};
  struct run_params run = {.motion = prepared->shape.canvas.lattice > 0,
                           .carried = prepared->shape.carried && request->controls->carried,
                           .bank = prepared->bank};
  if (!prepared_is_known(engine, prepared) || !engine_follows(prepared) || !request->frame)
    return error_set(err, STATUS_FAILED, "this handle follows no motion of frames");
  if (prepare_program(engine, prepared, err) < 0 || finish(engine, prepared, err) < 0)
    return -1;
  run.motion |= run.carried;
  run.restart = past_ends(engine, request) || !prepared->has_motion;
  frames[0] = *request->frame;
  run.geometry[0] = geometry_fit(engine->fit, request->frame, &prepared->shape);
  if (run.motion && device_submit(engine->device, prepared->follow_program, &run, frames, err) < 0)
    return -1;
  past_follow(engine, request, &run);
  return run.motion ? finish(engine, prepared, err) : 0;
}
