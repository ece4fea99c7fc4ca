/* Makes, opens and closes a struct reverie. */
#include <stdio.h>
#include <stdlib.h>

#include "app/library/library.h"
#include "app/models/engine_wish.h"

static void say(void *opaque, enum log_level level, const char *text) {
  const struct reverie *reverie = opaque;
  if (reverie->say)
    reverie->say(reverie->say_opaque, (int)level, text);
}

static char *copy(const char *text, bool *failed) {
  char *own = text ? strdup(text) : NULL;
  *failed |= text && !own;
  return own;
}

/* largest value of reverie_config.pictures, far beyond what memory has room for; sums of it stay within an int */
enum { PICTURES_MOST = 1000000 };

/* Checks the configuration that the calling program gives, and copies it into *reverie. Returns 0, or -1 with err. */
static int configure(struct reverie *reverie, const struct reverie_config *config, struct error *err) {
  bool failed = false;
  reverie->say = config->log;
  reverie->say_opaque = config->log_opaque;
  reverie->log = (struct log){say, reverie};
  reverie->format = PIXEL_RGBA;
  if (config->format && !library_format_read(config->format, &reverie->format))
    return error_set(err, STATUS_USAGE, "format %d of pictures: there is none of this number", config->format);
  if (config->flags & ~(unsigned)(REVERIE_SMOOTH | REVERIE_PACED | REVERIE_EARLY))
    return error_set(err, STATUS_USAGE, "flags %#x: some of them have no meaning here", config->flags);
  if (config->threads < 0 || config->pictures < 0)
    return error_set(err, STATUS_USAGE, "%d threads, %d pictures: neither can be negative", config->threads,
                     config->pictures);
  if (config->pictures > PICTURES_MOST)
    return error_set(err, STATUS_USAGE, "%d pictures: %d are the most", config->pictures, PICTURES_MOST);
  if (config->memory < REVERIE_HOST || config->memory > REVERIE_CUDA || config->shares < 0 || config->shares > 1)
    return error_set(err, STATUS_USAGE, "memory %d of pictures, shares %d: one of them has no meaning", config->memory,
                     config->shares);
  if (config->memory == REVERIE_HOST && (config->shares || config->flags & REVERIE_EARLY))
    return error_set(err, STATUS_USAGE,
                     "shares and REVERIE_EARLY are for pictures in CUDA memory (reverie_config.memory)");
  reverie->flags = config->flags;
  reverie->memory = config->memory;
  reverie->cache_dir = copy(config->cache_dir, &failed);
  reverie->device = (struct device_options){.name = copy(config->device, &failed),
                                            .threads = config->threads,
                                            .memory_limit = config->memory_limit,
                                            .pictures = config->pictures,
                                            .shares_pictures = config->shares != 0,
                                            .log = &reverie->log};
  return failed ? error_set(err, STATUS_FAILED, "out of memory") : 0;
}

int reverie_create(struct reverie **made, const struct reverie_config *config, struct reverie_error *error) {
  struct reverie_config own = {0};
  struct parameters *values = calloc(1, sizeof *values);
  struct reverie *reverie = calloc(1, sizeof *reverie);
  struct error err;
  *made = reverie;
  if (config)
    library_read(&own, config, sizeof own);
  if (!values || !reverie)
    error_set(&err, STATUS_FAILED, "out of memory");
  if (reverie) {
    pthread_mutex_init(&reverie->lock, NULL);
    pthread_mutex_init(&reverie->preparing, NULL);
  }
  bool readable = values && reverie && (!config || !library_check_size(config, LIBRARY_LEAST, "reverie_config", &err));
  int status = readable ? configure(reverie, &own, &err) : -1;
  if (!status) {
    parameters_init(values);
    settings_begin(&reverie->asked, values);
  }
  free(values);
  if (status)
    reverie_destroy(made);
  return library_tell(error, status ? &err : NULL);
}

void reverie_destroy(struct reverie **reverie) {
  struct reverie *own = *reverie;
  *reverie = NULL;
  if (!own)
    return;
  engine_close(&own->engine);
  library_close_gpu(own);
  pthread_mutex_destroy(&own->lock);
  pthread_mutex_destroy(&own->preparing);
  free((char *)(uintptr_t)own->device.name);
  free(own->cache_dir);
  free(own);
}

/* Checks that the LoRAs and the controls that are set are numbered without a gap (not lora[1] and lora[3] alone).
 * Returns 0, or -1 with err. */
static int check_numbers(const struct parameters *values, struct error *err) {
  for (int i = 1; i < ADAPTERS_MAX; i++)
    if (values->lora[i].given && !values->lora[i - 1].given)
      return error_set(err, STATUS_USAGE, "lora[%d]: there is no lora[%d]", i + 1, i);
  for (int i = 1; i < CONTROLS_MAX; i++)
    if (values->control[i] && !values->control[i - 1])
      return error_set(err, STATUS_USAGE, "control[%d]: there is no control[%d]", i + 1, i);
  return 0;
}

/* Returns the folder in which a GPU's tuning results are stored; NULL: they are not stored. path: buffer in which the
 * name may be written. */
static const char *choose_cache(const struct reverie *reverie, char *path) {
  if (!reverie->cache_dir)
    return paths_cache(path);
  return *reverie->cache_dir ? reverie->cache_dir : NULL;
}

static int open_engine(struct reverie *reverie, struct engine_wish *wish, struct error *err) {
  const struct parameters *values = &reverie->asked.values;
  struct controls controls;
  if (check_numbers(values, err) || engine_wish_fill(wish, values, err) || engine_wish_check_adapter(wish, err))
    return -1;
  wish->engine.output = reverie->format;
  wish->engine.smooth = (reverie->flags & REVERIE_SMOOTH) != 0;
  wish->engine.paced = (reverie->flags & REVERIE_PACED) != 0;
  wish->engine.device = reverie->device;
  wish->engine.device.cache_dir = choose_cache(reverie, wish->cache);
  values_controls(values, &controls);
  if (engine_open(&reverie->engine, &wish->engine, err))
    return -1;
  engine_get_info(reverie->engine, &reverie->info);
  if (!engine_weigh(reverie->engine, controls.adapter, err) && !library_open_gpu(reverie, err))
    return 0;
  engine_close(&reverie->engine);
  library_close_gpu(reverie);
  return -1;
}

int reverie_open(struct reverie *reverie, struct reverie_error *error) {
  struct error err;
  if (reverie->engine)
    return library_refuse(error, "a model is open: one struct reverie has one");
  struct engine_wish *wish = calloc(1, sizeof *wish);
  int status = wish ? open_engine(reverie, wish, &err) : error_set(&err, STATUS_FAILED, "out of memory");
  free(wish);
  if (!status)
    reverie->stale = (1u << LIBRARY_SLOTS) - 1;
  return library_tell(error, status ? &err : NULL);
}

int reverie_get_info(struct reverie *reverie, struct reverie_info *info, struct reverie_error *error) {
  if (!reverie->engine)
    return library_refuse(error, "no model is open: reverie_open comes first");
  struct error err;
  if (library_check_size(info, LIBRARY_LEAST, "reverie_info", &err))
    return library_tell(error, &err);
  struct engine_info now;
  engine_get_info(reverie->engine, &now);
  struct reverie_info own = {.native_width = now.native_width,
                             .native_height = now.native_height,
                             .size_multiple = now.size_multiple,
                             .width = reverie->shown.shape.width,
                             .height = reverie->shown.shape.height,
                             .frames_behind = reverie->shown.frames_behind,
                             .sees_frame = now.image_conditioned,
                             .device_bytes = now.device_bytes,
                             .stream = reverie->fallen_back ? NULL : reverie->stream,
                             .gpu = gpu_exists(&now.gpu) ? now.gpu.ordinal : -1};
  memcpy(own.gpu_uuid, now.gpu.uuid, sizeof own.gpu_uuid);
  snprintf(own.model, sizeof own.model, "%s", now.model);
  snprintf(own.device, sizeof own.device, "%s", now.device);
  library_write(info, &own, sizeof own);
  return library_tell(error, NULL);
}
