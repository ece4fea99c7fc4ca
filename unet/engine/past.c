/* Decides if a run has a past: if what earlier runs left in the handle's states belongs to the frames right before this
 * one. */
#include "unet/base/platform.h"
#include "unet/engine/engine_impl.h"

/* A paced engine forgets the past after a pause of this length. */
static const int64_t pause_ns = 500000000;

/* True if no run has been in flight for pause_ns. */
static bool has_paused(const struct engine *engine) {
  return engine->paced && !engine->in_flight && platform_now_ns() - engine->ended_ns > pause_ns;
}

bool past_ends(const struct engine *engine, const struct engine_request *request) {
  return request->restart || engine->last_handle != request->prepared->number || has_paused(engine);
}

void past_follow(struct engine *engine, const struct engine_request *request, const struct run_params *run) {
  request->prepared->bank = run->bank;
  request->prepared->has_motion = run->motion;
  engine->last_handle = request->drain ? 0 : request->prepared->number;
}
