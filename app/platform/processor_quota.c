#include "app/platform/processor_quota.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MOST = 1024, LINE_MOST = 2048 };

/* Where a group's limit is, and how it is written. */
struct version {
  const char *mount;
  const char *quota, *period; /* files, in us; period NULL: it is the second number of quota */
};

static const struct version versions[] = {{"sys/fs/cgroup", "cpu.max", NULL},
                                          {"sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"}};

/* Returns how many numbers the file begins with: "max" and a missing file are none. */
static int read_numbers(const char *folder, const char *name, double *first, double *second) {
  char path[PATH_MOST + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  int count = file ? fscanf(file, "%lf %lf", first, second) : 0;
  if (file)
    fclose(file);
  return count > 0 ? count : 0;
}

static double limit_of(const struct version *version, const char *folder) {
  double quota = -1, period = 0, rest;
  int count = read_numbers(folder, version->quota, &quota, &period);
  if (version->period && count)
    count += read_numbers(folder, version->period, &period, &rest) > 0;
  return count >= 2 && quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least of a group's limit and of those of all above it. Inside a container the group may have another name than
 * there: what is not found is left out, and the mount itself is the container's. */
static double least_limit(const struct version *version, const char *root, const char *group) {
  char folder[PATH_MOST];
  int length = snprintf(folder, sizeof folder, "%s/%s%s", root, version->mount, group);
  size_t mount = strlen(root) + 1 + strlen(version->mount);
  double least = INFINITY;
  if (length < 0 || (size_t)length >= sizeof folder)
    return least;
  for (;;) {
    least = fmin(least, limit_of(version, folder));
    char *last = strrchr(folder, '/');
    if (strlen(folder) <= mount || !last)
      return least;
    *last = '\0';
  }
}

/* Whether a line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP", is about processors; a line of version 2 names none. */
static bool is_of(const struct version *version, const char *controllers, const char *end) {
  if (!version->period)
    return controllers == end;
  for (const char *at = controllers; at < end; at += strcspn(at, ",:") + 1)
    if (strcspn(at, ",:") == 3 && !strncmp(at, "cpu", 3))
      return true;
  return false;
}

static double limit_of_line(const char *root, char *line) {
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  double least = INFINITY;
  line[strcspn(line, "\n")] = '\0';
  for (int i = 0; group && i < 2; i++)
    if (is_of(&versions[i], controllers + 1, group))
      least = fmin(least, least_limit(&versions[i], root, group + 1));
  return least;
}

double processor_quota(const char *root) {
  char path[PATH_MOST], line[LINE_MOST];
  double least = INFINITY;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    least = fmin(least, limit_of_line(root, line));
  if (file)
    fclose(file);
  return least;
}
