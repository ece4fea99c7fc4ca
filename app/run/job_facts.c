#include "app/run/job_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/options/option_values.h"
#include "app/platform/app_platform.h"
#include "unet/base/address.h"

/* Options of render that are left out of the job, the description by which parts of a render are compared. Most of them
 * change neither the pictures nor the output. Two may differ between parts: --batch, because the job has its effect,
 * and --warmup, because it only prepares a part's first picture. */
static const char *const passing[] = {"device",   "threads", "memory-limit", "graph",        "hwdec",
                                      "warmup",   "batch",   "read-timeout", "yes",          "resume",
                                      "progress", "crf",     "verbose",      "skip-existing"};

enum { VALUE_MAX = PARAMETER_TEXT_MAX + 128 };

/* Returns true for an option whose text may contain a password; manifests get a digest of the text instead. */
static bool is_secret(const char *name) {
  return !strcmp(name, "--input-options");
}

/* Adds an option to the job (the description of a render that manifests contain). If the value is the name of a file,
 * the file's size and hash are appended to it. If it is an address, its passwords are removed. Of a secret option only
 * a digest is added. Returns 0, or -1 with err. */
static int add(struct job *job, const char *name, const char *value, struct error *err) {
  char text[VALUE_MAX];
  struct job_file file;
  if (is_secret(name))
    return job_digest_text(text, value, err) || job_add_option(job, name, text, err) ? -1 : 0;
  if (!platform_is_file(value))
    return job_add_option(job, name, address_is(value) ? address_shown(value).text : value, err);
  if (job_file_describe(&file, value, err))
    return -1;
  snprintf(text, sizeof text, "%s, %lld bytes, hash %s", file.name, (long long)file.size, file.hash);
  job_file_free(&file);
  return job_add_option(job, name, text, err);
}

/* Returns true if render's pictures depend on the parameter. seed-walk needs a case of its own: the engine does not
 * read this parameter itself, but a position that is computed from it. */
static bool decides(enum parameter id) {
  return parameter_row(id)->need != NEED_NOTHING || id == PARAMETER_SEED_WALK;
}

/* Returns true if the user has set a parameter for which the model recommends a value. Such a value is stored even if
 * it equals the table's default, because the model's may be another one. */
static bool is_set_against_model(const struct parameters *values, enum parameter id, int index) {
  return parameter_row(id)->by_model && parameters_marked(values, id, index);
}

/* Adds to the job (the description of a render) the parameters that differ from their defaults. Defaults that depend on
 * the model need not be added, because the model is part of the job. Returns 0, or -1 with err. */
static int add_parameters(struct job *job, const struct parameters *values, struct error *err) {
  struct parameters usual;
  parameters_init(&usual);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = 0; i < parameter_instances(id) && decides(id); i++) {
      int index = row->count ? row->first + i : 0;
      char name[PARAMETER_NAME_MAX], value[PARAMETER_TEXT_MAX];
      if (parameters_same(values, &usual, id, index) && !is_set_against_model(values, id, index))
        continue;
      parameters_print(values, id, index, value, sizeof value);
      if (add(job, parameter_name(id, index, name), value, err))
        return -1;
    }
  }
  return 0;
}

/* Writes the word at `index` (from 0) in `choices`, a list such as "a|b|c". */
static void print_choice(const char *choices, int index, char *text, size_t size) {
  for (; index > 0 && strchr(choices, '|'); index--)
    choices = strchr(choices, '|') + 1;
  snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

/* Returns true if the value of an option of this kind is stored as a double. */
static bool is_real(enum option_kind kind) {
  return kind == OPTION_REAL || kind == OPTION_RATE || kind == OPTION_SECONDS;
}

/* Writes an option's value into `text`, in the form that option_apply reads. Returns false if the value is 0 (off, or
 * the first choice), and for options that set parameters (see add_parameters) and for --range (see add_others). */
static bool print_value(const struct option *option, const struct options *options, char *text, size_t size) {
  const char *field = (const char *)options + option->offset;
  *text = 0;
  if (option->kind == OPTION_FLAG && *(const bool *)field)
    snprintf(text, size, "on");
  else if (option->kind == OPTION_TEXT && *(const char *const *)field)
    snprintf(text, size, "%s", *(const char *const *)field);
  else if (option->kind == OPTION_CHOICE && *(const int *)field)
    print_choice(option->choices, *(const int *)field, text, size);
  else if (option->kind == OPTION_INT && *(const int *)field)
    snprintf(text, size, "%d", *(const int *)field);
  else if (option->kind == OPTION_LONG && *(const long *)field)
    snprintf(text, size, "%ld", *(const long *)field);
  else if (is_real(option->kind) && *(const double *)field != 0)
    snprintf(text, size, "%.17g", *(const double *)field);
  else if ((option->kind == OPTION_SIZE || option->kind == OPTION_OUTPUT_SIZE) && *(const int *)field)
    snprintf(text, size, "%dx%d", ((const int *)(const void *)field)[0], ((const int *)(const void *)field)[1]);
  return *text;
}

/* Writes the value of an option into `text` if it differs from `usual`, the options' defaults. Returns false if the
 * value does not differ, or if print_value does not write this kind of option. */
static bool print_given(const struct option *option, const struct options *options, const struct options *usual,
                        char *text, size_t size) {
  char standard[VALUE_MAX];
  return print_value(option, options, text, size) &&
         !(print_value(option, usual, standard, sizeof standard) && !strcmp(text, standard));
}

static bool is_passing(const struct option *option) {
  for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
    if (!strcmp(passing[i], option->name))
      return true;
  return false;
}

static int add_others(struct job *job, const struct options *options, struct error *err) {
  const struct option_range *range = &options->range;
  char frames[96], last[32] = "";
  struct options usual;
  options_init(&usual);
  if (range->last >= 0)
    snprintf(last, sizeof last, "%ld", range->last);
  snprintf(frames, sizeof frames, "%ld-%s:%ld", range->first, last, range->step);
  if (range->given && add(job, "--range", frames, err))
    return -1;
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    char name[64], value[VALUE_MAX];
    if (!(option->commands & 1u << COMMAND_RENDER) || is_passing(option) ||
        !print_given(option, options, &usual, value, sizeof value))
      continue;
    snprintf(name, sizeof name, "--%s", option->name);
    if (add(job, name, value, err))
      return -1;
  }
  return 0;
}

static int add_engine(struct job *job, const struct engine *engine, const struct prepared *prepared,
                      struct error *err) {
  struct engine_info info;
  struct prepared_info handle;
  char model[256], device[512];
  engine_get_info(engine, &info);
  prepared_get_info(prepared, &handle);
  snprintf(model, sizeof model, "%s, %zu bytes of weights", info.model, info.weight_bytes);
  snprintf(device, sizeof device, "%s, %s", info.device, info.device_detail);
  job->batch = handle.shape.batch;
  if (job_set_text(&job->model, model, err) || job_set_text(&job->device, device, err))
    return -1;
  free(job->choices);
  return engine_get_choices(engine, &job->choices, err);
}

int job_facts(struct job *job, const struct options *options, const struct engine *engine,
              const struct prepared *prepared, struct error *err) {
  *job = (struct job){.origin = {0, 1}};
  if (job_set_text(&job->program, REVERIE_VERSION, err) || job_file_describe(&job->input, options->input, err) ||
      add_parameters(job, &options->values, err) || add_others(job, options, err))
    return -1;
  return engine ? add_engine(job, engine, prepared, err) : 0;
}

/* Checks --input-options, an option that may contain a password, so that manifests store only a digest of its text.
 * Fails unless the text in `options` has the digest `given`, that of the shards' render. */
static int check_secret(const struct job_option *given, const struct options *options, struct error *err) {
  char digest[JOB_DIGEST_MAX];
  if (!options->input_options)
    return error_set(err, STATUS_USAGE,
                     "the shards were rendered with %s, which their manifests do not keep, as it may have a password; "
                     "give it again",
                     given->name);
  if (job_digest_text(digest, options->input_options, err))
    return -1;
  return strcmp(digest, given->value)
             ? error_set(err, STATUS_USAGE, "%s: the shards were rendered with another value", given->name)
             : 0;
}

int job_facts_of_input(const struct job *job, struct options *options, struct error *err) {
  static const char *const names[] = {"input-format", "input-fps", "start",       "duration", "frames",
                                      "range",        "no-sound",  "sound-track", "repeat"};
  struct options_request request;
  for (size_t i = 0; i < job->option_count; i++)
    for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
      const struct job_option *given = &job->options[i];
      const struct option *option = option_table;
      if (strncmp(given->name, "--", 2) != 0 || strcmp(given->name + 2, names[j]) != 0)
        continue;
      while (option < option_table + option_count && strcmp(option->name, names[j]) != 0)
        option++;
      if (option < option_table + option_count && option_apply(option, options, &request, given->value, err))
        return -1;
    }
  for (size_t i = 0; i < job->option_count && !options->no_sound; i++)
    if (is_secret(job->options[i].name) && check_secret(&job->options[i], options, err))
      return -1;
  return 0;
}
