/* Limits that Linux sets for the control groups of this process, as in a container or a service. Versions 1 and 2 of
 * control groups are read. */
#ifndef UNET_BASE_CONTROL_GROUP_H
#define UNET_BASE_CONTROL_GROUP_H

/* A limit of control groups and how it is read. Each function gets a group's folder and returns INFINITY if the group
 * has no such limit. */
struct group_limit {
  const char *controller; /* "cpu", "memory" */
  double (*of_version_1)(const char *folder), (*of_version_2)(const char *folder);
};

/* Returns the smallest limit of this process's groups and of all their parents; INFINITY if there is none. root is "",
 * or in tests a folder that stands for the system's root. */
double control_group_least(const char *root, const struct group_limit *limit);

/* Reads the numbers at the beginning of a group's file, up to two, and returns how many there are; 0 for "max" and for
 * a missing file. second may be NULL. */
int control_group_numbers(const char *folder, const char *name, double *first, double *second);

/* Returns the number after a word at the beginning of a line of the file, as in "inactive_file 4096"; 0 if there is
 * none. */
double control_group_entry(const char *folder, const char *name, const char *word);

#endif
