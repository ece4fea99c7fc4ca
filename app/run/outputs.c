#include "app/run/output.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "app/platform/app_platform.h"
#include "app/platform/paths.h"
#include "app/sink/target.h"
#include "app/source/pipewire_spec.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

enum { RETRY_FIRST_MS = 250 };

struct outputs {
  struct outputs_params params;
  struct output *output[OUTPUTS_MAX];
  int numbers;
  /* number of pictures dropped from recordings that have ended; output->dropped counts those dropped from a recording
   * that still runs */
  long dropped;
  char broken[PATHS_MAX]; /* name of the first recording that has failed; "": none has */
  long broken_after;      /* number of pictures in the file of the first recording that has failed */
  /* why the last recording failed; "": none has failed since the newest recording began */
  char why[OUTPUT_WHY_MAX];
};

enum output_kind output_kind_of(const char *spec, const char *format) {
  struct target target;
  struct platform_entry entry;
  if (pipewire_is(spec) || (!platform_look(&entry, spec) && entry.kind == ENTRY_PIPE))
    return OUTPUT_STREAM;
  return !target_choose(&target, spec, format, NULL) && target.stream ? OUTPUT_STREAM : OUTPUT_RECORDING;
}

int outputs_holds(const char *spec) {
  return output_kind_of(spec, NULL) == OUTPUT_RECORDING ? OUTPUT_RECORDING_HOLDS : OUTPUT_STREAM_HOLDS;
}

int outputs_open(struct outputs **result, const struct outputs_params *params, struct error *err) {
  struct outputs *outputs = *result = calloc(1, sizeof *outputs);
  if (!outputs)
    return error_set(err, STATUS_FAILED, "no memory for outputs");
  outputs->params = *params;
  return 0;
}

static void drop_oldest(struct output *output) {
  covered_release(&output->queue[output->first].covered);
  output->first = (output->first + 1) % OUTPUT_QUEUE;
  output->count--;
}

static void output_free(struct output *output) {
  while (output->count)
    drop_oldest(output);
  pthread_cond_destroy(&output->changed);
  pthread_mutex_destroy(&output->lock);
  free(output);
}

static int start(struct output **result, const char *spec, const struct outputs_params *params, struct error *err) {
  struct output *output = calloc(1, sizeof *output);
  if (!output)
    return error_set(err, STATUS_FAILED, "%s: no memory for this output", spec);
  snprintf(output->spec, sizeof output->spec, "%s", spec);
  output->kind = output_kind_of(spec, NULL);
  output->once = target_is_standard_output(spec);
  output->fps = (int)lrint(fmin(fmax(params->fps > 0 ? params->fps : USUAL_FPS, 1), 240));
  output->retry_ms = params->retry_ms > 0 ? params->retry_ms : RETRY_FIRST_MS;
  output->descriptor = -1;
  output->log = params->log;
  output->tap = params->tap;
  output->tap_by_clock = params->tap_by_clock;
  output->codec = target_is_camera(spec) ? NULL : params->codec;
  output->quality = params->quality;
  output->pixel_format = target_is_camera(spec) ? NULL : params->pixel_format;
  output->encoder_options = target_is_camera(spec) ? NULL : params->encoder_options;
  platform_lock_init(&output->lock);
  wait_init(&output->changed);
  int code = pthread_create(&output->thread, NULL, output_main, output);
  if (code) {
    output_free(output);
    return error_set(err, STATUS_FAILED, "%s: no thread can be started: %s", spec, strerror(code));
  }
  *result = output;
  return 0;
}

int outputs_add(struct outputs *outputs, const char *spec, int *number, struct error *err) {
  int slot = 0;
  while (slot < OUTPUTS_MAX && outputs->output[slot])
    slot++;
  if (slot == OUTPUTS_MAX)
    return error_set(err, STATUS_USAGE, "%s: there are %d outputs already", spec, OUTPUTS_MAX);
  if (strlen(spec) >= PATHS_MAX)
    return error_set(err, STATUS_USAGE, "%.40s...: the name is too long", address_shown(spec).text);
  if (start(&outputs->output[slot], spec, &outputs->params, err))
    return -1;
  outputs->output[slot]->number = ++outputs->numbers;
  if (outputs->output[slot]->kind == OUTPUT_RECORDING)
    outputs->why[0] = 0;
  if (number)
    *number = outputs->numbers;
  return 0;
}

/* Adds a shown picture to the output's queue. If the queue is full, a stream drops the oldest picture in it, and a
 * recording drops the new one and counts it. */
static void put(struct output *output, const struct covered *shown, int64_t shown_ns) {
  int most = output->kind == OUTPUT_STREAM ? 1 : OUTPUT_QUEUE;
  double interval_ns = (double)(shown_ns - output->shown_ns);
  if (output->shown_ns)
    output->interval_ns += (interval_ns - output->interval_ns) * (output->interval_ns > 0 ? 0.1 : 1);
  output->shown_ns = shown_ns;
  if (!output->begun_ns)
    output->begun_ns = shown_ns;
  if (output->count == most && output->kind == OUTPUT_RECORDING) {
    output->dropped++;
    return;
  }
  if (output->count == most)
    drop_oldest(output);
  output->queue[(output->first + output->count++) % OUTPUT_QUEUE] =
      (struct shown_picture){covered_hold(shown), shown_ns};
}

void outputs_show(struct outputs *outputs, const struct covered *shown, int64_t shown_ns) {
  for (int i = 0; i < OUTPUTS_MAX; i++) {
    struct output *output = outputs->output[i];
    if (!output)
      continue;
    pthread_mutex_lock(&output->lock);
    if (!output->ending)
      put(output, shown, shown_ns);
    pthread_cond_signal(&output->changed);
    pthread_mutex_unlock(&output->lock);
  }
}

static void ask_to_end(struct output *output) {
  pthread_mutex_lock(&output->lock);
  if (!output->ending)
    output->ended_ns = platform_now_ns();
  output->ending = true;
  atomic_store(&output->stop, true);
  pthread_cond_signal(&output->changed);
  pthread_mutex_unlock(&output->lock);
}

static struct output *find(const struct outputs *outputs, int number) {
  for (int i = 0; i < OUTPUTS_MAX; i++)
    if (outputs->output[i] && outputs->output[i]->number == number)
      return outputs->output[i];
  return NULL;
}

void outputs_end(struct outputs *outputs, int number) {
  struct output *output = find(outputs, number);
  if (output)
    ask_to_end(output);
}

bool outputs_has(const struct outputs *outputs, int number) {
  return find(outputs, number) != NULL;
}

static void note_end(struct outputs *outputs, const struct output *output) {
  outputs->dropped += output->dropped;
  if (output->broken)
    snprintf(outputs->why, sizeof outputs->why, "%s", output->why);
  if (output->broken && !*outputs->broken) {
    snprintf(outputs->broken, sizeof outputs->broken, "%s", output->spec);
    outputs->broken_after = output->written;
  }
}

/* If the output has an unread message, copies the message to `line`. Frees the output in *slot if it has ended. Returns
 * true if there was a message. */
static bool follow_one(struct outputs *outputs, struct output **slot, char *line, size_t size, enum log_level *level) {
  struct output *output = *slot;
  pthread_mutex_lock(&output->lock);
  bool told = output->line[0], through = output->through;
  if (told) {
    log_line(output->log, output->level, "%s", output->line);
    snprintf(line, size, "%s", output->line);
    *level = output->level;
  }
  output->line[0] = 0;
  pthread_mutex_unlock(&output->lock);
  if (through) {
    pthread_join(output->thread, NULL);
    note_end(outputs, output);
    output_free(output);
    *slot = NULL;
  }
  return told;
}

bool outputs_follow(struct outputs *outputs, char *line, size_t size, enum log_level *level) {
  for (int i = 0; i < OUTPUTS_MAX; i++)
    if (outputs->output[i] && follow_one(outputs, &outputs->output[i], line, size, level))
      return true;
  return false;
}

void outputs_get_figures(struct outputs *outputs, struct outputs_figures *figures) {
  int newest = 0;
  *figures = (struct outputs_figures){.dropped = outputs->dropped};
  snprintf(figures->broken, sizeof figures->broken, "%s", outputs->why);
  for (int i = 0; i < OUTPUTS_MAX; i++) {
    struct output *output = outputs->output[i];
    if (!output)
      continue;
    pthread_mutex_lock(&output->lock);
    figures->dropped += output->dropped;
    figures->failing += output->failing;
    figures->streams += output->kind == OUTPUT_STREAM;
    figures->recordings += output->kind == OUTPUT_RECORDING;
    if (output->kind == OUTPUT_RECORDING && output->number > newest) {
      newest = output->number;
      figures->seconds = output->begun_ns ? (double)(platform_now_ns() - output->begun_ns) / SECOND : 0;
    }
    pthread_mutex_unlock(&output->lock);
  }
}

static void print_line(const struct output *output, FILE *out) {
  text_put(out, address_shown(target_name(output->spec)).text);
  fprintf(out, ": %ld picture%s", output->written, output->written == 1 ? "" : "s");
  if (output->kind == OUTPUT_RECORDING)
    fprintf(out, ", %ld dropped", output->dropped);
  fputc('\n', out);
}

static void close_one(struct outputs *outputs, struct output *output, FILE *out) {
  pthread_join(output->thread, NULL);
  if (output->line[0] && output->level == LOG_WARNING)
    log_line(output->log, LOG_WARNING, "%s", output->line);
  if (out)
    print_line(output, out);
  note_end(outputs, output);
  output_free(output);
}

int outputs_close(struct outputs **pointer, FILE *out, struct error *err) {
  struct outputs *outputs = *pointer;
  if (!outputs)
    return 0;
  for (int i = 0; i < OUTPUTS_MAX; i++)
    if (outputs->output[i])
      ask_to_end(outputs->output[i]);
  for (int i = 0; i < OUTPUTS_MAX; i++)
    if (outputs->output[i])
      close_one(outputs, outputs->output[i], out);
  int status = 0;
  if (*outputs->broken)
    status = error_set(err, STATUS_OUTPUT, "%.400s: the recording ended early, after %ld picture%s", outputs->broken,
                       outputs->broken_after, outputs->broken_after == 1 ? "" : "s");
  free(outputs);
  *pointer = NULL;
  return status;
}
