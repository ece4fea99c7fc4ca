/* What each kind of autoencoder does with its config file. */
#ifndef UNET_CHECKPOINT_AUTOENCODERS_H
#define UNET_CHECKPOINT_AUTOENCODERS_H

#include "unet/checkpoint/checkpoint.h"

struct config;

/* FIELD_config_read fills all of autoencoder but the weights and the type; FIELD_print says, in the middle of a line,
 * what is its own. */
#define AUTOENCODER_FUNCTIONS(KIND, field, class)                                                                      \
  void field##_config_read(struct autoencoder *autoencoder, struct config *config);                                    \
  void field##_print(const struct autoencoder *autoencoder, FILE *out);
AUTOENCODER_TABLE(AUTOENCODER_FUNCTIONS)
#undef AUTOENCODER_FUNCTIONS

const char *autoencoder_class(const struct autoencoder *autoencoder); /* "AutoencoderTiny" */
void autoencoder_print(const struct autoencoder *autoencoder, FILE *out);

#endif
