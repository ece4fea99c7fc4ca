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

#endif
