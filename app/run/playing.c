#include "app/run/playing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/script.h"
#include "app/control/settings.h"
#include "app/platform/app_platform.h"

/* The prompts that were encoded in one engine. Such structs form a list, with one for each engine. */
struct encoded {
  struct encoded *next;
  const struct engine *engine; /* address of the engine; only compared, never used to call it */
  struct parameter_text text[SLOTS];
  bool there[SLOTS];
};

struct playing {
  struct script *script;
  char *file;
  struct settings settings;
  /* true: the engine's handle (prepared size and step count) can compute guidance, so the script may change the
   * guidance scale from frame to frame */
  bool guided;
  double played;           /* time of the last frame in seconds; -1: there was none yet */
  struct encoded *engines; /* list with an element for each engine that has made a frame */
};

int playing_open(struct playing **out, const char *file, const atomic_bool *stop, const struct log *log,
                 struct error *err) {
  struct playing *playing = *out = calloc(1, sizeof *playing);
  if (!playing || !(playing->file = strdup(file))) {
    playing_close(out);
    return error_set(err, STATUS_FAILED, "no memory for the script");
  }
  playing->played = -1;
  int status = script_open(&playing->script, file, stop, log, err);
  if (status)
    playing_close(out);
  return status;
}

void playing_close(struct playing **pointer) {
  struct playing *playing = *pointer;
  if (!playing)
    return;
  script_free(&playing->script);
  while (playing->engines) {
    struct encoded *next = playing->engines->next;
    free(playing->engines);
    playing->engines = next;
  }
  free(playing->file);
  free(playing);
  *pointer = NULL;
}

/* Returns true if the script may change the parameter from frame to frame: if no other handle (prepared size and step
 * count) or engine is needed for that. */
static bool changes(const struct playing *playing, enum parameter id) {
  enum parameter_need need = parameter_row(id)->need;
  return need == NEED_FRAME || need == NEED_ENCODING || (need == NEED_ROWS && playing->guided);
}

static bool begins(enum parameter id) {
  enum parameter_need need = parameter_row(id)->need;
  return need == NEED_FRAME || need == NEED_ENCODING || need == NEED_ROWS || need == NEED_PREPARATION;
}

/* Removes from *wished the marks ("is to be set") of parameters that the script may not set. beginning: true: before
 * the first frame, when also values that handles are prepared for, such as the size, may be set; false: later, when
 * only values that can differ from frame to frame may. */
static void leave(const struct playing *playing, struct parameters *wished, bool beginning) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (beginning ? !begins(id) : !changes(playing, id))
      wished->marks[id] = 0;
}

void playing_begin(const struct playing *playing, struct parameters *values) {
  struct parameters wished = *values;
  parameters_clear_marks(&wished);
  script_begin(playing->script, values);
  script_apply(playing->script, -1, 0, &wished);
  leave(playing, &wished, true);
  parameters_apply(values, &wished);
}

/* Logs a line that names the parameters which the script would change during the render, but cannot. Parameters that it
 * sets only at its beginning are used, and not named. */
static void tell_left_out(const struct playing *playing, const struct log *log) {
  char names[300] = "", name[PARAMETER_NAME_MAX];
  size_t used = 0;
  enum parameter id;
  int index;
  double last;
  for (int i = 0; script_track(playing->script, i, &id, &index, &last); i++) {
    enum parameter_need need = parameter_row(id)->need;
    bool missing = !changes(playing, id) && (last > 0 || need == NEED_ENGINE || need == NEED_READING);
    if (missing && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                               parameter_name(id, index, name));
  }
  if (used)
    log_line(log, LOG_WARNING, "%s: render cannot change these from frame to frame, and leaves them out: %s",
             playing->file, names);
}

void playing_start(struct playing *playing, const struct parameters *values, const struct prepared_info *prepared,
                   const struct log *log) {
  playing->guided = prepared->shape.guidance != GUIDANCE_NONE;
  settings_begin(&playing->settings, values);
  memcpy(playing->settings.values.marks, values->marks, sizeof values->marks);
  tell_left_out(playing, log);
}

/* Returns the record of the texts encoded in this engine's slots (storage for encoded prompts). If the engine has no
 * record yet, an empty one is added. NULL: out of memory. */
static struct encoded *find_encoded(struct playing *playing, const struct engine *engine) {
  struct encoded *encoded = playing->engines;
  while (encoded && encoded->engine != engine)
    encoded = encoded->next;
  if (encoded || !(encoded = calloc(1, sizeof *encoded)))
    return encoded;
  encoded->engine = engine;
  encoded->next = playing->engines;
  playing->engines = encoded;
  return encoded;
}

static int encode(const struct playing *playing, struct engine *engine, struct encoded *encoded, int slot,
                  struct error *err) {
  const char *given = values_slot_text(&playing->settings.values, slot), *text = given ? given : "";
  struct parameter_text *was = &encoded->text[slot];
  if (encoded->there[slot] ? !strcmp(was->words, text) : slot == SLOT_NEGATIVE && !given)
    return 0;
  snprintf(was->words, sizeof was->words, "%s", text);
  encoded->there[slot] = true;
  return engine_set_prompt(engine, slot, text, err);
}

static int encode_all(struct playing *playing, struct engine *engine, const struct controls *controls,
                      struct error *err) {
  struct encoded *encoded = find_encoded(playing, engine);
  if (!encoded)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (controls->blend[i] > 0 && encode(playing, engine, encoded, SLOT_PRESET_1 + i, err))
      return -1;
  return encode(playing, engine, encoded, controls->prompt, err) || encode(playing, engine, encoded, SLOT_NEGATIVE, err)
             ? -1
             : 0;
}

/* Converts a frame's time from seconds to nanoseconds, plus 1, because the functions of settings.h take 0 for "no
 * time". */
static int64_t moment_ns(double seconds) {
  return 1 + (int64_t)(seconds * 1e9);
}

void playing_pass(struct playing *playing, double seconds) {
  const int64_t now_ns = moment_ns(seconds);
  struct parameters wished = playing->settings.values;
  parameters_clear_marks(&wished);
  script_apply(playing->script, playing->played, seconds, &wished);
  leave(playing, &wished, false);
  settings_apply(&playing->settings, &wished, now_ns);
  settings_walk(&playing->settings, now_ns);
  playing->played = seconds;
}

int playing_controls(struct playing *playing, struct engine *engine, double seconds, struct controls *controls,
                     struct error *err) {
  const int64_t now_ns = moment_ns(seconds);
  playing_pass(playing, seconds);
  settings_controls(&playing->settings, now_ns, controls);
  return encode_all(playing, engine, controls, err);
}
