/* Reads durations as users write them: 2, 2.5s, 500ms, 250us, 0:02, 1:02:03.5. */
#ifndef APP_OPTIONS_SECONDS_H
#define APP_OPTIONS_SECONDS_H

#include <stdbool.h>

/* Parses a duration and stores it in seconds. Returns false and leaves *seconds unchanged if `text` is no duration.
 * After a colon, minutes and seconds must be below 60. */
bool seconds_read(const char *text, double *seconds);

#endif
