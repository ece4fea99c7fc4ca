/* The bank of a handle (prepared engine): keys and values of earlier frames, to which self-attention attends
 * (unet/model/bank.h). Says which shapes may have one, how much memory it takes, and how a run uses it. */
#include <stdio.h>

#include "unet/engine/engine_impl.h"
#include "unet/model/bank.h"

static unsigned levels_there(const struct engine *engine) {
  return bank_levels_there(&engine->model.unet.walk, engine->checkpoint->autoencoder.scale);
}

bool bank_is_possible(const struct engine *engine) {
  return levels_there(engine) != 0;
}

/* Writes the names of levels of the U-Net (bit i: 1/2^i of the picture's size) into `text`, as in "1/8, 1/16". */
static void name_levels(unsigned levels, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < BANK_LEVELS && used < size; i++)
    if (levels >> i & 1)
      used += (size_t)snprintf(text + used, size - used, "%s1/%d", used ? ", " : "", 1 << i);
}

int bank_check(const struct engine *engine, const struct engine_shape *wish, struct error *err) {
  unsigned there = levels_there(engine);
  char wished[64], found[64];
  if (wish->bank_room < 0 || wish->bank_room > BANK_ROOM_MAX)
    return error_set(err, STATUS_USAGE, "a bank of %d frames: 0 to %d are supported", wish->bank_room, BANK_ROOM_MAX);
  if (!wish->bank_room)
    return 0;
  if (!there)
    return error_set(err, STATUS_USAGE, "%s: this model has no self-attention that a bank could extend: --bank 0",
                     engine->model_path);
  if (!wish->bank_layers || wish->bank_layers & there)
    return 0;
  name_levels(wish->bank_layers, wished, sizeof wished);
  name_levels(there, found, sizeof found);
  return error_set(err, STATUS_USAGE, "--bank-layers %s: this model's self-attention is at %s of the picture", wished,
                   found);
}

int bank_choose(const struct engine *engine, const struct engine_shape *wish, struct frame_shape *shape,
                struct error *err) {
  unsigned there = levels_there(engine);
  if (!wish->bank_room)
    return 0;
  if (shape->steps > BANK_CALLS_MAX)
    return error_set(err, STATUS_USAGE,
                     "%d calls of the network: with a bank of earlier frames at most %d are "
                     "supported: fewer --steps or --bank 0",
                     shape->steps, BANK_CALLS_MAX);
  shape->bank_room = wish->bank_room;
  shape->bank_levels = wish->bank_layers ? wish->bank_layers & there : bank_levels_usual(there);
  return 0;
}

size_t bank_bytes(const struct engine *engine, const struct prepared *prepared) {
  struct device_info device;
  device_get_info(engine->device, &device);
  return bank_elements(&prepared->plan) * dtype_size(device.element);
}

/* Warns that a bank (earlier frames' keys and values) was requested for levels of the U-Net that cannot have one.
 * wished, used: as bits, the levels that were requested, and those that have a bank. */
static void tell_layers(struct engine *engine, unsigned wished, unsigned used) {
  char lacking[64], left[64];
  if (!(wished & ~used) || engine->told_layers == wished)
    return;
  name_levels(wished & ~used, lacking, sizeof lacking);
  name_levels(used, left, sizeof left);
  log_line(engine->log, LOG_WARNING,
           "--bank-layers: this model has no self-attention at %s of the picture; the bank is at %s alone", lacking,
           left);
  engine->told_layers = wished;
}

void bank_tell(struct engine *engine, const struct prepared *prepared) {
  const struct frame_shape *shape = &prepared->shape;
  size_t bytes = prepared->bank_bytes;
  if (!bytes)
    return;
  tell_layers(engine, prepared->wish.bank_layers, shape->bank_levels);
  int rings = guidance_total(shape->rows, shape->steps);
  double mb = (double)bytes * 1e-6;
  log_line(engine->log, bytes > engine->told_bank ? LOG_WARNING : LOG_INFO,
           "the bank takes %.1f MB of memory: %d frame%s of %.1f MB for each step and row, of which there are %d", mb,
           shape->bank_room, shape->bank_room == 1 ? "" : "s", mb / shape->bank_room / rings, rings);
  if (bytes > engine->told_bank)
    engine->told_bank = bytes;
}

/* Logs once that a frame asks for `wish` earlier frames, but the bank (earlier frames' keys and values) of its handle
 * has room for only `room`. Nothing is logged if frames come in real time (engine.paced): the program then prepares
 * another handle with a larger bank. */
static void tell_room(struct engine *engine, int wish, int room) {
  if (wish <= room || engine->paced || engine->told_room)
    return;
  log_line(engine->log, LOG_WARNING,
           "--bank %d: there is room for %d frame%s, and no more %s used: --bank-room %d makes room", wish, room,
           room == 1 ? "" : "s", room == 1 ? "is" : "are", wish);
  engine->told_room = true;
}

void bank_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
               struct run_params *run) {
  const struct bank_params *last = &prepared->bank;
  int room = prepared->shape.bank_room, wish = controls->bank > 0 ? controls->bank : 0;
  tell_room(engine, wish, room);
  run->bank.frames = wish < room ? wish : room;
  run->bank.every = controls->bank_every > 1 ? controls->bank_every : 1;
  run->bank.anew = run->bank.frames != last->frames || run->bank.every != last->every;
  run->motion |= run->bank.frames > 0;
}
