#include "app/run/engines.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/earlier_frames.h"
#include "app/run/pipeline.h"
#include "app/run/setup.h"
#include "unet/base/platform.h"

/* --- options that cannot be used with several devices --- */

static int check(const struct options *options, struct error *err) {
  const struct earlier_option *option = earlier_option_given(options, 0);
  if (!option)
    return 0;
  return error_set(err, STATUS_USAGE, "--device %s: several devices make frames apart, and %s: %s; name one device",
                   options->device.name, option->name, option->why);
}

/* --- opening an engine on each device, all at the same time --- */

/* An engine that is being opened on a thread of its own, at the same time as engines on other devices. */
struct opening {
  struct setup setup;
  struct options options;
  struct engine *engine;
  struct prepared *prepared;
  pthread_t thread;
  bool running;
  int status;
  struct error err;
};

static int count_cpus(const struct device_names *names) {
  int count = 0;
  for (int i = 0; i < names->count; i++)
    count += !strncmp(names->name[i], "cpu", 3);
  return count;
}

/* Returns the number of threads for each engine on the CPU: `wanted`, unless that is 0 and there are several such
 * engines; then each gets an equal part of the cores. 0: the engine chooses. */
static int choose_threads(const struct device_names *names, int wanted) {
  int cpus = count_cpus(names), processors = platform_processors();
  if (wanted || cpus < 2)
    return wanted;
  return processors > cpus ? processors / cpus : 1;
}

static void *open_one(void *opaque) {
  struct opening *opening = opaque;
  opening->status = setup_engine(&opening->engine, &opening->prepared, &opening->setup, &opening->err);
  return NULL;
}

/* Fills *opening with the setup of the engine at this index (from 0) of engines->of. */
static void begin(struct opening *opening, const struct engines *engines, int index, const struct setup *setup) {
  *opening = (struct opening){.setup = *setup, .options = *setup->options};
  opening->setup.options = &opening->options;
  opening->setup.pictures = pipeline_holds(engines->count);
  opening->options.device.name = engines->names.name[index];
  opening->options.device.threads = choose_threads(&engines->names, setup->options->device.threads);
}

/* Waits until the engine at this index (from 0) is opened, and stores the engine in engines->of. Returns 0, or -1 with
 * err. err NULL: the failure of another engine is reported already, so that of this one is not. */
static int finish(struct opening *opening, struct engines *engines, int index, struct error *err) {
  if (opening->running)
    pthread_join(opening->thread, NULL);
  engines->of[index].engine = opening->engine;
  engines->of[index].prepared = opening->prepared;
  if (!opening->status || !err)
    return opening->status;
  *err = opening->err;
  bool device = engines->count > 1 && err->status == STATUS_DEVICE;
  return device ? error_prefix(err, "%s: ", engines->names.name[index]) : -1;
}

/* Opens the first engine. It makes choices (kernels, number of frames in a run) that the other engines adopt. Returns
 * 0, or -1 with err. */
static int open_first(struct opening *opening, struct engines *engines, const struct setup *setup, struct error *err) {
  begin(opening, engines, 0, setup);
  open_one(opening);
  return finish(opening, engines, 0, err);
}

/* Opens the other engines, all at the same time. They adopt the choices of the first engine (kernels, number of frames
 * in a run), and log nothing, because they would repeat the first engine's lines. Returns 0, or -1 with err if any
 * could not be opened. */
static int open_others(struct opening *openings, struct engines *engines, const struct setup *setup,
                       const char *choices, struct error *err) {
  struct prepared_info first;
  int status = 0;
  prepared_get_info(engines->of[0].prepared, &first);
  for (int i = 1; i < engines->count; i++) {
    begin(&openings[i], engines, i, setup);
    openings[i].setup.log = NULL;
    openings[i].setup.choices = choices;
    openings[i].options.batch = first.shape.batch;
    openings[i].running = !pthread_create(&openings[i].thread, NULL, open_one, &openings[i]);
    if (!openings[i].running)
      openings[i].status = error_set(&openings[i].err, STATUS_FAILED, "no thread can be started");
  }
  for (int i = 1; i < engines->count; i++)
    if (finish(&openings[i], engines, i, status ? NULL : err))
      status = -1;
  return status;
}

/* Returns true if an engine did not adopt `choices`, another engine's text with its kernels. The first line of such a
 * text names device and libraries; it is equal in both engines' texts if the choices were adopted. */
static bool has_others(struct engine *engine, const char *choices) {
  char *own = NULL;
  struct error err;
  bool others = engine_get_choices(engine, &own, &err) || !own != !choices;
  if (own && choices)
    others = strncmp(own, choices, strcspn(choices, "\n")) != 0;
  free(own);
  return others;
}

/* Logs one warning if an engine has not adopted the first one's kernel choices. The pictures of these engines then
 * differ by rounding, which viewers may see as flicker. The warning names only the first such engine's device. */
static void compare(const struct engines *engines, const char *choices, const struct log *log) {
  for (int i = 1; i < engines->count; i++)
    if (has_others(engines->of[i].engine, choices)) {
      log_line(log, LOG_WARNING, "%s computes in other ways than %s: their pictures differ by rounding",
               engines->names.name[i], engines->names.name[0]);
      return;
    }
}

static int open_all(struct engines *engines, const struct setup *setup, struct error *err) {
  if (device_names_read(&engines->names, setup->options->device.name, err))
    return -1;
  engines->count = engines->names.count;
  if (engines->count > 1 && check(setup->options, err))
    return -1;
  struct opening *openings = calloc((size_t)engines->count, sizeof *openings);
  char *choices = NULL;
  int status =
      openings ? open_first(&openings[0], engines, setup, err) : error_set(err, STATUS_FAILED, "out of memory");
  if (!status && engines->count > 1)
    status =
        engine_get_choices(engines->of[0].engine, &choices, err) || open_others(openings, engines, setup, choices, err)
            ? -1
            : 0;
  if (!status)
    compare(engines, choices, setup->log);
  free(choices);
  free(openings);
  return status;
}

/* --- preparing the open engines for the next input --- */

static void release(struct engines *engines, struct engines_kept *kept) {
  for (int i = 0; i < engines->count; i++)
    engine_release(engines->of[i].engine, &kept->prepared[i]);
}

static void release_all(struct engines *engines) {
  while (engines->kept_count)
    release(engines, &engines->kept[--engines->kept_count]);
}

/* Prepares a handle (one size, sampler and step count) in each engine. makes_do: true: if memory is short, runs of
 * fewer frames, or the CPU, are used; false: the function fails then. Returns 0; or -1 with err, and without
 * handles. */
static int prepare_all(struct engines *engines, struct engines_kept *kept, const struct setup *setup, bool makes_do,
                       struct error *err) {
  struct options options = *setup->options;
  struct setup own = *setup;
  struct prepared_info first;
  int status = 0;
  own.options = &options;
  for (int i = 0; i < engines->count && !status; i++) {
    status = setup_again(engines->of[i].engine, &kept->prepared[i], &own, makes_do, err);
    if (status || i)
      continue;
    prepared_get_info(kept->prepared[0], &first);
    options.batch = first.shape.batch;
    own.log = NULL;
  }
  if (status)
    release(engines, kept);
  return status;
}

/* Returns the number of frames that an engine processes in one run with these handles (prepared size and step
 * count). */
static int batch_of(const struct engines_kept *kept) {
  struct prepared_info info;
  prepared_get_info(kept->prepared[0], &info);
  return info.shape.batch;
}

/* Prepares handles for the input that `wish` describes. If memory is too short, or suffices only for runs of fewer
 * frames than the newest handles have, releases all older handles and tries again. So an input never gets less memory
 * than it would have alone. Returns 0, or -1 with err. */
static int prepare_wish(struct engines *engines, struct engines_kept *wish, const struct setup *setup,
                        struct error *err) {
  int batch = engines->kept_count ? batch_of(&engines->kept[0]) : 1;
  if (!setup->options->batch && batch > setup->batch)
    batch = setup->batch;
  if (engines->kept_count == ENGINES_KEPT)
    release(engines, &engines->kept[--engines->kept_count]);
  int status = prepare_all(engines, wish, setup, false, err);
  if (!status && batch_of(wish) >= batch)
    return 0;
  if (!status)
    release(engines, wish);
  release_all(engines);
  return prepare_all(engines, wish, setup, true, err);
}

static bool is_same(const struct engines_kept *a, const struct engines_kept *b) {
  return a->wish.width == b->wish.width && a->wish.height == b->wish.height && a->wish.aspect == b->wish.aspect &&
         a->wish.sizing == b->wish.sizing && a->wish.batch == b->wish.batch && a->batch == b->batch;
}

static int use_again(struct engines *engines, struct engines_kept *wish, const struct setup *setup, struct error *err) {
  int at = 0;
  while (at < engines->kept_count && !is_same(&engines->kept[at], wish))
    at++;
  if (at < engines->kept_count)
    *wish = engines->kept[at];
  else if (prepare_wish(engines, wish, setup, err))
    return -1;
  else
    at = engines->kept_count++;
  for (; at > 0; at--)
    engines->kept[at] = engines->kept[at - 1];
  engines->kept[0] = *wish;
  for (int i = 0; i < engines->count; i++)
    engines->of[i].prepared = wish->prepared[i];
  return 0;
}

int engines_use(struct engines *engines, const struct setup *setup, struct error *err) {
  struct engines_kept wish = {.batch = setup->batch};
  if (setup_shape(&wish.wish, setup, err))
    return -1;
  if (engines->count && engines->output == setup->output && !setup->choices)
    return use_again(engines, &wish, setup, err);
  engines_close(engines);
  if (open_all(engines, setup, err)) {
    engines_close(engines);
    return -1;
  }
  for (int i = 0; i < engines->count; i++)
    wish.prepared[i] = engines->of[i].prepared;
  engines->output = setup->output;
  engines->kept[engines->kept_count++] = wish;
  return 0;
}

void engines_close(struct engines *engines) {
  for (int i = 0; i < engines->count; i++)
    engine_close(&engines->of[i].engine);
  *engines = (struct engines){0};
}

const char *engines_times(const struct engines *engines, char text[16]) {
  snprintf(text, 16, engines->count > 1 ? "%d x " : "", engines->count);
  return text;
}
