#include "tests/rigs/own_model.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/fixture.h"

static void link_all(const char *folder, const char *goldens, const char *golden, const char *const *names) {
  char *from = fixture_path(goldens, golden);
  for (; *names; names++) {
    char *part = fixture_path(from, *names), *target = realpath(part, NULL), *path = fixture_path(folder, *names);
    assert_non_null(target);
    assert_int_equal(symlink(target, path), 0);
    free(path);
    free(target);
    free(part);
  }
  free(from);
}

void own_model_link(const char *folder, const char *goldens) {
  static const char *const parts[] = {"unet", "vae", "text_encoder", "tokenizer", "scheduler", "model_index.json",
                                      NULL},
                           *const own[] = {"ip_adapter.safetensors", "image_encoder", NULL};
  link_all(folder, goldens, "pix2pix", parts);
  link_all(folder, goldens, "own", own);
}
