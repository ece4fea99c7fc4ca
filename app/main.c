/* The program reverie: runs the command that the command line names, and returns its exit status. Sets up what all
 * commands need: the log lines of FFmpeg, and OpenMP's way of waiting. */
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

/* FFmpeg's callback for log lines. Prints a line without control characters and without passwords: FFmpeg quotes names,
 * tags and addresses as it finds them. */
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

/* Sets which lines FFmpeg logs: none without -v. They only help to find a cause, because the program's own messages say
 * what users need to know. */
static void limit_ffmpeg_log(int verbose) {
  av_log_set_callback(print_ffmpeg);
  av_log_set_level(verbose >= 2 ? AV_LOG_INFO : verbose == 1 ? AV_LOG_ERROR : AV_LOG_QUIET);
}

/* Makes OpenMP's threads spin for some microseconds before they sleep, when they wait for each other. Threads that spin
 * for long take the cores from decoder and encoder, and all of them are slow if one of the cores is busy. Threads that
 * sleep at once have to be woken hundreds of times in a frame. libgomp reads its environment before main begins, so the
 * program sets two variables and starts itself once more. Does nothing if the user has set OMP_WAIT_POLICY. */
static void limit_openmp_spinning(char **argv) {
  char path[4096];
  if (getenv("OMP_WAIT_POLICY") || !platform_program_path(path, sizeof path))
    return;
  bool told = !platform_set_variable("OMP_WAIT_POLICY", "passive");
  if (told && !getenv("GOMP_SPINCOUNT"))
    told = !platform_set_variable("GOMP_SPINCOUNT", "1000");
  if (told)
    platform_become(path, argv); /* does not return; if it fails, the program goes on and is only slower */
}

static int run(const struct options *options, struct error *err) {
  setup_signals();
  limit_ffmpeg_log(options->verbose);
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
      limit_openmp_spinning(argv);
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
