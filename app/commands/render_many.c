/* The command render: restyles the inputs that the command line names, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands/render_impl.h"
#include "app/run/inputs.h"
#include "app/run/setup.h"
#include "app/source/pipe_input.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

/* All inputs of the command line, and the result of each. */
struct batch {
  const struct options *options;
  struct inputs inputs;
  struct input_state {
    bool refused;  /* true: this input failed in the checks before the first render */
    bool replaces; /* true: the existing output of this input may be replaced */
  } * states;
  struct render_shared shared;
  int failed;
  enum status status; /* status of the first input that failed */
};

/* Returns true if no further input is rendered after one has failed with this status: the others would fail in the same
 * way, or the user has interrupted the program. */
static bool ends_all(enum status status) {
  return status == STATUS_INTERRUPTED || status == STATUS_DEVICE || status == STATUS_MODEL || status == STATUS_FAILED;
}

/* Prints the error of an input that has failed, and counts that input as failed. */
static void tell_failure(struct batch *batch, int number, const struct error *err) {
  struct shown name = address_shown(batch->inputs.of[number].input);
  bool named = !strncmp(err->message, name.text, strlen(name.text));
  fprintf(stderr, "reverie: input %d of %d, %s%s%s\n", number + 1, batch->inputs.count,
          named ? "" : text_clean(name.text), named ? "" : ": ", err->message);
  if (!batch->failed++)
    batch->status = err->status;
}

/* Fails if a file that is read again for each input (mask, script and so on) is a pipe, which can be read only once. */
static int check_once(const struct options *options, struct error *err) {
  const struct {
    const char *option, *file;
  } files[] = {{"script", options->script}, {"mask", options->mask}, {"control-source", options->control_source}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i].file && pipe_input_is(files[i].file))
      return error_set(err, STATUS_USAGE, "--%s %s: can be read once only, and there are several inputs",
                       files[i].option, files[i].file);
  return 0;
}

/* Returns the options with which one of the inputs is rendered: those of the command line, with this input and its
 * output. */
static struct options *options_of(const struct batch *batch, int number) {
  struct options *one = malloc(sizeof *one);
  if (!one)
    return NULL;
  *one = *batch->options;
  one->input = batch->inputs.of[number].input;
  one->output = batch->inputs.of[number].output;
  one->file_count = 0;
  one->overwrite |= batch->states[number].replaces;
  return one;
}

/* Checks all inputs before the first one is rendered, so that all questions to the user come first. Prints the error of
 * each input that fails. Returns 0; or -1 with err if all other inputs would fail in the same way, or the user has
 * interrupted the program. */
static int check_all(struct batch *batch, struct error *err) {
  for (int i = 0; i < batch->inputs.count; i++) {
    struct input_state *state = &batch->states[i];
    struct error why;
    struct options *one = options_of(batch, i);
    if (!one)
      return error_set(err, STATUS_FAILED, "no memory for several inputs");
    state->refused = render_check(one, &state->replaces, &why);
    free(one);
    if (state->refused && ends_all(why.status)) {
      *err = why;
      return -1;
    }
    if (state->refused)
      tell_failure(batch, i, &why);
  }
  return 0;
}

/* Renders one of the inputs. Returns 0; or -1 with err if the inputs after it must not be rendered. */
static int render_one(struct batch *batch, int number, struct error *err) {
  struct error why;
  struct options *one = options_of(batch, number);
  if (!one)
    return error_set(err, STATUS_FAILED, "no memory for several inputs");
  if (batch->inputs.count > 1)
    log_line(&batch->shared.log, LOG_WARNING, "input %d of %d: %s -> %s", number + 1, batch->inputs.count, one->input,
             one->output);
  batch->shared.place.input = number + 1;
  int status = render_input(one, &batch->shared, &why);
  free(one);
  if (!status)
    return 0;
  if (batch->inputs.count == 1 || ends_all(why.status)) {
    *err = why;
    return -1;
  }
  tell_failure(batch, number, &why);
  return 0;
}

static int render_all(struct batch *batch, struct error *err) {
  bool several = batch->inputs.count > 1;
  if (several && (check_once(batch->options, err) || check_all(batch, err)))
    return -1;
  for (int i = 0; i < batch->inputs.count; i++)
    if (!batch->states[i].refused && render_one(batch, i, err))
      return -1;
  return batch->failed ? error_set(err, batch->status, "%d of %d inputs failed", batch->failed, batch->inputs.count)
                       : 0;
}

int command_render(const struct options *options, struct error *err) {
  struct batch batch = {.options = options};
  FILE *programs = progress_stream(options->progress, options->output);
  setup_log(&batch.shared.log, options);
  int status = inputs_find(&batch.inputs, options, err);
  if (!status && !(batch.states = calloc((size_t)batch.inputs.count, sizeof *batch.states)))
    status = error_set(err, STATUS_FAILED, "no memory for several inputs");
  batch.shared.place = (struct progress_place){1, batch.inputs.count, -1};
  if (!status)
    status = render_all(&batch, err);
  engines_close(&batch.shared.engines);
  free(batch.states);
  inputs_free(&batch.inputs);
  if (status)
    progress_fail(options->progress, programs, err);
  return status;
}
