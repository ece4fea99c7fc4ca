/* A golden's model as a folder, and as one file in the original key layout. Errors fail the test. */
#ifndef TESTS_MODELS_RIG_H
#define TESTS_MODELS_RIG_H

#include "tests/rigs/rig.h"
#include "tests/rigs/single_file.h"

/* A golden's folder, and a file that is made from it. */
struct models {
  struct rig rig;
  const char *device;
  char *file, *vae, *unet;
};

/* Opens the golden of this name and writes the file into scratch. args are the program's: args[1] the folder of
 * goldens, args[2] the device. change may be NULL. */
void models_open(struct models *m, char **args, const char *scratch, const char *name,
                 const struct single_file_change *change);
void models_close(struct models *m);

/* Returns the picture of one prompt, which the caller frees. */
uint8_t *models_picture(struct models *m, const struct engine_params *params);
/* Returns parameters for the file, with the folder's configs and tokenizer, and with its autoencoder if that is a tiny
 * one. */
struct engine_params models_file_params(const struct models *m);
/* Fails the test unless an engine with these parameters is refused with STATUS_MODEL and a line that contains says. */
void models_refuse(struct models *m, const struct engine_params *params, const char *says);

#endif
