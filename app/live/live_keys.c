/* Reads the keys that the user has bound in keys.conf. */
#include <stdlib.h>

#include "app/live/live_impl.h"
#include "app/platform/paths.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

enum { BYTES_MAX = 1 << 20 };

static void complain(void *opaque, int line, const char *why) {
  live_tell(opaque, LOG_WARNING, platform_now_ns(), "keys.conf:%d: %s", line, why);
}

void live_read_keys(struct live *live) {
  char path[PATHS_MAX], *text;
  size_t length;
  struct error err;
  live->state.bindings = &live->bindings;
  bool wanted = !live->options->no_config && !live->probe; /* bench --live reads no keys.conf: a measurement must not
                                                            * depend on the user's settings */
  if (!wanted || !paths_config_file(path, "keys.conf"))
    return;
  if (text_read(path, BYTES_MAX, &text, &length, &err)) {
    live_tell(live, LOG_WARNING, platform_now_ns(), "%s", err.message);
    return;
  }
  int wrong = text_make_lines(text, length);
  if (wrong)
    complain(live, wrong, TEXT_ZERO_BYTE);
  key_bindings_read(&live->bindings, text, complain, live);
  free(text);
}
