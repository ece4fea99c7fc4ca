#include "app/bench/profile_report.h"

#include <stdlib.h>
#include <string.h>

static double excess_us(const struct profile_row *row) {
  return row->floor_us > 0 ? row->us - row->floor_us : 0;
}

static double per_second(double amount, double us) {
  return us > 0 ? amount / us * 1e6 : 0;
}

double profile_sum_us(const struct profile *profile) {
  double sum = 0;
  for (int i = 0; i < profile->count; i++)
    sum += profile->rows[i].us * profile->rows[i].runs;
  return sum;
}

/* --- summing over groups of ops --- */

const char *profile_grouping_title(enum profile_grouping grouping) {
  static const char *const titles[GROUPINGS] = {"by part", "by kind", "by kind and level (pixels or rows)",
                                                "by launch"};
  return titles[grouping];
}

static struct profile_total *find_total(struct profile_totals *totals, const char *group) {
  for (int i = 0; i < totals->count; i++)
    if (!strcmp(totals->list[i].group, group))
      return &totals->list[i];
  struct profile_total *total = &totals->list[totals->count++];
  snprintf(total->group, sizeof total->group, "%s", group);
  return total;
}

static void add_row(struct profile_totals *totals, const struct profile_row *row, enum profile_grouping grouping) {
  char group[64];
  if (grouping == BY_PART)
    snprintf(group, sizeof group, "%s", row->part);
  else if (grouping == BY_KIND)
    snprintf(group, sizeof group, "%s %s", row->part, row->kind);
  else
    snprintf(group, sizeof group, "%s %s %d", row->part, row->kind, row->level);
  struct profile_total *total = find_total(totals, group);
  total->ops += row->runs;
  total->launches += row->runs * row->launch_count;
  total->flops += row->runs * row->flops;
  total->weight_bytes += row->runs * row->weight_bytes;
  total->activation_bytes += row->runs * row->activation_bytes;
  total->floor_us += row->runs * row->floor_us;
  total->us += row->runs * row->us;
}

static void add_launches(struct profile_totals *totals, const struct profile_row *row) {
  for (int i = 0; i < row->launch_count; i++) {
    struct profile_total *total = find_total(totals, row->launches[i].kind);
    total->launches += row->runs;
    total->us += row->runs * row->launches[i].us;
  }
}

int profile_totals(const struct profile *profile, enum profile_grouping grouping, struct profile_totals *totals) {
  size_t most = (size_t)profile->count * PROFILE_LAUNCHES_MAX + 1;
  *totals = (struct profile_totals){.list = calloc(most, sizeof *totals->list)};
  for (int i = 0; totals->list && i < profile->count; i++) {
    if (grouping == BY_LAUNCH)
      add_launches(totals, &profile->rows[i]);
    else
      add_row(totals, &profile->rows[i], grouping);
  }
  return totals->list ? 0 : -1;
}

/* --- printing the profile as a table --- */

static void print_number(FILE *out, int width, int digits, double value) {
  if (value != 0)
    fprintf(out, " %*.*f", width, digits, value);
  else
    fprintf(out, " %*s", width, "-");
}

/* Returns the last characters of a name that is too long for its column, because names differ most at their end. */
static const char *tail(const char *name, size_t most) {
  size_t length = strlen(name);
  return length > most ? name + length - most : name;
}

static void print_row(const struct profile_row *row, FILE *out) {
  fprintf(out, "%-52s %-44s %-32s %4d", tail(row->name, 52), row->shape, row->way, row->runs);
  print_number(out, 8, 2, row->us);
  print_number(out, 6, 2, row->spread_us);
  print_number(out, 8, 2, row->warm_us);
  print_number(out, 8, 2, row->flushed_us);
  print_number(out, 8, 2, row->floor_us);
  print_number(out, 8, 2, excess_us(row));
  print_number(out, 7, 1, per_second(row->flops, row->us) * 1e-12);
  print_number(out, 7, 0, per_second(row->weight_bytes + row->activation_bytes, row->us) * 1e-9);
  fputc('\n', out);
}

static void print_totals(const struct profile *profile, enum profile_grouping grouping, FILE *out) {
  struct profile_totals totals;
  if (profile_totals(profile, grouping, &totals))
    return;
  fprintf(out, "\n%-32s %5s %8s %9s %8s %8s %9s %9s %9s\n", profile_grouping_title(grouping), "ops", "launches",
          "GFLOP", "wght MB", "act MB", "floor us", "us", "excess us");
  for (int i = 0; i < totals.count; i++) {
    const struct profile_total *t = &totals.list[i];
    fprintf(out, "%-32s", t->group);
    print_number(out, 5, 0, t->ops);
    print_number(out, 8, 0, t->launches);
    print_number(out, 9, 2, t->flops * 1e-9);
    print_number(out, 8, 1, t->weight_bytes * 1e-6);
    print_number(out, 8, 1, t->activation_bytes * 1e-6);
    print_number(out, 9, 1, t->floor_us);
    print_number(out, 9, 1, t->us);
    print_number(out, 9, 1, t->floor_us > 0 ? t->us - t->floor_us : 0);
    fputc('\n', out);
  }
  free(totals.list);
}

static void print_roof(const struct profile_roof *roof, FILE *out) {
  if (roof->flops > 0)
    fprintf(out,
            "floor: the longest of FLOPs at %.0f TFLOP/s, weights at %.1f TB/s and activations at %.1f TB/s, %d bytes "
            "each\n",
            roof->flops * 1e-12, roof->memory * 1e-12, roof->cache * 1e-12, roof->element);
  else
    fputs("floor: not known of this device\n", out);
}

void profile_table(const struct profile *profile, FILE *out) {
  fprintf(out, "%-52s %-44s %-32s %4s %8s %6s %8s %8s %8s %8s %7s %7s\n", "op", "shape", "way", "runs", "us", "+-",
          "warm us", "flushed", "floor us", "excess", "TFLOP/s", "GB/s");
  for (int i = 0; i < profile->count; i++)
    print_row(&profile->rows[i], out);
  for (enum profile_grouping grouping = 0; grouping < GROUPINGS; grouping++)
    print_totals(profile, grouping, out);
  fprintf(out, "\nthe frame %.1f us (+- %.1f), all rows together %.1f; each measured %d times\n", profile->frame_us,
          profile->frame_spread_us, profile_sum_us(profile), profile->repeats);
  print_roof(&profile->roof, out);
  fputs("us: one run in its place in the frame, +- its standard error; warm, flushed: alone, repeated with its data in "
        "the cache, and with the cache emptied before\n",
        out);
}

/* --- printing as JSON --- */

static cJSON *row_json(const struct profile_row *row) {
  cJSON *to = cJSON_CreateObject();
  cJSON_AddStringToObject(to, "name", row->name);
  cJSON_AddStringToObject(to, "part", row->part);
  cJSON_AddStringToObject(to, "kind", row->kind);
  cJSON_AddStringToObject(to, "shape", row->shape);
  cJSON_AddNumberToObject(to, "level", row->level);
  cJSON_AddStringToObject(to, "way", row->way);
  cJSON_AddNumberToObject(to, "runs", row->runs);
  cJSON_AddNumberToObject(to, "flops", row->flops);
  cJSON_AddNumberToObject(to, "weight_bytes", row->weight_bytes);
  cJSON_AddNumberToObject(to, "activation_bytes", row->activation_bytes);
  cJSON_AddNumberToObject(to, "us", row->us);
  cJSON_AddNumberToObject(to, "spread_us", row->spread_us);
  cJSON_AddNumberToObject(to, "warm_us", row->warm_us);
  cJSON_AddNumberToObject(to, "flushed_us", row->flushed_us);
  cJSON_AddNumberToObject(to, "floor_us", row->floor_us);
  cJSON_AddNumberToObject(to, "excess_us", excess_us(row));
  cJSON_AddNumberToObject(to, "tflops", per_second(row->flops, row->us) * 1e-12);
  cJSON_AddNumberToObject(to, "gbytes", per_second(row->weight_bytes + row->activation_bytes, row->us) * 1e-9);
  cJSON *launches = cJSON_AddArrayToObject(to, "launches");
  for (int i = 0; i < row->launch_count; i++) {
    cJSON *launch = cJSON_CreateObject();
    cJSON_AddStringToObject(launch, "kind", row->launches[i].kind);
    cJSON_AddNumberToObject(launch, "us", row->launches[i].us);
    cJSON_AddItemToArray(launches, launch);
  }
  return to;
}

static void totals_json(const struct profile *profile, enum profile_grouping grouping, cJSON *to) {
  struct profile_totals totals;
  cJSON *list = cJSON_AddArrayToObject(to, profile_grouping_title(grouping));
  if (profile_totals(profile, grouping, &totals))
    return;
  for (int i = 0; i < totals.count; i++) {
    const struct profile_total *t = &totals.list[i];
    cJSON *total = cJSON_CreateObject();
    cJSON_AddStringToObject(total, "group", t->group);
    cJSON_AddNumberToObject(total, "ops", t->ops);
    cJSON_AddNumberToObject(total, "launches", t->launches);
    cJSON_AddNumberToObject(total, "flops", t->flops);
    cJSON_AddNumberToObject(total, "weight_bytes", t->weight_bytes);
    cJSON_AddNumberToObject(total, "activation_bytes", t->activation_bytes);
    cJSON_AddNumberToObject(total, "floor_us", t->floor_us);
    cJSON_AddNumberToObject(total, "us", t->us);
    cJSON_AddItemToArray(list, total);
  }
  free(totals.list);
}

void profile_json(const struct profile *profile, cJSON *to) {
  cJSON_AddNumberToObject(to, "frame_us", profile->frame_us);
  cJSON_AddNumberToObject(to, "frame_spread_us", profile->frame_spread_us);
  cJSON_AddNumberToObject(to, "sum_us", profile_sum_us(profile));
  cJSON_AddNumberToObject(to, "repeats", profile->repeats);
  cJSON *roof = cJSON_AddObjectToObject(to, "roof");
  cJSON_AddNumberToObject(roof, "flops_per_second", profile->roof.flops);
  cJSON_AddNumberToObject(roof, "memory_bytes_per_second", profile->roof.memory);
  cJSON_AddNumberToObject(roof, "cache_bytes_per_second", profile->roof.cache);
  cJSON_AddNumberToObject(roof, "element_bytes", profile->roof.element);
  cJSON *rows = cJSON_AddArrayToObject(to, "rows");
  for (int i = 0; i < profile->count; i++)
    cJSON_AddItemToArray(rows, row_json(&profile->rows[i]));
  cJSON *totals = cJSON_AddObjectToObject(to, "totals");
  for (enum profile_grouping grouping = 0; grouping < GROUPINGS; grouping++)
    totals_json(profile, grouping, totals);
}
