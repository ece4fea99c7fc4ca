#include <stdio.h>

#include "app/source/source.h"

void source_describe(struct source_info *info) {
  char size[32] = "", rate[32] = "";
  if (!*info->name)
    return;
  if (info->width > 0 && info->height > 0)
    snprintf(size, sizeof size, " %dx%d", info->width, info->height);
  if (info->fps > 0)
    snprintf(rate, sizeof rate, ", %.4g fps", info->fps);
  snprintf(info->description, sizeof info->description, "%.*s%s%s", (int)sizeof info->name - 1, info->name, size, rate);
}
