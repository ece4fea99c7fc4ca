#include "app/run/control_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/mailbox.h"
#include "app/platform/app_platform.h"
#include "app/source/reader.h"
#include "app/source/second_source.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"

/* A line is logged if a live control source gives no frame for this many nanoseconds. */
static const int64_t silence_ns = 2000000000;

struct control_source {
  struct control_source_params params;
  struct source_options options;
  struct log log; /* the user's log, with "--control-source" before each line */
  /* if the control source is a file: gives for each frame of the main source the file's frame of the same time; NULL:
   * the control source is live, and `reader` reads it */
  struct second_source *second_source;
  struct reader *reader;
  struct mailbox mailbox;
  const struct frame *newest; /* newest frame of a live control source, which is in the mailbox; NULL: none yet */
  /* time when the newest frame was taken from the mailbox (platform_now_ns); before the first frame: when the control
   * source was opened */
  int64_t heard_ns;
  /* capture time of the main source's first frame (platform_now_ns) if that source is live; 0: there was no frame yet,
   * or the source is not live */
  int64_t begun_ns;
  pthread_mutex_t lock;
  /* the present problem of the control source, in words, which was logged already; "": there is none; protected by
   * `lock` */
  char wrong[512];
};

static void pass_line(void *opaque, enum log_level level, const char *text) {
  const struct control_source *control = opaque;
  log_line(control->params.options->log, level, "--control-source: %s", text);
}

/* --- opening the control source (--control-source) --- */

/* Opens the control source. --start applies to a file; a live source cannot start later, so it is opened again without
 * --start. Returns what source_open returns. */
static int open_source(struct control_source *control, struct source **source, struct source_info *info,
                       struct error *err) {
  const char *spec = control->params.spec;
  int code = source_open(source, spec, &control->options, err);
  if (code)
    return code;
  source_get_info(*source, info);
  if (!info->realtime || control->options.start <= 0)
    return 0;
  source_close(source);
  control->options.start = 0;
  return source_open(source, spec, &control->options, err);
}

static int start(struct control_source *control, struct error *err) {
  const char *spec = control->params.spec;
  struct source *source = NULL;
  struct source_info info;
  struct platform_entry entry;
  if (platform_look(&entry, spec) == 0 && entry.kind == ENTRY_PIPE)
    log_line(&control->log, LOG_WARNING, "%s is a pipe: waits until something writes to it", spec);
  bool late = control->options.live && source_opens_late(spec) && strncmp(spec, "http", 4) != 0;
  int opened = late ? SOURCE_NOT_YET : open_source(control, &source, &info, err);
  if (opened == SOURCE_NOT_YET)
    return reader_start(&control->reader, &source, spec, &control->options, &control->mailbox, err);
  if (opened)
    return -1;
  log_line(&control->log, LOG_INFO, "%s", info.description);
  const struct second_source_options options = {control->params.first, control->params.patience_ms};
  int status = info.realtime ? reader_start(&control->reader, &source, control->params.spec, &control->options,
                                            &control->mailbox, err)
                             : second_source_start(&control->second_source, &source, &options, err);
  source_close(&source);
  return status;
}

int control_source_open(struct control_source **out, const struct control_source_params *params, struct error *err) {
  *out = NULL;
  if (!params->spec)
    return 0;
  struct control_source *control = calloc(1, sizeof *control);
  if (!control)
    return error_set(err, STATUS_FAILED, "out of memory");
  const struct source_options *first = params->options;
  control->params = *params;
  control->log = (struct log){pass_line, control};
  control->options = (struct source_options){.live = first->live,
                                             .loop = first->loop,
                                             .start = first->start,
                                             .duration = first->duration,
                                             .read_timeout = first->read_timeout,
                                             .stop = first->stop,
                                             .gpu = first->gpu,
                                             .secondary = true,
                                             .log = &control->log};
  mailbox_init(&control->mailbox);
  platform_lock_init(&control->lock);
  control->heard_ns = platform_now_ns();
  if (start(control, err) == 0) {
    *out = control;
    return 0;
  }
  control_source_close(&control);
  return error_prefix(err, "--control-source: ");
}

void control_source_close(struct control_source **pointer) {
  struct control_source *control = *pointer;
  *pointer = NULL;
  if (!control)
    return;
  second_source_stop(&control->second_source);
  reader_stop(&control->reader, NULL);
  mailbox_free(&control->mailbox);
  pthread_mutex_destroy(&control->lock);
  free(control);
}

/* --- telling the user about problems of the control source --- */

/* Logs a line when a problem of the control source begins, and another when it ends. why: the problem in words; "":
 * there is none. held: the last frame, which is still used; NULL: there was none, and ControlNets get black. */
static void tell(struct control_source *control, const char *why, const struct frame *held) {
  const atomic_bool *stop = control->options.stop;
  if (stop && atomic_load(stop))
    return;
  const char *meanwhile = held ? "its last frame is held" : "until it gives one, controls see black";
  pthread_mutex_lock(&control->lock);
  bool before = *control->wrong != 0;
  snprintf(control->wrong, sizeof control->wrong, "%s", why);
  pthread_mutex_unlock(&control->lock);
  if (*why && !before)
    log_line(&control->log, LOG_WARNING, "%s: %s", why, meanwhile);
  if (!*why && before)
    log_line(&control->log, LOG_WARNING, "%s goes on", control->params.spec);
}

/* --- finding the control source's frame for a frame of the main source --- */

/* Returns the time of the main source's frame in seconds. For a live source, this is the time since the capture of its
 * first frame, because its time stamps restart whenever it is opened again. */
static double moment_of(struct control_source *control, const struct frame *frame) {
  const struct source_info *first = control->params.first;
  if (!first->realtime)
    return (double)frame->pts * source_tick(first) + control->params.earlier;
  if (!control->begun_ns)
    control->begun_ns = frame->captured_ns;
  return (double)(frame->captured_ns - control->begun_ns) * 1e-9;
}

static const struct frame *in_step(struct control_source *control, const struct frame *frame) {
  const struct frame *newest;
  struct error err;
  char why[600] = "";
  const char *spec = control->params.spec;
  enum second_source_state state = second_source_at(control->second_source, moment_of(control, frame), &newest, &err);
  if (state == SECOND_SOURCE_ENDED)
    snprintf(why, sizeof why, "%.500s has ended", address_shown(spec).text);
  else if (state == SECOND_SOURCE_FAILED)
    snprintf(why, sizeof why, "%s", err.message);
  else if (state == SECOND_SOURCE_BEHIND)
    snprintf(why, sizeof why, "%.500s does not keep up", address_shown(spec).text);
  tell(control, why, newest);
  return newest;
}

static const struct frame *take_newest(struct control_source *control) {
  char why[600] = "";
  const struct mail *mail;
  int got = mailbox_take(&control->mailbox, &mail, control->newest ? 0 : control->params.patience_ms);
  if (got == 1) {
    control->newest = &mail->frame;
    control->heard_ns = platform_now_ns();
  }
  struct reader_status status;
  reader_get_status(control->reader, &status);
  if (!status.lost && platform_now_ns() - control->heard_ns > silence_ns)
    snprintf(why, sizeof why, "%.500s is silent", address_shown(control->params.spec).text);
  tell(control, why, control->newest);
  return control->newest;
}

void control_source_begin(struct control_source *control, double seconds) {
  const struct frame *ignored;
  struct error err; /* an error of the second source is ignored here, because it is found again, and reported, at the
                     * first frame */
  if (control && control->second_source)
    second_source_at(control->second_source, seconds, &ignored, &err);
}

const struct frame *control_source_at(struct control_source *control, const struct frame *frame) {
  if (!control)
    return NULL;
  return control->reader ? take_newest(control) : in_step(control, frame);
}

bool control_source_passes(const struct control_source *control) {
  struct source_info info;
  return control && control->reader && reader_get_info(control->reader, &info) && info.passes;
}

bool control_source_state(struct control_source *control, char *line, size_t size) {
  struct reader_status status = {0};
  if (!control)
    return false;
  if (control->reader)
    reader_get_status(control->reader, &status);
  pthread_mutex_lock(&control->lock);
  bool wrong = status.lost || *control->wrong;
  if (wrong)
    snprintf(line, size, "%s", status.lost ? status.reason : control->wrong);
  pthread_mutex_unlock(&control->lock);
  return wrong;
}
