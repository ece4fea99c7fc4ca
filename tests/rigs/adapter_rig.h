/* Helpers for the tests of adapters (LoRA and others). They open the golden (values that diffusers computed) of
 * tests/goldens/adapters.py with its model, and write adapter files. Errors fail the test. */
#ifndef TESTS_ADAPTER_RIG_H
#define TESTS_ADAPTER_RIG_H

#include "tests/rigs/rig.h"
#include "unet/adapter/adapter.h"

struct suite {
  struct golden golden;
  struct checkpoint *checkpoint;
  char model[600];
  struct error err;
};
/* Opens the golden at goldens/adapters and the model that belongs to it. */
void suite_open(struct suite *suite, const char *goldens);
void suite_close(struct suite *suite);

/* Returns the first of the golden's test cases; the others follow in the list by cJSON's `next`. */
const cJSON *cases_of(const struct suite *suite);
/* Returns the path of a case's file, which the caller frees. An absolute path is returned as it is. */
char *case_file(const struct suite *suite, const char *file);

/* The name that files of kohya's scripts give to the layer of the model that makes an attention's queries. */
#define KOHYA "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q"

struct tensor_text {
  const char *name;
  int shape[4]; /* sizes of the dimensions; 0 after the last one */
};
/* Writes folder/a.safetensors with these FP32 tensors, all of whose elements are `value`. The list of tensors ends with
 * one without a name. */
void write_adapter(const char *folder, const struct tensor_text *tensors, float value);
/* Does the same as write_adapter with tensors of type F64. */
void write_wide_adapter(const char *folder, const struct tensor_text *tensors, double value);

/* Returns a tensor of the checkpoint; NULL: there is none. name: component and tensor, such as
 * "unet/conv_in.weight". */
const struct safetensor *suite_tensor(const struct checkpoint *checkpoint, const char *name);

/* What a test needs that writes an adapter file and opens it: the golden's model, a folder for the file, and a log that
 * records warnings. */
struct attempt {
  struct suite suite;
  struct warnings warnings;
  struct log log;
  char *folder;
};
/* Opens the golden, and makes the folder for the file. */
void attempt_begin(struct attempt *attempt, const char *goldens);
/* Closes the golden and removes the folder. */
void attempt_end(struct attempt *attempt);
/* Replaces the model of attempt->suite by the golden's SDXL model. */
void attempt_open_sdxl(struct attempt *attempt, const char *goldens);
/* Writes an adapter file with these tensors, all of whose elements are `value`, and opens it. Returns the status of
 * opening it: 0, or negative. */
int attempt_open(struct attempt *attempt, struct adapter **adapter, const struct tensor_text *tensors, float value,
                 bool lenient);
/* Writes an adapter file with these tensors. Fails the test unless opening it fails with a message that contains the
 * text `what`. */
void attempt_refused(struct attempt *attempt, const struct tensor_text *tensors, float value, bool lenient,
                     const char *what);
/* Log function: counts a warning in opaque, a struct warnings, and stores its text. Not counted is the warning that a
 * rank is used in place of a missing alpha. */
void attempt_remember(void *opaque, enum log_level level, const char *text);

#endif
