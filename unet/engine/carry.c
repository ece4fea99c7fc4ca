/* Computes the run parameters of noise that moves with the picture, and of feedback (reuse of the last picture's
 * latent). */
#include "unet/engine/engine_impl.h"

int carry_check(const struct engine *engine, const struct engine_shape *wish, struct error *err) {
  if (wish->feedback && engine->blends)
    return error_set(err, STATUS_USAGE, "%s: --feedback: this model starts from noise alone, which no picture can join",
                     engine->model_path);
  return 0;
}

/* Returns run_params.feedback: the fraction of the input's latent that the last picture's latent replaces. If sampling
 * starts from noise alone, feedback has no effect, which is logged once. */
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
  /* The last run computed no motion, so the states that depend on it (flow, moved noise) are out of date. */
  if (run->motion && !prepared->has_motion)
    run->restart = true;
}
