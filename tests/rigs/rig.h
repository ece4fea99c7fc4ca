/* An engine on a golden's checkpoint: what the engine's tests share. Failures fail the test. */
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

/* Fails the test with err's message where status is negative. */
void must(int status, const struct error *err);
/* One line, of this class, that contains what. */
void assert_error(const struct error *err, enum status status, const char *what);

/* The golden's own checkpoint, and its size. Engines of a test that sets TUNING_DIR choose the same kernels: only then
 * are pictures of two of them equal to the bit on a GPU. */
struct engine_params default_params(const struct golden *golden, const char *device);
struct engine_shape default_shape(const struct golden *golden);

/* Whether an engine can have its device; else why not, on standard error. Every other failure is left to the tests. */
bool has_device(const struct engine_params *params);
/* The same with a golden checkpoint; where that cannot be opened, the tests say so. */
bool golden_has_device(const char *goldens, const char *name, const char *device);

/* The warnings of a log: how many, and the last one. A struct log of {remember_warning, &warnings} fills it. */
struct warnings {
  int count;
  char last[512];
};
void remember_warning(void *opaque, enum log_level level, const char *text);

/* args are the program's: args[1] the folder of goldens, args[2] the device. Slots 1 and 2 are filled. */
void rig_open(struct rig *rig, char **args, const char *name, bool guidance);
void rig_close(struct rig *rig);

/* An engine with one handle, in the rig. On failure there is neither. */
int rig_engine(struct rig *rig, const struct engine_params *params, const struct engine_shape *shape);
/* Another size (0: keep) or step count (0: keep): the new handle takes the old one's place, which is released. */
int rig_reshape(struct rig *rig, int width, int height, int steps);
int rig_submit(struct rig *rig, const struct frame *frame); /* NULL: none */
int rig_collect(struct rig *rig, struct frame *picture);

/* One frame through the engine; the caller frees the pixels. */
uint8_t *generate(struct rig *rig, const struct frame *frame);
uint8_t *generate_default(struct rig *rig); /* of the golden's input */
size_t picture_bytes(const struct rig *rig);

/* A picture with one control at this value. */
uint8_t *generate_with(struct rig *rig, float *control, float value);
/* Collects a picture, which is this one. */
void collect_expected(struct rig *rig, const uint8_t *expected);

struct prepared_info shape_of(const struct rig *rig);
struct engine_info info_of(const struct rig *rig);
long frame_launches(struct rig *rig); /* generates one */

/* Both pictures are freed. */
void assert_same(const struct rig *rig, uint8_t *a, uint8_t *b);
void assert_differ(const struct rig *rig, uint8_t *a, uint8_t *b);

#endif
