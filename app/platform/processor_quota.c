#include "app/platform/processor_quota.h"

#include <math.h>
#include <stddef.h>

#include "unet/base/control_group.h"

static double share(int count, double quota, double period) {
  return count >= 2 && quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* Returns the limit of processor time of a control group of version 1, in processors. `folder` has the group's quota
 * and period in microseconds, each in a file of its own. */
static double limit_of_version_1(const char *folder) {
  double quota = -1, period = 0;
  int count = control_group_numbers(folder, "cpu.cfs_quota_us", &quota, NULL) > 0;
  count += control_group_numbers(folder, "cpu.cfs_period_us", &period, NULL) > 0;
  return share(count, quota, period);
}

static double limit_of_version_2(const char *folder) {
  double quota = -1, period = 0;
  int count = control_group_numbers(folder, "cpu.max", &quota, &period);
  return share(count, quota, period);
}

double processor_quota(const char *root) {
  static const struct group_limit limit = {"cpu", limit_of_version_1, limit_of_version_2};
  return control_group_least(root, &limit);
}
