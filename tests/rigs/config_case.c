#include "tests/rigs/config_case.h"

#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "unet/checkpoint/checkpoint.h"

void check_message(const struct error *err, const char *path, const char *field, const char *value) {
  assert_int_equal(err->status, STATUS_MODEL);
  if (!strstr(err->message, path) || !strstr(err->message, field) || !strstr(err->message, value) ||
      strchr(err->message, '\n'))
    fail_msg("expected %s, %s and %s in: %s", path, field, value, err->message);
}
