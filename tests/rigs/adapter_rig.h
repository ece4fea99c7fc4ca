/* What the adapters' tests share: the golden of tests/goldens/adapters.py with its model, and files made up. Failures
 * fail the test. */
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
void suite_open(struct suite *suite, const char *goldens);
void suite_close(struct suite *suite);

/* The first of the golden's cases, the others behind it. */
const cJSON *cases_of(const struct suite *suite);
/* The path of a case's file, which the caller frees; a whole path stays what it is. */
char *case_file(const struct suite *suite, const char *file);

/* Where the model has a layer with an attention's queries, as files of kohya's scripts name it. */
#define KOHYA "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q"

struct tensor_text {
  const char *name;
  int shape[4]; /* 0 ends it */
};
/* Writes folder/a.safetensors: FP32 tensors, to the first without a name, that are all `value`. */
void write_adapter(const char *folder, const struct tensor_text *tensors, float value);

/* The tensor "unet/conv_in.weight" of the checkpoint; NULL: there is none. */
const struct safetensor *suite_tensor(const struct checkpoint *checkpoint, const char *name);

/* A file that is made up, and what opening it says. */
struct attempt {
  struct suite suite;
  struct warnings warnings;
  struct log log;
  char *folder;
};
void attempt_begin(struct attempt *attempt, const char *goldens);
void attempt_end(struct attempt *attempt);
/* Opens the golden's SDXL in place of the suite's checkpoint. */
void attempt_open_sdxl(struct attempt *attempt, const char *goldens);
int attempt_open(struct attempt *attempt, struct adapter **adapter, const struct tensor_text *tensors, float value,
                 bool lenient);
/* Fails unless the file is refused with this in the message. */
void attempt_refused(struct attempt *attempt, const struct tensor_text *tensors, float value, bool lenient,
                     const char *what);
/* Remembers a warning of the log, but for the one that the rank stands for an alpha. opaque: a struct warnings. */
void attempt_remember(void *opaque, enum log_level level, const char *text);

#endif
