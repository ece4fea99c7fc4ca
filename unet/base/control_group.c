#include "unet/base/control_group.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_MOST = 1024, LINE_MOST = 2048 };

static FILE *open_in(const char *folder, const char *name) {
  char path[PATH_MOST + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return fopen(path, "r");
}

int control_group_numbers(const char *folder, const char *name, double *first, double *second) {
  double ignored;
  FILE *file = open_in(folder, name);
  int count = file ? fscanf(file, "%lf %lf", first, second ? second : &ignored) : 0;
  if (file)
    fclose(file);
  return count > 0 ? count : 0;
}

double control_group_entry(const char *folder, const char *name, const char *word) {
  char line[256];
  double number = 0;
  size_t length = strlen(word);
  FILE *file = open_in(folder, name);
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, word, length) && strchr(" \t", line[length]) && sscanf(line + length, "%lf", &number) == 1)
      break;
  if (file)
    fclose(file);
  return number;
}

/* Returns the smallest limit that is set for a control group or one of its parents. In a container, /proc may name
 * other folders than those at which the group is mounted. Folders that are missing are skipped; the mount point itself
 * is then the container's group. */
static double least_from(const char *root, const char *mount, const char *group, double (*limit_of)(const char *)) {
  char folder[PATH_MOST];
  int length = snprintf(folder, sizeof folder, "%s/%s%s", root, mount, group);
  size_t top = strlen(root) + 1 + strlen(mount);
  double least = INFINITY;
  if (length < 0 || (size_t)length >= sizeof folder)
    return least;
  for (;;) {
    least = fmin(least, limit_of(folder));
    char *last = strrchr(folder, '/');
    if (strlen(folder) <= top || !last)
      return least;
    *last = '\0';
  }
}

/* Returns true if a line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP", has this controller in its list CONTROLLERS. */
static bool names(const char *controllers, const char *end, const char *wanted) {
  size_t length = strlen(wanted);
  for (const char *at = controllers; at < end; at += strcspn(at, ",:") + 1)
    if (strcspn(at, ",:") == length && !strncmp(at, wanted, length))
      return true;
  return false;
}

/* Returns the limit of the kind `limit` (memory, for example) for the control group in one line of /proc/self/cgroup.
 * It is the smallest limit that is set for this group or a group that contains it. INFINITY: none is set. Lines of
 * version 2 name no controllers. */
static double least_of_line(const char *root, char *line, const struct group_limit *limit) {
  char mount[64];
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  line[strcspn(line, "\n")] = '\0';
  if (!group)
    return INFINITY;
  if (controllers + 1 == group)
    return least_from(root, "sys/fs/cgroup", group + 1, limit->of_version_2);
  snprintf(mount, sizeof mount, "sys/fs/cgroup/%s", limit->controller);
  return names(controllers + 1, group, limit->controller) ? least_from(root, mount, group + 1, limit->of_version_1)
                                                          : INFINITY;
}

double control_group_least(const char *root, const struct group_limit *limit) {
  char path[PATH_MOST], line[LINE_MOST];
  double least = INFINITY;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    least = fmin(least, least_of_line(root, line, limit));
  if (file)
    fclose(file);
  return least;
}
