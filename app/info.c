/* info: what a checkpoint contains, whether it fits, which devices there are. */
#include <stdio.h>

#include "app/options.h"
#include "app/paths.h"
#include "app/setup.h"
#include "unet/checkpoint.h"
#include "unet/device.h"

static void print_bytes(const char *what, size_t bytes) {
  if (bytes)
    printf(", %.1f GB %s", (double)bytes * 1e-9, what);
}

static void print_device(const char *name, const struct options *options) {
  struct resources none = {0};
  struct device *device;
  struct device_info info;
  struct error err;
  const struct device_options wish = {.name = name, .threads = options->threads};
  if (device_open(&device, &none, &wish, &err)) {
    printf("  %-6s not here: %s\n", name, err.message);
    return;
  }
  device_get_info(device, &info);
  printf("  %-6s %s", name, info.name);
  print_bytes("memory", info.memory_total);
  print_bytes("free", info.memory_free);
  printf("%s%s\n", *info.detail ? ", " : "", info.detail);
  device_close(&device);
}

/* Without a log: the engine, which reads it again, has the same to say. */
static int print_model(const char *folder, const struct options *options, struct error *err) {
  struct checkpoint *checkpoint;
  if (checkpoint_open(&checkpoint, folder, options->vae, NULL, err))
    return -1;
  checkpoint_print(checkpoint, options->verbose > 0, stdout);
  checkpoint_close(&checkpoint);
  return 0;
}

/* Whether it fits is tried, not guessed. That it does not is an answer, so no failure of info. */
static int print_need(const char *folder, const struct options *options, const struct log *log, struct error *err) {
  struct options wish = *options;
  struct engine *engine;
  struct engine_info info;
  wish.model = folder;
  if (setup_engine(&engine, &wish, NULL, 0, PIXEL_RGBA, log, err)) {
    if (err->status != STATUS_DEVICE)
      return -1;
    printf("\ndoes not run here: %s\n", err->message);
    return 0;
  }
  engine_get_info(engine, &info);
  printf("\nruns on %s%s%s\n", info.device, *info.device_detail ? ", " : "", info.device_detail);
  printf("  %dx%d, %d step%s (%s), sizes in multiples of %d: %.1f GFLOP a frame, %.0f MB of device memory\n",
         info.width, info.height, info.steps, info.steps == 1 ? "" : "s", info.sampler, info.size_multiple,
         info.flops * 1e-9, (double)info.device_peak_bytes * 1e-6);
  engine_close(&engine);
  return 0;
}

int command_info(const struct options *options, struct error *err) {
  char mini[PATHS_MAX];
  struct log log;
  const char *folder = options->input ? options->input : options->model;
  setup_log(&log, options);
  if (!folder) {
    if (paths_data(mini, "mini/model", STATUS_MODEL, err))
      return -1;
    folder = mini;
  }
  if (print_model(folder, options, err) || print_need(folder, options, &log, err))
    return -1;
  printf("\ndevices\n");
  print_device("cuda", options);
  print_device("cpu", options);
  return fflush(stdout) || ferror(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}
