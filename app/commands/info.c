/* The command info: prints the contents of a checkpoint and whether it fits into memory, or the lists of models and
 * devices. */
#include <stdio.h>

#include "app/options/options.h"
#include "app/models/inventory.h"
#include "app/run/setup.h"
#include "unet/adapter/adapter.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/control_network.h"
#include "unet/checkpoint/depth_files.h"
#include "unet/checkpoint/ip_adapter.h"
#include "unet/checkpoint/kind.h"
#include "unet/devices.h"

static void print_bytes(const char *what, size_t bytes) {
  if (bytes)
    printf(", %.1f GB %s", (double)bytes * 1e-9, what);
}

static void print_device(const char *name, const struct options *options) {
  struct resources none = {0};
  struct device *device;
  struct device_info info;
  struct error err;
  const struct device_options wish = {.name = name, .threads = options->device.threads};
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

/* Opens the engine without reading weights, which is enough to learn how much memory the model takes, and prints that.
 * A model that does not fit into memory is no error here. Returns 0, or -1 with err. */
static int print_need(const struct engine_wish *params, struct error *err) {
  struct engine *engine;
  struct prepared *prepared;
  struct engine_info info;
  struct prepared_info own;
  if (engine_open(&engine, &params->engine, err) || setup_prepare(engine, &params->shape, &prepared, err)) {
    engine_close(&engine);
    if (err->status != STATUS_DEVICE)
      return -1;
    printf("\ndoes not run here: %s\n", err->message);
    return 0;
  }
  engine_get_info(engine, &info);
  prepared_get_info(prepared, &own);
  printf("\nruns on %s%s%s\n", info.device, *info.device_detail ? ", " : "", info.device_detail);
  printf("  %dx%d, %d step%s (%s, %s spacing), made in multiples of %d: %.1f GFLOP a frame\n", own.shape.width,
         own.shape.height, own.shape.steps, own.shape.steps == 1 ? "" : "s", own.sampler, own.spacing,
         info.size_multiple, own.flops * 1e-9);
  printf("  %.0f MB of device memory, %.1f of them for prompts\n", (double)info.device_peak_bytes * 1e-6,
         (double)info.prompt_bytes * 1e-6);
  engine_close(&engine);
  return 0;
}

/* The facts that are printed about one file that --lora names. */
struct brought {
  char text[256];
  size_t factor_count;
};

static int describe_adapters(const struct engine_params *engine, struct brought list[ADAPTERS_MAX], struct error *err) {
  const struct adapter_options options = {.lenient = engine->adapters_lenient, .log = engine->device.log};
  for (int i = 0; i < engine->adapter_count; i++) {
    struct adapter *adapter;
    if (adapter_open(&adapter, engine->adapters[i], engine->checkpoint, &options, err))
      return -1;
    adapter_describe(&adapter->summary, list[i].text, sizeof list[i].text);
    list[i].factor_count = adapter->factor_count;
    adapter_close(&adapter);
  }
  return 0;
}

/* Prints that the model's own IP-Adapter reads style pictures, or why it cannot be used; nothing if it has none. */
static void print_own_adapter(const char *model) {
  struct ip_adapter *own;
  struct error err;
  if (!ip_adapter_is_in(model))
    return;
  if (ip_adapter_open_own(&own, model, &err)) {
    printf("style         pictures cannot be read: ");
    text_put(stdout, err.message);
    putchar('\n');
    return;
  }
  printf("style         pictures are read by its own IP-Adapter (--style PICTURE): %s, %d tokens a picture\n",
         ip_config_form(&own->config), ip_adapter_tokens(own));
  ip_adapter_close(&own);
}

static void print_adapter(const struct brought *brought, const char *path) {
  printf("adapter       %s\n              its factors take %.1f MB, ", brought->text,
         4e-6 * (double)brought->factor_count);
  text_put(stdout, path);
  putchar('\n');
}

/* Prints the checkpoint and the adapters. All adapters are opened before anything is printed, so that an invalid one
 * causes only an error message. Returns 0, or -1 with err. */
static int print_parts(const struct engine_params *engine, bool tensors, struct error *err) {
  struct brought list[ADAPTERS_MAX];
  if (describe_adapters(engine, list, err))
    return -1;
  checkpoint_print(engine->checkpoint, tensors, stdout);
  int steps = engine_usual_steps(engine->checkpoint);
  printf("steps         %d %s\n", steps, steps == 1 ? "suits it" : "suit it");
  print_own_adapter(engine->model);
  for (int i = 0; i < engine->adapter_count; i++)
    print_adapter(&list[i], engine->adapters[i]);
  return 0;
}

static int print_checkpoint(struct engine_wish *params, bool tensors, struct error *err) {
  struct engine_params *engine = &params->engine;
  if (engine_open_checkpoint(&engine->checkpoint, engine, err))
    return -1;
  int status = print_parts(engine, tensors, err);
  status = status ? status : print_need(params, err);
  checkpoint_close(&engine->checkpoint);
  return status;
}

/* Prints a control network. If the user named a single file, its kind and tensors were printed already. Returns 0, or
 * -1 with err. */
static int print_control(const char *path, bool tensors, struct error *err) {
  struct control_network *network;
  if (control_network_open(&network, path, "control", NULL, err))
    return -1;
  control_network_print(network, stdout);
  if (!platform_can_read_file(path))
    weights_print(network->weights.files, tensors, stdout);
  control_network_close(&network);
  return 0;
}

static int print_depth(const char *folder, struct error *err) {
  struct depth_files files;
  int status = depth_files_open(&files, folder, err);
  if (!status)
    depth_files_print(&files, stdout);
  depth_files_close(&files);
  return status;
}

static int print_ip_adapter(const struct safetensors *files, struct error *err) {
  struct ip_config c;
  if (ip_config_read(&c, files, err))
    return -1;
  printf("form          %s, for %s (texts %d wide), %d attentions", ip_config_form(&c), ip_config_family(&c),
         c.text_width, c.attentions);
  if (c.tokens)
    printf(", %d tokens a picture", c.tokens);
  printf("; its image encoder gives %d\n", c.picture_width);
  return 0;
}

/* Prints what a control network's file contains. If the network cannot be used, prints the reason; that is no error
 * here. */
static void print_control_file(const char *path) {
  struct error err;
  if (!print_control(path, false, &err))
    return;
  printf("control       cannot be used: ");
  text_put(stdout, err.message);
  putchar('\n');
}

/* Prints the contents of a file or folder of weights: of a whole model, or of a part such as a LoRA or a ControlNet.
 * Returns 0, or -1 with err. */
static int print_model(struct engine_wish *params, bool tensors, struct error *err) {
  struct safetensors *files = NULL;
  if (depth_files_are(params->engine.model))
    return print_depth(params->engine.model, err);
  if (control_network_is_folder(params->engine.model))
    return print_control(params->engine.model, tensors, err);
  if (platform_can_read_file(params->engine.model) && safetensors_open_file(&files, params->engine.model, err))
    return -1;
  enum weights_kind kind = files ? weights_kind(files) : WEIGHTS_MODEL;
  bool model = kind == WEIGHTS_MODEL;
  int status = 0;
  if (!model)
    weights_print(files, tensors, stdout);
  if (kind == WEIGHTS_LORA)
    status = adapter_print(files, stdout, err);
  if (kind == WEIGHTS_IP_ADAPTER)
    status = print_ip_adapter(files, err);
  if (kind == WEIGHTS_CONTROLNET || kind == WEIGHTS_ADAPTER)
    print_control_file(params->engine.model);
  safetensors_close(&files);
  return model ? print_checkpoint(params, tensors, err) : status;
}

int command_info(const struct options *options, struct error *err) {
  struct log log;
  struct engine_wish params;
  struct options wish = *options;
  if (options->input && parameters_set_text(&wish.values, PARAMETER_MODEL, 0, options->input, err))
    return -1;
  const struct setup setup = {.options = &wish, .output = PIXEL_RGBA, .log = &log};
  setup_log(&log, options);
  if (setup_params(&params, &setup, err))
    return -1;
  params.engine.device.sizes_only = true;
  if (print_model(&params, options->verbose > 0, err))
    return -1;
  if (!parameters_text(&wish.values, PARAMETER_MODEL, 0)) {
    printf("\nmodels\n");
    if (inventory_print(stdout, err))
      return -1;
  }
  printf("\ndevices\n");
  print_device("cuda", options);
  print_device("cpu", options);
  return fflush(stdout) || ferror(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}
