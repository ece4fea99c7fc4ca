/* reverie: the program. Which command, its exit status, and what holds for all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/options/options.h"
#include "app/models/names.h"
#include "app/platform/app_platform.h"
#include "app/run/setup.h"
#include "app/window/curtain.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

/* FFmpeg quotes names and tags of files as it finds them, and addresses with their passwords. */
static void print_ffmpeg(void *object, int level, const char *format, va_list args) {
  char line[4096];
  int prefix = 1;
  if ((level & 0xff) > av_log_get_level())
    return;
  av_log_format_line2(object, level, format, args, line, sizeof line, &prefix);
  size_t length = strlen(line);
  while (length && line[length - 1] == '\n')
    line[--length] = 0;
  fprintf(stderr, "%s\n", text_clean(address_conceal(line, sizeof line)));
}

/* FFmpeg's own lines help to find a cause; what users need to know is said by the code that met it. */
static void tame_ffmpeg(int verbose) {
  av_log_set_callback(print_ffmpeg);
  av_log_set_level(verbose >= 2 ? AV_LOG_INFO : verbose == 1 ? AV_LOG_ERROR : AV_LOG_QUIET);
}

/* OpenMP threads that spin for long while they wait take the cores from decoder, encoder and whatever else runs, and
 * collapse when one of them is busy; threads that sleep at once are woken hundreds of times a frame. Some
 * microseconds of spinning give most of both. libgomp reads its environment before main, so the program starts itself
 * once more. */
static void calm_openmp(char **argv) {
  char path[4096];
  if (getenv("OMP_WAIT_POLICY") || !platform_program_path(path, sizeof path))
    return;
  bool told = !platform_set_variable("OMP_WAIT_POLICY", "passive");
  if (told && !getenv("GOMP_SPINCOUNT"))
    told = !platform_set_variable("GOMP_SPINCOUNT", "1000");
  if (told)
    platform_become(path, argv); /* when that fails it merely goes slower */
}

static int run(const struct options *options, struct error *err) {
  setup_signals();
  tame_ffmpeg(options->verbose);
  switch (options->command) {
  case COMMAND_LIVE:
    return command_live(options, err);
  case COMMAND_RENDER:
    return command_render(options, err);
  case COMMAND_BENCH:
    return command_bench(options, err);
  case COMMAND_INFO:
    return command_info(options, err);
  case COMMAND_FETCH:
    return command_fetch(options, err);
  default:
    return error_set(err, STATUS_USAGE, "a command is needed (see reverie --help)");
  }
}

static int act(const struct options *options, const struct options_request *request, char **argv, struct error *err) {
  switch (request->action) {
  case ACTION_HELP:
    options_help(stdout, options->command);
    break;
  case ACTION_VERSION:
    puts("reverie " REVERIE_VERSION);
    break;
  case ACTION_GENERATE:
    if (options_generate(stdout, request->generate, err))
      return -1;
    break;
  case ACTION_NAMES:
    if (names_print(stdout, err))
      return -1;
    break;
  case ACTION_DEVICES:
    command_devices(options);
    break;
  default:
    if (options->command != COMMAND_FETCH)
      calm_openmp(argv);
    return run(options, err);
  }
  return fflush(stdout) || ferror(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}

int main(int argc, char **argv) {
  struct options options;
  struct options_request request;
  struct error err = {STATUS_FAILED, false, "failed for an unknown reason"};
  const char *curtain = getenv(CURTAIN_VARIABLE);
  if (curtain)
    return curtain_main(curtain);
  if (!options_parse(&options, &request, argc, argv, &err) && !act(&options, &request, argv, &err))
    return STATUS_OK;
  fprintf(stderr, "reverie: %s\n", err.message);
  return err.status;
}
