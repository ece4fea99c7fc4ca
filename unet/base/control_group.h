/* Reads the limits that Linux sets for the control groups of this process, as in a container or a service. Both
 * versions of control groups (1 and 2) are supported. */
#ifndef UNET_BASE_CONTROL_GROUP_H
#define UNET_BASE_CONTROL_GROUP_H

/* A kind of limit that a control group can have (such as memory or processor time), with the functions that read it.
 * Each function gets a group's folder and returns INFINITY if the group has no such limit. */
struct group_limit {
  const char *controller; /* the controller's name in the files of the system, such as "cpu" or "memory" */
  double (*of_version_1)(const char *folder), (*of_version_2)(const char *folder);
};

/* Returns the smallest limit of this kind that the process's control groups and their parents set; INFINITY if none
 * sets one. root: "" for the system's own root folder; tests name another folder that takes its place. */
double control_group_least(const char *root, const struct group_limit *limit);

/* Reads up to two numbers at the beginning of the file folder/name, and returns how many were read: 0 if the file
 * contains "max" or is missing. second may be NULL. */
int control_group_numbers(const char *folder, const char *name, double *first, double *second);

/* Returns the number after a word at the beginning of a line of the file, as in "inactive_file 4096"; 0 if there is
 * none. */
double control_group_entry(const char *folder, const char *name, const char *word);

#endif
