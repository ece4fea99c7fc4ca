/* Times as people write them: 2, 2.5s, 500ms, 250us, 0:02, 1:02:03.5. */
#ifndef APP_OPTIONS_SECONDS_H
#define APP_OPTIONS_SECONDS_H

#include <stdbool.h>

/* Minutes and seconds behind a colon are below 60. false: text is no time, and *seconds is as it was. */
bool seconds_read(const char *text, double *seconds);

#endif
