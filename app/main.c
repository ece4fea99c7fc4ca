/* The program reverie: runs the command that the command line names, and returns its exit status. For all commands it
 * sets which log lines of FFmpeg are printed, and how OpenMP's threads wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/options/options.h"
#include "app/options/show_file.h"
#include "app/models/names.h"
#include "app/platform/app_platform.h"
#include "app/platform/paths.h"
#include "app/run/progress.h"
#include "app/run/setup.h"
#include "app/window/curtain.h"
#include "unet/base/address.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

enum { CONFIG_BYTES_MAX = 1 << 20 };

/* FFmpeg's callback for log lines. Prints the line without control characters and passwords, because FFmpeg puts names,
 * tags and addresses into lines unchanged. */
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

/* Sets which lines FFmpeg logs: none unless -v was given. The program's own messages say what users need to know, and
 * FFmpeg's lines only help to find a cause. */
static void limit_ffmpeg_log(int verbose) {
  av_log_set_callback(print_ffmpeg);
  av_log_set_level(verbose >= 2 ? AV_LOG_INFO : verbose == 1 ? AV_LOG_ERROR : AV_LOG_QUIET);
}

/* Limits how long OpenMP's threads spin before they sleep. Threads that spin for long take cores from the decoder and
 * the encoder. Threads that sleep at once must be woken hundreds of times per frame. libgomp reads its environment
 * before main begins, so the program sets two variables and starts itself again. Does nothing if the user has set
 * OMP_WAIT_POLICY. */
static void limit_openmp_spinning(char **argv) {
  char path[4096];
  if (getenv("OMP_WAIT_POLICY") || !platform_program_path(path, sizeof path))
    return;
  bool told = !platform_set_variable("OMP_WAIT_POLICY", "passive");
  if (told && !getenv("GOMP_SPINCOUNT"))
    told = !platform_set_variable("GOMP_SPINCOUNT", "1000");
  if (told)
    platform_become(path, argv); /* starts the program again; returns only if that failed, and then this process goes
                                  * on, but is slower */
}

static int run(const struct options *options, struct error *err) {
  setup_signals();
  limit_ffmpeg_log(options->verbose);
  switch (options->command) {
  case COMMAND_LIVE:
    return command_live(options, err);
  case COMMAND_RENDER:
    return command_render(options, err);
  case COMMAND_JOIN:
    return command_join(options, err);
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
    command_version(options);
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
    if (options->command != COMMAND_FETCH && options->command != COMMAND_JOIN)
      limit_openmp_spinning(argv);
    return run(options, err);
  }
  return fflush(stdout) || ferror(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}

/* Returns true if limit_openmp_spinning will restart the program. Then errors in reverie.conf are not reported here,
 * because the restarted program reports them. */
static bool starts_again(void) {
  char path[PATHS_MAX];
  return !getenv("OMP_WAIT_POLICY") && platform_program_path(path, sizeof path);
}

/* Which file each line comes from, for messages about the options in it. options_parse_with counts the lines of
 * reverie.conf first, then those of the show file. */
struct lines {
  int of_config;    /* number of lines of reverie.conf */
  const char *show; /* name of the show file; NULL: none */
};

static void complain(void *opaque, int line, const char *why) {
  const struct lines *lines = opaque;
  if (starts_again())
    return;
  if (lines && line > lines->of_config)
    fprintf(stderr, "reverie: %s: options: %s\n", lines->show, why);
  else
    fprintf(stderr, "reverie: reverie.conf:%d: %s\n", line, why);
}

static void complain_of_show(void *opaque, const char *why) {
  if (!starts_again())
    fprintf(stderr, "reverie: %s: %s\n", (const char *)opaque, why);
}

/* Reads reverie.conf, from which live has options that the command line does not give. Returns its text, which lives as
 * long as the program; NULL: there is none, or the command does not read it. */
static char *read_config(const struct options *options, const struct options_request *request) {
  char path[PATHS_MAX], *text = NULL;
  size_t length = 0;
  struct error err;
  bool wanted = request->action == ACTION_RUN && options->command == COMMAND_LIVE && !options->no_config;
  if (wanted && paths_config_file(path, "reverie.conf") && text_read(path, CONFIG_BYTES_MAX, &text, &length, &err) &&
      !starts_again())
    fprintf(stderr, "reverie: %s\n", err.message);
  int wrong = text ? text_make_lines(text, length) : 0;
  if (wrong)
    complain(NULL, wrong, TEXT_ZERO_BYTE);
  return text;
}

/* Reads the show file (saved options, values, keys and presets of a live show) that the options name. *show lives as
 * long as the program, because options point into it; NULL: the file does not exist yet. Returns 0, or -1 with err. */
static int read_show(struct show_file **show, const struct options *options, struct error *err) {
  char path[PATHS_MAX], *text = NULL;
  snprintf(path, sizeof path, "%s", options->show_file);
  char *folder = text_folder(path);
  if (!platform_exists(path)) {
    free(folder);
    return 0;
  }
  int status = text_read(path, SHOW_BYTES_MAX, &text, NULL, err);
  if (status)
    err->status = STATUS_USAGE;
  else if (!folder)
    status = error_set(err, STATUS_FAILED, "no memory for the show file");
  else if (show_file_read(show, text, folder, options->trust_show, complain_of_show, path, err))
    status = error_prefix(err, "%.300s: ", path);
  free(folder);
  free(text);
  return status;
}

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; text++)
    lines += *text == '\n';
  return lines;
}

/* Returns the lines of reverie.conf and of the show file as one text; either argument may be NULL. The result is NULL
 * if there are no lines, or memory is short. */
static char *join_lines(const char *config, const struct show_file *show, struct lines *lines) {
  char *text = NULL;
  if ((!config && !show) || asprintf(&text, "%s\n%s", config ? config : "", show ? show->options : "") < 0)
    return NULL;
  lines->of_config = config ? count_lines(config) + 1 : 1;
  return text;
}

/* Parses the command line, and for live reverie.conf and the show file. Returns 0, or -1 with err. */
static int parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err) {
  struct show_file *show = NULL;
  if (options_parse(options, request, argc, argv, err))
    return -1;
  struct lines lines = {0, options->show_file};
  bool shows = request->action == ACTION_RUN && options->command == COMMAND_LIVE && options->show_file;
  if (shows && read_show(&show, options, err))
    return error_prefix(err, "--show-file ");
  char *config = read_config(options, request), *text = join_lines(config, show, &lines);
  const struct options_config both = {text, complain, &lines, .always = true};
  if (text && options_parse_with(options, request, argc, argv, &both, err))
    return error_prefix(err,
                        /* the command line alone was parsed before without an error, so the error is in reverie.conf or
                         * the show file */
                        show ? "reverie.conf or the show file: " : "reverie.conf: ");
  free(config);
  if (show)
    show_file_apply(show, options);
  if (shows && !options->presets)
    options->presets = options->show_file;
  return 0;
}

/* Returns the value of --progress if argument number i of the command line gives one; otherwise NULL. */
static const char *progress_value(char **argv, int i) {
  static const char name[] = "--progress";
  const char *end = argv[i] + sizeof name - 1;
  if (strncmp(argv[i], name, sizeof name - 1) != 0)
    return NULL;
  return *end == '=' ? end + 1 : !*end ? argv[i + 1] : NULL;
}

/* Tells a scheduler why the command line was refused, if it asks for --progress openjd. After an error the options are
 * unknown, so argv is searched. Standard output is not used if any argument may be an output that goes there. */
static void tell_scheduler(int argc, char **argv, const struct error *err) {
  enum progress_kind kind = PROGRESS_NONE;
  FILE *out = stdout;
  for (int i = 1; i < argc; i++) {
    const char *value = progress_value(argv, i);
    if (value)
      kind = strcmp(value, "openjd") ? PROGRESS_NONE : PROGRESS_OPENJD;
    if (progress_stream(PROGRESS_OPENJD, argv[i]) != stdout)
      out = stderr;
  }
  progress_fail(kind, out, err);
}

int main(int argc, char **argv) {
  struct options options;
  struct options_request request;
  struct error err = {STATUS_FAILED, false, "failed for an unknown reason"};
  const char *curtain = getenv(CURTAIN_VARIABLE);
  if (curtain)
    return curtain_main(curtain);
  int status = parse(&options, &request, argc, argv, &err);
  if (status)
    tell_scheduler(argc, argv, &err);
  if (!status && !act(&options, &request, argv, &err))
    return STATUS_OK;
  fprintf(stderr, "reverie: %s\n", err.message);
  return err.status;
}
