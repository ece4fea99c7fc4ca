#include "app/run/limit.h"

#include <stdio.h>

void limit_text(char text[LIMIT_TEXT_MAX], const struct pipeline_result *result, int engines) {
  const char *const names[PIPELINE_STAGES] = {
      [STAGE_DECODER] = "decoder", [STAGE_ENGINES] = engines > 1 ? "engines" : "engine", [STAGE_ENCODER] = "encoder"};
  enum pipeline_stage limit = pipeline_limit(result);
  int used = snprintf(text, LIMIT_TEXT_MAX, "busy:");
  for (enum pipeline_stage i = 0; i < PIPELINE_STAGES; i++)
    used += snprintf(text + used, (size_t)(LIMIT_TEXT_MAX - used), "%s %s %.0f %%%s", i ? "," : "", names[i],
                     100 * result->busy[i], i == limit ? " (the limit)" : "");
}
