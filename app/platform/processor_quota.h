/* How much of the processors a process may have, where somebody has set a limit: in a container, or as a service. */
#ifndef APP_PLATFORM_PROCESSOR_QUOTA_H
#define APP_PLATFORM_PROCESSOR_QUOTA_H

/* In processors' worth of time, by the control groups that this process is in (Linux, both versions of them); INFINITY:
 * there is no limit. root: "", or a folder that stands for the system's. */
double processor_quota(const char *root);

#endif
