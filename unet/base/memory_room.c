#include "unet/base/memory_room.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "unet/base/control_group.h"

/* Returns how many bytes a control group may still use: its limit minus its usage. Cached files are not counted as
 * used, because the system drops them first. */
static double room_in(const char *folder, double limit, const char *usage, const char *const entries[3]) {
  double used = 0, files = 0;
  if (!control_group_numbers(folder, usage, &used, NULL))
    return limit;
  for (int i = 0; i < 3; i++)
    files += control_group_entry(folder, "memory.stat", entries[i]);
  return fmax(0, limit - fmax(0, used - files));
}

static double limit_of_version_1(const char *folder) {
  double limit;
  return control_group_numbers(folder, "memory.limit_in_bytes", &limit, NULL) && limit >= 0 ? limit : INFINITY;
}

static double room_of_version_1(const char *folder) {
  static const char *const entries[] = {"total_inactive_file", "total_active_file", "total_slab_reclaimable"};
  return room_in(folder, limit_of_version_1(folder), "memory.usage_in_bytes", entries);
}

/* Returns the smaller of a control group's two limits, memory.max and memory.high. A group above memory.high is slowed
 * down until it uses less, so that this limit counts as well. */
static double limit_of_version_2(const char *folder) {
  double most = INFINITY, high = INFINITY;
  if (!control_group_numbers(folder, "memory.max", &most, NULL))
    most = INFINITY;
  if (!control_group_numbers(folder, "memory.high", &high, NULL))
    high = INFINITY;
  return fmin(most, high);
}

static double room_of_version_2(const char *folder) {
  static const char *const entries[] = {"inactive_file", "active_file", "slab_reclaimable"};
  return room_in(folder, limit_of_version_2(folder), "memory.current", entries);
}

/* Converts bytes to size_t. The result is at least 1, because callers read 0 as "unknown". */
static size_t bytes_of(double bytes) {
  return bytes < 1 ? 1 : bytes < (double)(SIZE_MAX / 2) ? (size_t)bytes : SIZE_MAX / 2;
}

void memory_room(const char *root, size_t *total, size_t *available) {
  static const struct group_limit limits = {"memory", limit_of_version_1, limit_of_version_2},
                                  rooms = {"memory", room_of_version_1, room_of_version_2};
  char folder[1024];
  snprintf(folder, sizeof folder, "%s/proc", root);
  double all = control_group_entry(folder, "meminfo", "MemTotal:") * 1024;
  double unused = control_group_entry(folder, "meminfo", "MemAvailable:") * 1024;
  *total = all > 0 ? bytes_of(fmin(all, control_group_least(root, &limits))) : 0;
  *available = all > 0 && unused > 0 ? bytes_of(fmin(unused, control_group_least(root, &rooms))) : 0;
}
