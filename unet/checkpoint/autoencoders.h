/* Declares what each kind of autoencoder must provide for reading its config file. */
#ifndef UNET_CHECKPOINT_AUTOENCODERS_H
#define UNET_CHECKPOINT_AUTOENCODERS_H

#include "unet/checkpoint/checkpoint.h"

struct config;

/* FIELD_config_read fills in all of struct autoencoder except its weights and type, from the fields of its config file.
 * FIELD_print prints a few words about this kind in the middle of a line of `reverie info`. FIELD is the kind's field
 * in struct autoencoder: kl or tae. */
#define AUTOENCODER_FUNCTIONS(KIND, field, class)                                                                      \
  void field##_config_read(struct autoencoder *autoencoder, struct config *config);                                    \
  void field##_print(const struct autoencoder *autoencoder, FILE *out);
AUTOENCODER_TABLE(AUTOENCODER_FUNCTIONS)
#undef AUTOENCODER_FUNCTIONS

/* Returns the name of the class in diffusers, such as "AutoencoderTiny". */
const char *autoencoder_class(const struct autoencoder *autoencoder);
void autoencoder_print(const struct autoencoder *autoencoder, FILE *out);

#endif
