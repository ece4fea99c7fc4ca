/* Noise that moves with the picture, and feedback of the last picture: what excludes them, and their run parameters. */
#include "unet/engine/engine_impl.h"

static const char *option_of(const struct engine_shape *wish) {
  return wish->carried ? "--noise carried" : "--feedback";
}

/* Refuses features with which a run does not have one last frame and one input. */
static int check_frames(const struct engine_shape *wish, struct error *err) {
  const char *option = option_of(wish);
  if (wish->text_to_image)
    return error_set(err, STATUS_USAGE, "%s: text to image has no input whose motion could be followed", option);
  if (wish->stream_batch)
    return error_set(err, STATUS_USAGE, "%s: in a stream batch the last picture is not the last frame's", option);
  if (wish->batch > 1)
    return error_set(err, STATUS_USAGE, "%s: each frame needs the one before it: one picture a run, not %d", option,
                     wish->batch);
  if (wish->canvas == CANVAS_FOLLOW)
    return error_set(err, STATUS_USAGE, "%s: a canvas that follows the camera moves the noise itself: --canvas fixed",
                     option);
  return 0;
}

int carry_check(const struct engine *engine, const struct engine_shape *wish, struct error *err) {
  if (!wish->carried && !wish->feedback)
    return 0;
  if (wish->feedback && engine->blends)
    return error_set(err, STATUS_USAGE, "%s: --feedback: this model starts from noise alone, which no picture can join",
                     engine->model_path);
  return check_frames(wish, err);
}

/* Returns the share of the last picture's latent. Says once that it has no effect where the start is noise alone. */
static float feedback_of(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                         const struct run_params *run) {
  float feedback = prepared->shape.feedback ? clamp01(controls->feedback) : 0;
  bool in_vain = feedback > 0 && run->start_latent == 0;
  if (in_vain && !engine->told_feedback)
    log_line(engine->log, LOG_WARNING,
             "--feedback has no effect at this strength: the model starts from noise alone, which no picture can join");
  engine->told_feedback = in_vain;
  return in_vain ? 0 : feedback;
}

void carry_fill(struct engine *engine, struct prepared *prepared, const struct controls *controls,
                struct run_params *run) {
  run->carried = prepared->shape.carried && controls->carried;
  run->feedback = feedback_of(engine, prepared, controls, run);
  run->motion = run->motion || run->carried || run->feedback > 0;
  /* the states that motion leaves are out of date after a run without it */
  if (run->motion && !prepared->has_motion)
    run->restart = true;
}
