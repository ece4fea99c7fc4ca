/* Helpers for the engine's tests: an engine with a golden's checkpoint. Errors fail the test. */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/golden.h"

struct rig {
  struct golden golden;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct error err;
};

/* Fails the test with err's message if status is negative. */
void must(int status, const struct error *err);
/* Fails the test unless the error has this status and a message of one line that contains what. */
void assert_error(const struct error *err, enum status status, const char *what);

/* Return parameters for the golden's own checkpoint, and its size. Engines of a test that sets TUNING_DIR choose the
 * same kernels; only then are the pictures of two of them equal to the bit on a GPU. */
struct engine_params default_params(const struct golden *golden, const char *device);
struct engine_shape default_shape(const struct golden *golden);

/* Returns true if an engine can use its device; if not, prints why on standard error. All other failures are left to
 * the tests. */
bool has_device(const struct engine_params *params);
/* Does the same with a golden's checkpoint. If that cannot be opened it returns true, and the tests fail. */
bool golden_has_device(const char *goldens, const char *name, const char *device);

/* The warnings of a log: their number and the last one. A struct log of {remember_warning, &warnings} fills it. */
struct warnings {
  int count;
  char last[512];
};
void remember_warning(void *opaque, enum log_level level, const char *text);

/* Opens the golden of this name and an engine. args are the program's: args[1] the folder of goldens, args[2] the
 * device. Slots 1 and 2 are filled. */
void rig_open(struct rig *rig, char **args, const char *name, bool guidance);
void rig_close(struct rig *rig);

/* Opens an engine with one handle in the rig. On failure there is neither. */
int rig_engine(struct rig *rig, const struct engine_params *params, const struct engine_shape *shape);
/* Prepares a handle of another size (0: keep) or step count (0: keep). It replaces the old one, which is released. */
int rig_reshape(struct rig *rig, int width, int height, int steps);
int rig_submit(struct rig *rig, const struct frame *frame); /* NULL: no frame */
int rig_collect(struct rig *rig, struct frame *picture);

/* Returns the picture of a frame, which the caller frees. */
uint8_t *generate(struct rig *rig, const struct frame *frame);
uint8_t *generate_default(struct rig *rig); /* from the golden's input */
size_t picture_bytes(const struct rig *rig);

/* Returns the picture with one control set to this value. */
uint8_t *generate_with(struct rig *rig, float *control, float value);
/* Collects a picture and fails the test unless it is this one. */
void collect_expected(struct rig *rig, const uint8_t *expected);

/* Return what handle and engine say about themselves. */
struct prepared_info shape_of(const struct rig *rig);
struct engine_info info_of(const struct rig *rig);
long frame_launches(struct rig *rig); /* launches of one frame, which it generates */

/* Fail the test unless the pictures are equal, or differ. Free both. */
void assert_same(const struct rig *rig, uint8_t *a, uint8_t *b);
void assert_differ(const struct rig *rig, uint8_t *a, uint8_t *b);

#endif
