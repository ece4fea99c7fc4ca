/* Reads the limit of processor time that a container or a service has. */
#ifndef APP_PLATFORM_PROCESSOR_QUOTA_H
#define APP_PLATFORM_PROCESSOR_QUOTA_H

/* Returns how many processors' time this process may use according to its control groups (Linux, versions 1 and 2);
 * INFINITY: no limit. root is "", or for tests a folder in place of "/". */
double processor_quota(const char *root);

#endif
