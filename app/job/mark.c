#include "app/job/mark.h"

#include <stdlib.h>
#include <string.h>

#include "app/job/job_json.h"

/* Options that change no picture: they select which pictures are made, how the input is read, or concern its sound.
 * The text in a PNG that says with which settings it was made (job_mark_write) leaves them out. */
static const char *const choosing[] = {"--frames",   "--range",       "--start",        "--duration",
                                       "--no-sound", "--sound-track", "--input-options"};

static bool is_choosing(const char *name) {
  for (size_t i = 0; i < sizeof choosing / sizeof *choosing; i++)
    if (!strcmp(choosing[i], name))
      return true;
  return false;
}

/* Copies to *to, from the description of a render, only what influences the pixels. Returns 0, or -1 with err. */
static int reduce(struct job *to, const struct job *from, struct error *err) {
  to->input.size = from->input.size;
  memcpy(to->input.hash, from->input.hash, sizeof to->input.hash);
  if (job_set_text(&to->program, from->program, err) || job_set_text(&to->model, from->model, err))
    return -1;
  for (size_t i = 0; i < from->option_count; i++)
    if (!is_choosing(from->options[i].name) && job_add_option(to, from->options[i].name, from->options[i].value, err))
      return -1;
  return 0;
}

int job_mark_write(char **mark, const struct job *job, struct error *err) {
  static const struct job_part whole = {.index = 1, .count = 1, .begin = {0, 1}, .open = true};
  struct job reduced = {0};
  *mark = NULL;
  int status = reduce(&reduced, job, err);
  cJSON *object = status ? NULL : cJSON_CreateObject();
  if (object && !job_to_json(object, &reduced, &whole))
    *mark = cJSON_PrintUnformatted(object);
  if (!status && !*mark)
    status = error_set(err, STATUS_FAILED, "no memory for what identifies a render job");
  cJSON_Delete(object);
  job_free(&reduced);
  return status;
}

static int read_mark(struct job *job, const char *mark, struct error *err) {
  struct job_part part;
  cJSON *object = cJSON_Parse(mark);
  int got = object ? job_from_json(job, &part, object, err) : 0;
  cJSON_Delete(object);
  if (!got)
    return error_set(err, STATUS_USAGE, "what it was made with cannot be read");
  return got < 0 ? -1 : 0;
}

int job_mark_compare(const char *was, const char *is, struct error *err) {
  struct job before = {0}, now = {0};
  if (!strcmp(was, is))
    return 0;
  int status = read_mark(&before, was, err) || read_mark(&now, is, err) || job_compare(&before, &now, err) ? -1 : 0;
  job_free(&before);
  job_free(&now);
  return status;
}
