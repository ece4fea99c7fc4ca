/* Attention keys and values of prompts on the device. For each number of chunks there is memory for KEY_SLOTS prompts;
 * a new prompt replaces the one that was used longest ago. All functions but text_keys_prepare and text_keys_leave are
 * called on the thread that submits. */
#include <string.h>

#include "unet/engine/engine_impl.h"

/* Returns the index in model.texts of the encoded text for chunk c of a prompt, in a handle with `chunks` chunks. most:
 * number of chunks of the run's longest prompt; shorter ones are filled up with the empty prompt. If `chunks` is a
 * multiple of `most`, prompts are repeated instead. That changes no picture: softmax gives the same mean if all keys
 * occur equally often. */
static int chunk_place(const struct engine *engine, int slot, int c, int most, int chunks) {
  c = chunks % most ? c : c % most;
  return c < engine->slots[slot].chunks ? text_place(slot, c) : text_place(SLOT_EMPTY, 0);
}

/* Returns a number that identifies the keys and values of a prompt. It differs for another encoding of the text,
 * another number of chunks, or another version of the weights. */
static uint64_t text_keys_name(const struct engine *engine, int slot, int most) {
  uint64_t version = engine->keys_weights > engine->text_weights ? engine->keys_weights : engine->text_weights;
  return (engine->slots[slot].serial * PROMPT_CHUNKS_MAX + (uint64_t)most - 1) << 32 | (uint32_t)version;
}

/* Starts to compute the keys and values of the prompt in a slot, one chunk a run. most: number of chunks of the longest
 * prompt of the frame; chunks: number of chunks for which the handle is prepared; place: index in device memory of the
 * keys and values. */
static int make_keys(struct engine *engine, struct program *program, int slot, int most, int chunks, int place,
                     struct error *err) {
  for (int c = 0; c < chunks; c++) {
    int text = chunk_place(engine, slot, c, most, chunks);
    const struct run_params run = {.prompt[0] = {{text}, {1}}, .slot = place * chunks + c};
    if (background_start(engine, program, &run, err) < 0)
      return -1;
  }
  return 0;
}

/* Starts to compute a prompt's keys and values for the control networks of a handle. place: index of the device memory
 * into which they are written. Keys and values that are already there are not computed again. */
static int make_control_keys(struct engine *engine, const struct frame_shape *shape, int slot, int most, int place,
                             struct error *err) {
  uint64_t name = text_keys_name(engine, slot, most);
  for (int i = 0; i < CONTROLS_MAX; i++) {
    struct control_keys *keys = &engine->control_keys[i][shape->chunks - 1];
    if (!(shape->controls >> i & 1) || !keys->program)
      continue;
    uint64_t weights = plan_weights_version(&keys->plan);
    if (keys->names[place] == name && keys->weights[place] == weights)
      continue;
    keys->names[place] = 0;
    if (make_keys(engine, keys->program, slot, most, shape->chunks, place, err) < 0)
      return -1;
    keys->names[place] = name;
    keys->weights[place] = weights;
  }
  return 0;
}

static int count_different(const uint64_t *names, int count) {
  int different = 0;
  for (int i = 0; i < count; i++) {
    bool seen = false;
    for (int j = 0; j < i; j++)
      seen |= names[j] == names[i];
    different += !seen;
  }
  return different;
}

enum { NAMES_MAX = USED_MAX + KEY_SLOTS };

/* names[] lists the keys and values of prompts that must stay in device memory. While frames show old prompts because
 * the wanted ones are not computed yet, appends the old prompts' keys and values. If there is no room for both,
 * completes the background work instead; the old ones may then be overwritten. count: number of names so far. Returns
 * the new number, or -1. */
static int keep_shown(struct engine *engine, int chunks, uint64_t names[NAMES_MAX], int count, struct error *err) {
  const struct shown *shown = &engine->background.shown;
  if (!shown->known || shown->chunks != chunks)
    return count;
  memcpy(names + count, shown->names, (size_t)shown->name_count * sizeof *names);
  if (count_different(names, count + shown->name_count) <= KEY_SLOTS)
    return count + shown->name_count;
  engine->background.shown.known = false;
  return background_finish(engine, err) < 0 ? -1 : count;
}

/* Chooses an index in device memory for the keys and values of each slot's prompt, and starts to compute those that are
 * missing. Runs in flight need not be waited for: the device works in order, so they have read old keys and values
 * before these are overwritten. */
static int place_slots(struct engine *engine, const struct frame_shape *shape, const int *slots, int count, int *places,
                       struct error *err) {
  int chunks = shape->chunks;
  struct recent *recent = &engine->keys[chunks - 1].recent;
  uint64_t names[NAMES_MAX] = {0};
  int all[NAMES_MAX], most = prompts_most_chunks(engine, slots, count);
  for (int i = 0; i < count; i++)
    names[i] = text_keys_name(engine, slots[i], most);
  int number = keep_shown(engine, chunks, names, count, err);
  if (number < 0)
    return -1;
  uint64_t come = recent_assign(recent, names, number, all);
  memcpy(places, all, (size_t)count * sizeof *places);
  for (int i = 0; i < count; i++)
    if (come >> i & 1 &&
        make_keys(engine, engine->keys[chunks - 1].program, slots[i], most, chunks, places[i], err) < 0) {
      recent_forget_all(recent);
      return -1;
    }
  for (int i = 0; i < count; i++)
    if (make_control_keys(engine, shape, slots[i], most, places[i], err) < 0)
      return -1;
  return 0;
}

/* Returns how much of the input's fine detail suits the styles of these prompts: the mean by their weights. */
static float usual_detail(const struct engine *engine, const struct prompt_params *prompt) {
  float sum = 0;
  for (int i = 0; i < PROMPTS_MAX && prompt->weight[i] != 0; i++)
    sum += prompt->weight[i] * engine->slots[prompt->slot[i]].detail;
  return sum;
}

struct shown text_keys_shown(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                             const struct run_params *placed) {
  int *used[USED_MAX], rows = shape->rows.first, count = prompts_used(slots, rows, used), numbers[USED_MAX] = {0};
  struct shown shown = {.known = true,
                        .rows = rows,
                        .chunks = shape->chunks,
                        .detail = usual_detail(engine, &slots->prompt[0]),
                        .controls = shape->controls};
  memcpy(shown.prompt, placed->prompt, sizeof shown.prompt);
  for (int i = 0; i < count; i++)
    numbers[i] = *used[i];
  int most = prompts_most_chunks(engine, numbers, count);
  for (int i = 0; i < count; i++) {
    uint64_t name = text_keys_name(engine, numbers[i], most);
    bool listed = false;
    for (int j = 0; j < shown.name_count; j++)
      listed |= shown.names[j] == name;
    if (!listed)
      shown.names[shown.name_count++] = name;
  }
  return shown;
}

static bool reads(struct run_params *run, int rows, int slot) {
  int *used[USED_MAX], count = prompts_used(run, rows, used);
  for (int i = 0; i < count; i++)
    if (*used[i] == slot)
      return true;
  return false;
}

/* Returns true if this program computes keys and values that a handle of this shape reads: those of the model or of a
 * control's network. */
static bool makes_keys(const struct engine *engine, const struct frame_shape *shape, const struct program *program) {
  bool makes = program == engine->keys[shape->chunks - 1].program;
  for (int i = 0; i < CONTROLS_MAX; i++)
    makes |= shape->controls >> i & 1 && program == engine->control_keys[i][shape->chunks - 1].program;
  return makes;
}

bool text_keys_await(const struct engine *engine, const struct frame_shape *shape, struct run_params *slots,
                     struct run_params *places) {
  const struct background *b = &engine->background;
  int rows = shape->rows.first;
  for (int i = b->first; i < b->count; i++) {
    const struct job *job = &b->jobs[i];
    bool text = job->program == engine->text_program[0] || job->program == engine->text_program[1];
    if (text ? reads(slots, rows, job->run.slot % SLOTS)
             : makes_keys(engine, shape, job->program) && reads(places, rows, job->run.slot / shape->chunks))
      return true;
  }
  return false;
}

static int prepare_own_keys(struct engine *engine, int chunks, struct error *err) {
  struct prompt_keys *keys = &engine->keys[chunks - 1];
  struct program *program;
  if (keys->program)
    return 0;
  keys->recent = (struct recent){.count = KEY_SLOTS};
  plan_free(&keys->plan);
  if (plans_keys(&engine->model, chunks, &keys->plan, err) < 0 ||
      background_prepare(engine, &program, &keys->plan, err) < 0)
    return -1;
  __atomic_store_n(&keys->program, program, __ATOMIC_RELEASE);
  return 0;
}

static int prepare_control_keys(struct engine *engine, int control, int chunks, struct error *err) {
  struct control_keys *keys = &engine->control_keys[control][chunks - 1];
  struct program *program;
  if (keys->program || !tensor_exists(engine->model.controls[control].keys[chunks - 1]))
    return 0;
  plan_free(&keys->plan);
  if (plans_control_keys(&engine->model, control, chunks, &keys->plan, err) < 0 ||
      background_prepare(engine, &program, &keys->plan, err) < 0)
    return -1;
  __atomic_store_n(&keys->program, program, __ATOMIC_RELEASE);
  return 0;
}

int text_keys_prepare(struct engine *engine, const struct frame_shape *shape, struct error *err) {
  if (prepare_own_keys(engine, shape->chunks, err) < 0)
    return -1;
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (shape->controls >> i & 1 && prepare_control_keys(engine, i, shape->chunks, err) < 0)
      return -1;
  return 0;
}

int text_keys_place(struct engine *engine, const struct frame_shape *shape, struct run_params *run, struct error *err) {
  int *used[USED_MAX], count = prompts_used(run, shape->rows.first, used), slots[USED_MAX] = {0}, places[USED_MAX];
  for (int i = 0; i < count; i++)
    slots[i] = *used[i];
  if (place_slots(engine, shape, slots, count, places, err) < 0)
    return -1;
  for (int i = 0; i < count; i++)
    *used[i] = places[i];
  return 0;
}

void text_keys_leave(struct engine *engine) {
  for (int i = 0; i < PROMPT_CHUNKS_MAX; i++) {
    device_release(engine->device, &engine->keys[i].program);
    plan_free(&engine->keys[i].plan);
    for (int j = 0; j < CONTROLS_MAX; j++) {
      struct control_keys *keys = &engine->control_keys[j][i];
      device_release(engine->device, &keys->program);
      plan_free(&keys->plan);
      *keys = (struct control_keys){.program = NULL};
    }
  }
}
