/* Lists, by number, every kernel variant that attention_launch chooses from. Tests use this header to cover all
 * variants, and benchmarks to compare them; programs call attention_launch. The rules of attention.h apply. */
#ifndef ATTENTION_CHOICES_H
#define ATTENTION_CHOICES_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the variant's name for people: the kernel and its tile shape ("sm80 tall", "sm90 long"). "balanced" is added
 * if all clusters get equal ranges of keys (cuts.h) instead of whole tiles. "by count" is added if they do so only for
 * many keys; the device then counts the keys in k and k2 of attn_args. NULL: no variant has this number. */
const char *attention_choice_name(int choice);

/* Returns true if this variant can run args on this device: the device has the kernel, the variant exists for the head
 * dim, and the shape fits the variant. */
bool attention_choice_supported(const struct attn_device *device, const struct attn_args *args, int choice);

/* Returns the number of the variant that attention_launch chooses for ATTN_AUTO. */
int attention_choice_auto(const struct attn_device *device, const struct attn_args *args);

size_t attention_choice_workspace(const struct attn_device *device, const struct attn_args *args, int choice);
cudaError_t attention_choice_launch(const struct attn_device *device, const struct attn_args *args, int choice,
                                    void *workspace, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
