/* Compares two jobs and says where they differ. */
#include "app/job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/text.h"

/* Two jobs that are compared, and the words that a message puts after the value of each, such as "then" and "now". */
struct comparison {
  const struct job *was, *is;
  const char *then, *now;
  struct error *err;
};

static int differs(const struct comparison *c, const char *what, const char *was, const char *is) {
  return error_set(c->err, STATUS_USAGE, "%s differs: %s %s, %s %s", what, text_quote(was).text, c->then,
                   text_quote(is).text, c->now);
}

static int compare_texts(const struct comparison *c) {
  const struct job *was = c->was, *is = c->is;
  const struct {
    const char *what, *was, *is;
  } texts[] = {
      {"reverie's version", was->program, is->program},
      {"the input's content", was->input.hash, is->input.hash},
      {"the model", was->model, is->model},
      {"the encoder", was->encoder, is->encoder},
      {"the container", was->container, is->container},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].was && texts[i].is && strcmp(texts[i].was, texts[i].is) != 0)
      return differs(c, texts[i].what, texts[i].was, texts[i].is);
  return 0;
}

static int compare_number(const struct comparison *c, const char *what, int64_t was, int64_t is) {
  return was == is ? 0
                   : error_set(c->err, STATUS_USAGE, "%s differs: %" PRId64 " %s, %" PRId64 " %s", what, was, c->then,
                               is, c->now);
}

static int compare_time(const struct comparison *c, const char *what, struct job_time was, struct job_time is) {
  char texts[2][48];
  if (!was.den || !is.den || !job_time_compare(was, is))
    return 0;
  snprintf(texts[0], sizeof texts[0], "%" PRId64 "/%" PRId64 " s", was.num, was.den);
  snprintf(texts[1], sizeof texts[1], "%" PRId64 "/%" PRId64 " s", is.num, is.den);
  return differs(c, what, texts[0], texts[1]);
}

static bool has_option(const struct job *job, const char *name) {
  for (size_t i = 0; i < job->option_count; i++)
    if (!strcmp(job->options[i].name, name))
      return true;
  return false;
}

/* Compares the lists of options. The same options in another order count as a difference. */
static int compare_options(const struct comparison *c) {
  const struct job *was = c->was, *is = c->is;
  for (size_t i = 0; i < was->option_count || i < is->option_count; i++) {
    const struct job_option *one = i < was->option_count ? &was->options[i] : NULL;
    const struct job_option *other = i < is->option_count ? &is->options[i] : NULL;
    if (one && other && !strcmp(one->name, other->name)) {
      if (strcmp(one->value, other->value) != 0)
        return differs(c, one->name, one->value, other->value);
      continue;
    }
    bool added = !one || (other && !has_option(was, other->name));
    const struct job_option *given = added ? other : one;
    return error_set(c->err, STATUS_USAGE, "%s differs: %s %s, not given or elsewhere %s", given->name,
                     text_quote(given->value).text, added ? c->now : c->then, added ? c->then : c->now);
  }
  return 0;
}

static int compare_header(const struct comparison *c) {
  const struct job *was = c->was, *is = c->is;
  if (!was->header || !is->header ||
      (was->header_bytes == is->header_bytes && !memcmp(was->header, is->header, was->header_bytes)))
    return 0;
  return error_set(c->err, STATUS_USAGE, "the codec's header differs: another version or setting of the encoder");
}

static int compare(const struct comparison *c) {
  const struct job *was = c->was, *is = c->is;
  bool sizes = was->input.size >= 0 && is->input.size >= 0;
  if ((sizes && compare_number(c, "the input's size in bytes", was->input.size, is->input.size)) ||
      compare_options(c) || compare_texts(c))
    return -1;
  if ((was->width && is->width && compare_number(c, "the pictures' width", was->width, is->width)) ||
      (was->height && is->height && compare_number(c, "the pictures' height", was->height, is->height)))
    return -1;
  if (compare_time(c, "the unit of times", was->tick, is->tick) ||
      compare_time(c, "the place in the input where the job begins", was->origin, is->origin) ||
      compare_time(c, "the place where the job ends", was->end, is->end))
    return -1;
  return compare_header(c);
}

/* True if two jobs were made on different devices or with different libraries. Both are in the first line of `choices`,
 * which is compared. The other lines, the engine's kernels, may differ, because an engine that resumes a render adopts
 * the stored ones. */
static bool devices_differ(const struct job *one, const struct job *other) {
  size_t length = one->choices ? strcspn(one->choices, "\n") : 0;
  return one->choices && other->choices &&
         (strcspn(other->choices, "\n") != length || strncmp(one->choices, other->choices, length) != 0);
}

static bool batches_differ(const struct job *one, const struct job *other) {
  return one->batch && other->batch && one->batch != other->batch;
}

int job_compare(const struct job *was, const struct job *is, struct error *err) {
  const struct comparison comparison = {was, is, "then", "now", err};
  if (compare(&comparison))
    return -1;
  if (batches_differ(was, is))
    return compare_number(&comparison, "the number of frames in a run (--batch)", was->batch, is->batch);
  if (!devices_differ(was, is))
    return 0;
  return error_set(
      err, STATUS_USAGE,
      "the device, its driver or its libraries differ, and with them how pictures round; go on where it was "
      "begun, or begin it anew with -y");
}

int job_compare_parts(const struct job *one, const struct job *other, struct error *err) {
  const struct comparison comparison = {one, other, "there", "here", err};
  return compare(&comparison);
}

bool job_rounds_differently(const struct job *one, const struct job *other, char *why, size_t size) {
  const char *devices[] = {one->device ? one->device : "?", other->device ? other->device : "?"};
  if (strcmp(devices[0], devices[1]) != 0)
    snprintf(why, size, "%s and %s", devices[0], devices[1]);
  else if (devices_differ(one, other))
    snprintf(why, size, "%s with other drivers, libraries or numbers of threads", devices[0]);
  else if (batches_differ(one, other))
    snprintf(why, size, "%s, %d and %d frames in a run", devices[0], one->batch, other->batch);
  else if (one->choices && other->choices && strcmp(one->choices, other->choices) != 0)
    snprintf(why, size, "%s, whose engines chose different kernels", devices[0]);
  else
    return false;
  return true;
}
