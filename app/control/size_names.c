#include "app/control/size_names.h"

#include <libavutil/parseutils.h>

bool size_by_name(const char *name, int *width, int *height) {
  return av_parse_video_size(width, height, name) >= 0;
}
