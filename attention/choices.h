/* Every kernel variant that attention_launch chooses from, by number. Tests, which must cover all variants, and
 * benchmarks, which compare them, use this header; programs call attention_launch. The rules of attention.h apply. */
#ifndef ATTENTION_CHOICES_H
#define ATTENTION_CHOICES_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns "sm80 tall", "sm90 long balanced", ...; NULL for a number without a variant. */
const char *attention_choice_name(int choice);

/* True if this variant can run args on this device: the variant must exist for the head dim, and fit the shape. */
bool attention_choice_supported(const struct attn_device *device, const struct attn_args *args, int choice);

/* Returns the variant that ATTN_AUTO chooses. */
int attention_choice_auto(const struct attn_device *device, const struct attn_args *args);

size_t attention_choice_workspace(const struct attn_device *device, const struct attn_args *args, int choice);
cudaError_t attention_choice_launch(const struct attn_device *device, const struct attn_args *args, int choice,
                                    void *workspace, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
