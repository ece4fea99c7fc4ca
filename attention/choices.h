/* Every kernel variant by number: what attention_launch chooses from. For tests, which must cover all of them, and
 * benchmarks, which compare them; programs call attention_launch. Rules as in attention.h. */
#ifndef ATTENTION_CHOICES_H
#define ATTENTION_CHOICES_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "sm80 tall", "sm90 long balanced", ...; NULL from the last one on. */
const char *attention_choice_name(int choice);

/* Whether this variant can run args: the device, the shape, and whether the variant exists for the head dim. */
bool attention_choice_supported(const struct attn_device *device, const struct attn_args *args, int choice);

/* The one that ATTN_AUTO stands for. */
int attention_choice_auto(const struct attn_device *device, const struct attn_args *args);

size_t attention_choice_workspace(const struct attn_device *device, const struct attn_args *args, int choice);
cudaError_t attention_choice_launch(const struct attn_device *device, const struct attn_args *args, int choice,
                                    void *workspace, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
