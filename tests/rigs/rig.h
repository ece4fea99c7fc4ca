/* Helpers for tests of the engine: an engine with the model of a golden (values that diffusers computed). Errors fail
 * the test. */
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
/* Fails the test unless the error has this status and a message of one line that contains the text `what`. */
void assert_error(const struct error *err, enum status status, const char *what);

/* Return parameters that open the golden's own model, and the golden's size and steps. On a GPU two engines make
 * pictures that are equal to the bit only if they choose the same kernels; they do if the test sets TUNING_DIR. */
struct engine_params default_params(const struct golden *golden, const char *device);
struct engine_shape default_shape(const struct golden *golden);

/* Returns true if an engine can use the device of these parameters; if not, prints why on standard error. Other
 * failures of opening it count as true, so that the tests show them. */
bool has_device(const struct engine_params *params);
/* Does the same as has_device with the model of a golden. If the golden cannot be opened, returns true, and the tests
 * fail. */
bool golden_has_device(const char *goldens, const char *name, const char *device);
/* Checks the arguments of a test program that is called with a folder of goldens and a device. Returns 0 if its tests
 * can run with the golden `name`. Otherwise prints why, and returns the status with which the program exits. */
int golden_arguments(int argc, char **argv, const char *name);

/* Warnings that were logged: their number and the text of the last one. The log function remember_warning fills it; its
 * `opaque` is the struct. */
struct warnings {
  int count;
  char last[512];
};
void remember_warning(void *opaque, enum log_level level, const char *text);

/* Opens the golden `name`, and an engine with its model. args are those of the test program: args[1] the folder of
 * goldens, args[2] the device. The prompts in slots 1 and 2 are set. */
void rig_open(struct rig *rig, char **args, const char *name, bool guidance);
void rig_close(struct rig *rig);

/* Opens an engine, and prepares one handle (an engine made ready for one size and step count). After a failure the rig
 * has neither. */
int rig_engine(struct rig *rig, const struct engine_params *params, const struct engine_shape *shape);
/* Replaces the rig's handle (an engine made ready for one size and step count) by one of another size or step count; 0
 * keeps the old value. */
int rig_reshape(struct rig *rig, int width, int height, int steps);
int rig_submit(struct rig *rig, const struct frame *frame); /* frame NULL: the picture is made of the prompt alone */
int rig_collect(struct rig *rig, struct frame *picture);

/* Returns the pixels of the picture that is made of a frame; the caller frees them. */
uint8_t *generate(struct rig *rig, const struct frame *frame);
uint8_t *generate_default(struct rig *rig); /* does the same as generate() with the golden's input picture */
size_t picture_bytes(const struct rig *rig);

/* Returns the pixels of the picture that is made of the golden's input with *control, one of rig->controls, set to
 * `value`. */
uint8_t *generate_with(struct rig *rig, float *control, float value);
/* Collects a picture, and fails the test unless it has these pixels. */
void collect_expected(struct rig *rig, const uint8_t *expected);

/* Return the info of the rig's handle and engine. */
struct prepared_info shape_of(const struct rig *rig);
struct engine_info info_of(const struct rig *rig);
long frame_launches(struct rig *rig); /* generates a frame, and returns how many launches it took */

/* Fail the test unless the pixels of two pictures are equal (assert_same), or differ (assert_differ). Free both. */
void assert_same(const struct rig *rig, uint8_t *a, uint8_t *b);
void assert_differ(const struct rig *rig, uint8_t *a, uint8_t *b);

#endif
