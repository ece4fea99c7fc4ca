/* Reads the limit of processor time that a container or a service has. */
#ifndef APP_PLATFORM_PROCESSOR_QUOTA_H
#define APP_PLATFORM_PROCESSOR_QUOTA_H

/* Returns the limit of processor time, as the number of processors that this process may keep busy according to its
 * control groups (Linux, versions 1 and 2); INFINITY: no limit. `root` is "", or for tests a folder in which files are
 * searched instead of in /. */
double processor_quota(const char *root);

#endif
