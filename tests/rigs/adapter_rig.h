/* Helpers for the adapters' tests: the golden of tests/goldens/adapters.py with its model, and files that tests write.
 * Errors fail the test. */
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
/* Opens the golden of the tests, and its model. */
void suite_open(struct suite *suite, const char *goldens);
void suite_close(struct suite *suite);

/* Returns the first of the golden's cases; the others follow as its next. */
const cJSON *cases_of(const struct suite *suite);
/* Returns the path of a case's file, which the caller frees. An absolute path is returned as it is. */
char *case_file(const struct suite *suite, const char *file);

/* A layer of the model for an attention's queries, as files of kohya's scripts name it. */
#define KOHYA "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q"

struct tensor_text {
  const char *name;
  int shape[4]; /* 0 after the last dimension */
};
/* Writes folder/a.safetensors with these FP32 tensors, whose elements all have this value. The list ends with a tensor
 * without a name. */
void write_adapter(const char *folder, const struct tensor_text *tensors, float value);
/* Writes the same file with tensors of F64. */
void write_wide_adapter(const char *folder, const struct tensor_text *tensors, double value);

/* Returns the tensor "unet/conv_in.weight" of the checkpoint; NULL: there is none. */
const struct safetensor *suite_tensor(const struct checkpoint *checkpoint, const char *name);

/* A test's file, and the warnings that opening it gives. */
struct attempt {
  struct suite suite;
  struct warnings warnings;
  struct log log;
  char *folder;
};
/* Opens the golden and a folder for the file. */
void attempt_begin(struct attempt *attempt, const char *goldens);
/* Closes the golden and removes the folder. */
void attempt_end(struct attempt *attempt);
/* Opens the golden's SDXL model in place of the suite's checkpoint. */
void attempt_open_sdxl(struct attempt *attempt, const char *goldens);
/* Writes the tensors and opens the file. Returns the status of opening it. */
int attempt_open(struct attempt *attempt, struct adapter **adapter, const struct tensor_text *tensors, float value,
                 bool lenient);
/* Fails the test unless the file is refused with a message that contains what. */
void attempt_refused(struct attempt *attempt, const struct tensor_text *tensors, float value, bool lenient,
                     const char *what);
/* Counts a warning of the log, except for the warning that the rank stands for an alpha. opaque: a struct warnings. */
void attempt_remember(void *opaque, enum log_level level, const char *text);

#endif
