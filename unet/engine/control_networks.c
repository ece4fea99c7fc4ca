/* Opens controls (the maps and networks that steer frames), and computes how much each network adds in each step of a
 * frame. */
#include <math.h>
#include <string.h>

#include "unet/engine/engine_impl.h"

/* --- opening controls and their networks --- */

static const char *const names[CONTROLS_MAX] = {"control_1", "control_2", "control_3", "control_4"};

static int check_number(const struct engine *engine, int number, struct error *err) {
  if (number < 0 || number >= CONTROLS_MAX)
    return error_set(err, STATUS_USAGE, "control %d: at most %d are supported", 1 + number, CONTROLS_MAX);
  if (engine->model.controls[number].there)
    return error_set(err, STATUS_USAGE, "control %d is open already", 1 + number);
  return 0;
}

/* Opens the network that makes depth maps, if control `number` is the first that needs it. */
static int open_depth(struct engine *engine, int number, const struct engine_control *control, struct error *err) {
  if (control->map != MAP_DEPTH || engine->depth)
    return 0;
  if (!control->depth)
    return error_set(err, STATUS_USAGE, "control %d: a network makes a map of depth, and none is given", 1 + number);
  if (depth_open(&engine->depth, control->depth, err) < 0)
    return -1;
  engine->model.depth = engine->depth;
  return 0;
}

/* Opens a control: its network and, for depth, the network of its map. The caller holds the lock `preparing` if other
 * threads may prepare handles (engines for one size and step count) already. */
static int open_one(struct engine *engine, int number, const struct engine_control *control, struct error *err) {
  if (check_number(engine, number, err) < 0 || open_depth(engine, number, control, err) < 0)
    return -1;
  struct control_network **network = &engine->control_networks[number];
  int status = control->model ? control_network_open(network, control->model, names[number], engine->log, err) : 0;
  if (!status && *network)
    status = plans_check_control(*network, engine->checkpoint, err);
  status = status ? status : model_add_control(&engine->model, number, control->map, *network, err);
  if (status)
    control_network_close(network);
  else
    engine->model.controls[number].source = control->source;
  return status;
}

int engine_open_control(struct engine *engine, int number, const struct engine_control *control, struct error *err) {
  pthread_mutex_lock(&engine->preparing);
  int status = open_one(engine, number, control, err);
  pthread_mutex_unlock(&engine->preparing);
  return status;
}

int controls_open(struct engine *engine, const struct engine_params *params, struct error *err) {
  for (int i = 0; i < params->control_count; i++)
    if (open_one(engine, i, &params->controls[i], err) < 0)
      return -1;
  return 0;
}

void controls_close(struct engine *engine) {
  for (int i = 0; i < CONTROLS_MAX; i++)
    control_network_close(&engine->control_networks[i]);
  depth_close(&engine->depth);
}

int controls_check(const struct engine *engine, unsigned controls, struct error *err) {
  for (int i = 0; i < (int)(8 * sizeof controls); i++)
    if (controls >> i & 1 && (i >= CONTROLS_MAX || !engine->model.controls[i].there))
      return error_set(err, STATUS_USAGE, "control %d is not open", 1 + i);
  return 0;
}

/* --- filling in a run's parameters of controls: how strongly each acts in each step, which maps are made --- */

/* Returns the position of a timestep in the denoising, from 0 (pure noise) to 1 (the picture). The steps of the spacing
 * "trailing" are evenly spaced by this measure. */
static double place_of(float timestep) {
  return 1 - ((double)timestep + 1) / TIMESTEPS;
}

/* Returns the position in the denoising (0 to 1) at which step i ends: the position of the next lower timestep. The
 * next step may have the same timestep, because some samplers have two steps at one. */
static double end_of(const struct run_params *run, int i, int steps) {
  for (int next = i + 1; next < steps; next++)
    if (run->step[next].timestep < run->step[i].timestep)
      return place_of(run->step[next].timestep);
  return 1;
}

/* Returns the fraction of a step that lies between `start` and `end`. The step leads from `from` to `to`; all four are
 * positions in the denoising (0 to 1). */
static double share_of(double start, double end, double from, double to) {
  double low = fmax(start, from), high = fmin(end, to);
  return high > low && to > from ? (high - low) / (to - from) : 0;
}

/* Returns true if this run must compute the depth map of control number k; otherwise it uses the stored map. The first
 * of successive runs that read the map computes it, and then every n-th run, where n is parameter 1 of the map. */
static bool depth_is_due(struct prepared *prepared, int k, const struct control_params *control) {
  int *age = &prepared->map_age[k], every = (int)(control->param[1] + 0.5f);
  bool due = control->map && (*age == 0 || *age >= every);
  *age = !control->map ? 0 : due ? 1 % every : (*age + 1) % every;
  return due;
}

static float gain_of(const struct prepared *prepared, const struct control_values *v, const struct run_params *run,
                     int i) {
  double share = share_of((double)clamp01(v->start), (double)clamp01(v->end), place_of(run->step[i].timestep),
                          end_of(run, i, prepared->shape.steps));
  return isfinite(v->weight) ? (float)((double)v->weight * share) : 0;
}

bool controls_acts(const struct prepared *prepared, const struct control_values *values, const struct run_params *run) {
  bool acts = false;
  for (int i = 0; i < prepared->shape.steps; i++)
    acts |= gain_of(prepared, values, run, i) != 0;
  return acts;
}

void controls_fill(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                   struct run_params *run) {
  int steps = prepared->shape.steps;
  run->show = controls->show;
  run->show_control = controls->show_control;
  for (int k = 0; k < CONTROLS_MAX; k++) {
    const struct control_values *v = &controls->control[k];
    struct control_params *to = &run->control[k];
    if (!(prepared->shape.controls >> k & 1))
      continue;
    to->guess = (v->guess || control_is_pooled(&engine->model.controls[k])) &&
                control_is_controlnet(&engine->model.controls[k]);
    to->map = controls->show != SHOW_PICTURE && controls->show_control == k;
    for (int i = 0; i < steps; i++) {
      to->gain[i] = gain_of(prepared, v, run, i);
      to->map |= to->gain[i] != 0 && engine->model.controls[k].network;
    }
    memcpy(to->param, v->param, sizeof to->param);
    map_clamp(engine->model.controls[k].map, to->param);
    /* On a canvas (an endless plane that follows the camera) the map is made in every run: a stored one would not fit,
     * because each frame lies at another position of the canvas. */
    if (engine->model.controls[k].map == MAP_DEPTH && !prepared->shape.canvas.lattice)
      to->map = depth_is_due(prepared, k, to);
  }
}
