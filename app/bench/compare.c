#include "app/bench/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "app/platform/app_platform.h"
#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"

enum { BYTES_MAX = 64 << 20 };

/* The table marks a row whose time has changed by more than this many times the expected spread. By chance this happens
 * in about one of several hundred rows. */
static const double marked = 3;

/* Two runs of the program differ more in their times than two repetitions within one run, probably because memory
 * addresses differ. So the expected spread of a difference is increased by process_us microseconds per op, and by
 * process_share of the time. (On an H200 with 664 ops, no op then differed by more than three spreads.) */
static const double process_us = 0.15, process_share = 0.0015;

struct compare {
  const char *path;
  cJSON *json;
};

/* --- reading the earlier report --- */

static char *read_text(const char *path, const atomic_bool *stop, const struct log *log, struct error *err) {
  FILE *file = platform_open_text(path, stop, log);
  char *text = NULL;
  size_t length = 0, capacity = 0;
  if (!file && errno == EINTR) {
    error_set(err, STATUS_INTERRUPTED, "interrupted");
    return NULL;
  }
  if (!file) {
    error_set(err, STATUS_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    return NULL;
  }
  do {
    capacity = capacity ? 2 * capacity : 1 << 16;
    char *grown = realloc(text, capacity + 1);
    if (!grown)
      break;
    text = grown;
    length += fread(text + length, 1, capacity - length, file);
  } while (length == capacity && capacity < BYTES_MAX);
  bool failed = ferror(file) || length == capacity || !text;
  fclose(file);
  if (!failed) {
    text[length] = 0;
    return text;
  }
  error_set(err, STATUS_INPUT, "%s: cannot be read whole", path);
  free(text);
  return NULL;
}

int compare_open(struct compare **out, const char *path, const atomic_bool *stop, const struct log *log,
                 struct error *err) {
  *out = NULL;
  char *text = read_text(path, stop, log, err);
  if (!text)
    return -1;
  cJSON *json;
  int failed = json_parse(&json, text, NULL, path, err);
  free(text);
  if (failed)
    return -1;
  if (!cJSON_IsArray(cJSON_GetObjectItem(json, "rows")) || !cJSON_IsString(cJSON_GetObjectItem(json, "model"))) {
    cJSON_Delete(json);
    return error_set(err, STATUS_INPUT, "%s: this is no report of reverie bench", path);
  }
  *out = calloc(1, sizeof **out);
  if (!*out) {
    cJSON_Delete(json);
    return error_set(err, STATUS_FAILED, "out of memory");
  }
  **out = (struct compare){path, json};
  return 0;
}

void compare_close(struct compare **compare) {
  if (*compare)
    cJSON_Delete((*compare)->json);
  free(*compare);
  *compare = NULL;
}

/* --- comparing the two reports row by row --- */

static double number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *string(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  return cJSON_IsString(item) ? item->valuestring : "";
}

/* Returns the row with this name. Ops of different steps of the sampler have the same name: `occurrence` 0 is the first
 * of them, 1 the next. NULL: there is no such row. */
static const cJSON *find(const cJSON *rows, const char *name, int occurrence) {
  const cJSON *row;
  cJSON_ArrayForEach(row, rows) if (!strcmp(string(row, "name"), name) && !occurrence--) return row;
  return NULL;
}

struct change {
  const char *name, *note;
  double before, now, spread_before, spread_now;
};

static void print_change(const struct change *c, FILE *out) {
  double by = c->now - c->before, spread = hypot(c->spread_before, c->spread_now);
  size_t length = strlen(c->name);
  fprintf(out, "%-52s %10.2f %10.2f %+9.2f %+7.1f%% %8.2f %s%s%s\n", length > 52 ? c->name + length - 52 : c->name,
          c->before, c->now, by, c->before > 0 ? 100 * by / c->before : 0, spread,
          fabs(by) > marked * spread ? "*" : " ", *c->note ? " " : "", c->note);
}

static double between_processes(double us) {
  return hypot(process_us, process_share * us);
}

static void print_head(const char *what, const char *unit, FILE *out) {
  fprintf(out, "\n%-52s %10s %10s %9s %8s %8s  (%s)\n", what, "before", "now", "change", "", "spread", unit);
}

static int occurrence_of(const struct profile *profile, int index) {
  int occurrence = 0;
  for (int i = 0; i < index; i++)
    occurrence += !strcmp(profile->rows[i].name, profile->rows[index].name);
  return occurrence;
}

static void compare_ops(const cJSON *before, const struct profile *now, FILE *out) {
  const cJSON *rows = cJSON_GetObjectItem(before, "rows");
  int found = 0;
  print_head("op", "us a run", out);
  for (int i = 0; i < now->count; i++) {
    const struct profile_row *row = &now->rows[i];
    const cJSON *was = find(rows, row->name, occurrence_of(now, i));
    char note[256] = "";
    if (!was) {
      fprintf(out, "%-52s is new: %.2f\n", row->name, row->us);
      continue;
    }
    found++;
    if (strcmp(string(was, "way"), row->way) != 0)
      snprintf(note, sizeof note, "%s -> %s", text_quote(string(was, "way")).text, row->way);
    double apart = between_processes(row->us);
    print_change(&(struct change){row->name, note, number(was, "us"), row->us, hypot(number(was, "spread_us"), apart),
                                  hypot(row->spread_us, apart)},
                 out);
  }
  if (found < cJSON_GetArraySize(rows))
    fprintf(out, "%d ops of the earlier report are not here\n", cJSON_GetArraySize(rows) - found);
  double apart = between_processes(now->frame_us);
  print_change(&(struct change){"the frame", "", number(before, "frame_us"), now->frame_us,
                                hypot(number(before, "frame_spread_us"), apart), hypot(now->frame_spread_us, apart)},
               out);
}

static void compare_rates(const cJSON *rows, const struct report *now, FILE *out) {
  print_head("row", "ms, medians", out);
  for (int i = 0; i < now->row_count; i++) {
    const struct report_row *row = &now->rows[i];
    const cJSON *was = find(rows, row->name, 0);
    if (was)
      print_change(&(struct change){row->name, "", number(was, "median_ms"), row->times.median_ms,
                                    number(was, "spread_ms"), row->times.spread_ms},
                   out);
    else
      fprintf(out, "%-52s is new: %.2f\n", row->name, row->times.median_ms);
  }
}

void compare_table(const struct compare *compare, const struct report *now, FILE *out) {
  const cJSON *json = compare->json, *profile = cJSON_GetObjectItem(json, "profile");
  fprintf(out, "\nbefore: %s (version %s, %s, %.0fx%.0f, %.0f steps, %s)\n", text_quote(compare->path).text,
          text_quote(string(json, "version")).text, text_quote(string(json, "model")).text, number(json, "width"),
          number(json, "height"), number(json, "steps"), text_quote(string(json, "device")).text);
  if (now->profile.count && profile)
    compare_ops(profile, &now->profile, out);
  else if (now->profile.count)
    fputs("it has no profile: save one with --profile\n", out);
  if (now->row_count && cJSON_GetArraySize(cJSON_GetObjectItem(json, "rows")))
    compare_rates(cJSON_GetObjectItem(json, "rows"), now, out);
  else if (now->row_count)
    fputs("it has no frame rates: save them without --profile\n", out);
  fprintf(out, "spread: what chance alone changes, of both reports; *: a change of more than %.0f times it\n", marked);
}
