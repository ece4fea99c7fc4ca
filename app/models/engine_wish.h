/* Translates the parameters into the arguments for opening an engine: the files of its models, found by their names,
 * its options, and the shape of its handle (struct prepared: size, sampler, number of steps and more). */
#ifndef APP_MODELS_ENGINE_WISH_H
#define APP_MODELS_ENGINE_WISH_H

#include "app/control/settings.h"
#include "app/platform/paths.h"
#include "unet/engine.h"

/* Arguments for opening an engine and preparing its handle (prepared size and step count), with the memory that they
 * point to. */
struct engine_wish {
  /* arguments for opening the engine; the pointers in this field point into the other fields of struct engine_wish */
  struct engine_params engine;
  struct engine_shape shape;
  const char *adapters[ADAPTERS_MAX];
  struct engine_control controls[CONTROLS_MAX];
  char model[PATHS_MAX], vae[PATHS_MAX], unet[PATHS_MAX], config[PATHS_MAX], adapter[ADAPTERS_MAX][PATHS_MAX];
  char control[CONTROLS_MAX][PATHS_MAX], depth[PATHS_MAX];
  char ip_adapter[PATHS_MAX], image_encoder[PATHS_MAX];
  char vocabulary[PATHS_MAX], cache[PATHS_MAX];
};

/* Fills in those arguments for opening an engine that parameters decide, and zeroes the rest of wish->engine and
 * wish->shape. LoRAs and controls are used up to the first number without a file. *wish points into itself, so it must
 * not be copied or moved. Returns 0, or -1 with err if a name finds no model. */
int engine_wish_fill(struct engine_wish *wish, const struct parameters *values, struct error *err);
/* Returns 0; or -1 with err if the model's own IP-Adapter is asked for and the model has none. */
int engine_wish_check_adapter(const struct engine_wish *wish, struct error *err);

#endif
