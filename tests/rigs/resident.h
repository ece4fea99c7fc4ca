/* The resident memory of a test, which shows whether it leaks what no tool sees, such as memory of a driver. */
#ifndef TESTS_RESIDENT_H
#define TESTS_RESIDENT_H

#include <stdio.h>
#include <unistd.h>

/* Returns this process's resident memory in KiB; 0: the system does not tell it. */
static inline long resident_kb(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
    resident = 0;
  if (file)
    fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
