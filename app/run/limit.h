/* Describes which stage of a render (decoder, engines or encoder) limits its speed, because the others wait for it. */
#ifndef APP_RUN_LIMIT_H
#define APP_RUN_LIMIT_H

#include "app/run/pipeline.h"

enum { LIMIT_TEXT_MAX = 96 };

/* Writes a text for users: how busy decoder, engines and encoder were, and which of the three limited the speed.
 * engines: number of engines. */
void limit_text(char text[LIMIT_TEXT_MAX], const struct pipeline_result *result, int engines);

#endif
