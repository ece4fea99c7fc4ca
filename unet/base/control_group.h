/* Limits that Linux sets for the groups of processes that this one is in: in a container, or as a service. Both
 * versions of control groups are known. */
#ifndef UNET_BASE_CONTROL_GROUP_H
#define UNET_BASE_CONTROL_GROUP_H

/* How a group's limit is read. Each function gets the group's folder and returns INFINITY where there is none. */
struct group_limit {
  const char *controller; /* "cpu", "memory" */
  double (*of_version_1)(const char *folder), (*of_version_2)(const char *folder);
};

/* Returns the least limit of the groups that this process is in and of all groups above them; INFINITY: there is none.
 * root: "", or a folder that stands for the system's. */
double control_group_least(const char *root, const struct group_limit *limit);

/* Returns how many numbers a group's file begins with, up to two; "max" and a missing file have none. second may be
 * NULL. */
int control_group_numbers(const char *folder, const char *name, double *first, double *second);

/* Returns the number behind a word at the beginning of a line of the file, as in "inactive_file 4096"; 0: there is
 * none. */
double control_group_entry(const char *folder, const char *name, const char *word);

#endif
