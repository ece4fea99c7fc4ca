#include "app/run/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>

#include "app/platform/app_platform.h"
#include "app/sink/files.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "unet/base/address.h"
#include "unet/base/text.h"

enum { PATH_SIZE = 4096 };

/* Placeholders in the output's name: they are replaced by the input's name and number. */
static const char name_place[] = "{name}", number_place[] = "{number}";

static int no_memory(struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory for the list of inputs");
}

/* --- the text that replaces {name} in an output's name --- */

/* Copies `length` characters of a file name or address to `name`; characters that are unusual in a file's name become
 * "_". */
static void copy_clean(char name[INPUTS_NAME_MAX], const char *from, size_t length) {
  size_t i = 0;
  for (; i < length && i + 1 < INPUTS_NAME_MAX; i++) {
    unsigned char c = (unsigned char)from[i];
    bool plain = c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("-_.", c);
    name[i] = plain ? from[i] : '_';
  }
  name[i] = 0;
}

/* Returns how many characters of a file's name stand before its extension. */
static size_t stem_of(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* Writes the name that stands for a picture sequence: the text before the number in its file names or, if there is
 * none, the folder's name. percent: points to the number placeholder ("%") in `path`. */
static void name_sequence(char name[INPUTS_NAME_MAX], const char *path, const char *percent) {
  const char *last = text_last_part(path);
  int length = (int)(percent - last);
  while (length > 0 && strchr(" ._-", last[length - 1]))
    length--;
  if (length <= 0 && last > path) {
    const char *end = last - 1, *begin = end;
    while (begin > path && begin[-1] != '/')
      begin--;
    last = begin;
    length = (int)(end - begin);
  }
  snprintf(name, INPUTS_NAME_MAX, "%.*s", length, length > 0 ? last : "");
}

void inputs_name(char name[INPUTS_NAME_MAX], const char *input) {
  const char *path = file_path(input), *last = text_last_part(path), *percent = strchr(last, '%');
  *name = 0;
  if (pipe_input_descriptor(input) >= 0)
    snprintf(name, INPUTS_NAME_MAX, "stdin");
  else if (!protocols_is_file(input)) {
    size_t length = strcspn(input, "?#=");
    while (length && input[length - 1] == '/')
      length--;
    size_t begin = length;
    while (begin && input[begin - 1] != '/')
      begin--;
    const char *dot = memrchr(input + begin, '.', length - begin);
    copy_clean(name, input + begin, dot && dot > input + begin ? (size_t)(dot - input) - begin : length - begin);
  } else if (percent && av_filename_number_test(path))
    name_sequence(name, path, percent);
  else
    snprintf(name, INPUTS_NAME_MAX, "%.*s", (int)stem_of(last), last);
  if (!*name)
    snprintf(name, INPUTS_NAME_MAX, "input");
}

bool inputs_are_named(const char *output) {
  return strstr(output, name_place) || strstr(output, number_place);
}

/* Writes the output's name for one input: the pattern (OUT on the command line), with `name` in place of {name} and
 * `number` in place of {number}. Returns false if the result is too long. */
static bool write_output(char out[PATH_SIZE], const char *pattern, const char *name, const char *number) {
  size_t used = 0;
  *out = 0;
  while (*pattern && used < PATH_SIZE) {
    bool is_name = !strncmp(pattern, name_place, strlen(name_place));
    bool is_number = !strncmp(pattern, number_place, strlen(number_place));
    const char letter[2] = {*pattern, 0};
    used += (size_t)snprintf(out + used, PATH_SIZE - used, "%s", is_name ? name : is_number ? number : letter);
    pattern += is_name ? strlen(name_place) : is_number ? strlen(number_place) : 1;
  }
  return used < PATH_SIZE;
}

static int name_outputs(struct inputs *inputs, const char *pattern, struct error *err) {
  int digits = snprintf(NULL, 0, "%d", inputs->count);
  for (int i = 0; i < inputs->count; i++) {
    char out[PATH_SIZE], name[INPUTS_NAME_MAX], number[16];
    snprintf(number, sizeof number, "%0*d", digits, i + 1);
    inputs_name(name, inputs->of[i].input);
    if (!write_output(out, pattern, name, number))
      return error_set(err, STATUS_OUTPUT, "%.80s...: the name is too long", pattern);
    if (!(inputs->of[i].output = strdup(out)))
      return no_memory(err);
  }
  return 0;
}

/* --- making the list of inputs --- */

static int add(struct inputs *inputs, const char *input, struct error *err) {
  struct input_output *of = realloc(inputs->of, (size_t)(inputs->count + 1) * sizeof *of);
  char *copy = strdup(input);
  if (of)
    inputs->of = of;
  if (!of || !copy) {
    free(copy);
    return no_memory(err);
  }
  inputs->of[inputs->count++] = (struct input_output){copy, NULL};
  return 0;
}

/* Argument of the function that platform_glob calls for each match; the matches are added to `inputs`. */
struct matching {
  struct inputs *inputs;
  /* if the glob names folders: the file name pattern of the picture sequence in each of them; NULL: the glob names
   * files */
  const char *pictures;
  struct error *err;
};

static int take(void *opaque, const char *path) {
  struct matching *matching = opaque;
  char joined[PATH_SIZE];
  if (!matching->pictures)
    return platform_is_folder(path) ? 0 : add(matching->inputs, path, matching->err);
  bool fits = (size_t)snprintf(joined, sizeof joined, "%s/%s", path, matching->pictures) < sizeof joined;
  return fits && platform_is_folder(path) ? add(matching->inputs, joined, matching->err) : 0;
}

static bool has_wild(const char *text) {
  return strpbrk(text, "*?[");
}

/* Returns true if the input is a glob (with * ? or [) that the shell did not expand. FFmpeg's own globs for pictures
 * ("%*", pattern_type=glob) are left to FFmpeg. */
static bool is_glob(const char *input, const struct options *options) {
  bool theirs = options->input_format || (options->input_options && strstr(options->input_options, "pattern_type"));
  return !theirs && has_wild(input) && protocols_is_file(input) && !strstr(input, "%*") &&
         !platform_exists(file_path(input));
}

static int by_input(const void *one, const void *other) {
  return strcmp(((const struct input_output *)one)->input, ((const struct input_output *)other)->input);
}

static int expand(struct inputs *inputs, const char *input, struct error *err) {
  char pattern[PATH_SIZE];
  const char *path = file_path(input), *last = text_last_part(path);
  struct matching matching = {.inputs = inputs, .err = err};
  int before = inputs->count;
  bool sequence = last > path && !has_wild(last) && av_filename_number_test(path);
  matching.pictures = sequence ? last : NULL;
  snprintf(pattern, sizeof pattern, "%.*s", sequence ? (int)(last - path) - 1 : (int)strlen(path), path);
  if (platform_glob(pattern, take, &matching))
    return no_memory(err);
  if (inputs->count == before)
    return error_set(err, STATUS_INPUT, "%s: nothing matches this", input);
  qsort(inputs->of + before, (size_t)(inputs->count - before), sizeof *inputs->of, by_input);
  return 0;
}

/* --- refusing outputs that would overwrite each other or an input --- */

static int by_output(const void *one, const void *other) {
  const struct input_output *a = *(const struct input_output *const *)one;
  const struct input_output *b = *(const struct input_output *const *)other;
  return strcmp(file_path(a->output), file_path(b->output));
}

static int refuse_same(const struct input_output *one, const struct input_output *other, const char *pattern,
                       struct error *err) {
  const char *advice = strstr(pattern, number_place) ? "name another OUT"
                       : strstr(pattern, name_place) ? "put {number} into OUT"
                                                     : "put {name} or {number} into OUT";
  struct shown names[] = {address_shown(one->input), address_shown(other->input)};
  return error_set(err, STATUS_USAGE, "%s and %s would both be written to %s; %s", names[0].text, names[1].text,
                   one->output, advice);
}

static int check_same(const struct inputs *inputs, const char *pattern, struct error *err) {
  const struct input_output **sorted = calloc((size_t)inputs->count, sizeof *sorted);
  if (!sorted)
    return no_memory(err);
  for (int i = 0; i < inputs->count; i++)
    sorted[i] = &inputs->of[i];
  qsort(sorted, (size_t)inputs->count, sizeof *sorted, by_output);
  int status = 0;
  for (int i = 1; i < inputs->count && !status && strcmp(pattern, "null:") != 0; i++)
    if (!by_output(&sorted[i - 1], &sorted[i]))
      status = refuse_same(sorted[i - 1], sorted[i], pattern, err);
  free(sorted);
  return status;
}

/* Fails if an output is a file that is also one of the inputs. */
static int check_read(const struct inputs *inputs, struct error *err) {
  struct files read = {0};
  int status = 0;
  for (int i = 0; i < inputs->count && !status; i++)
    status = protocols_is_file(inputs->of[i].input) ? files_add(&read, file_path(inputs->of[i].input), err) : 0;
  for (int i = 0; i < inputs->count && !status; i++) {
    struct files written = {0};
    const char *output = inputs->of[i].output;
    status = protocols_is_file(output) ? files_add(&written, file_path(output), err) : 0;
    if (!status && files_shared(&written, &read))
      status = error_set(err, STATUS_USAGE, "%s: is one of the inputs; give another output", output);
    files_free(&written);
  }
  files_free(&read);
  return status;
}

int inputs_find(struct inputs *inputs, const struct options *options, struct error *err) {
  for (int i = -1; i < options->file_count; i++) {
    const char *input = i < 0 ? options->input : options->files[i];
    if (is_glob(input, options) ? expand(inputs, input, err) : add(inputs, input, err))
      return -1;
  }
  if (name_outputs(inputs, options->output, err))
    return -1;
  return inputs->count > 1 && (check_same(inputs, options->output, err) || check_read(inputs, err)) ? -1 : 0;
}

void inputs_free(struct inputs *inputs) {
  for (int i = 0; i < inputs->count; i++) {
    free(inputs->of[i].input);
    free(inputs->of[i].output);
  }
  free(inputs->of);
  *inputs = (struct inputs){0};
}
