/* A golden's model as a folder of files, and as a single file with the original names of tensors. Errors fail the
 * test. */
#ifndef TESTS_MODELS_RIG_H
#define TESTS_MODELS_RIG_H

#include "tests/rigs/rig.h"
#include "tests/rigs/single_file.h"

/* The folder of a golden, and a single file that is made from it. */
struct models {
  struct rig rig;
  const char *device;
  char *file, *vae, *unet;
};

/* Opens the golden with this name, and writes its model as one file into the folder `scratch`. args are those of the
 * test program: args[1] the folder of goldens, args[2] the device. change: how the file differs from a correct one;
 * NULL: not at all. */
void models_open(struct models *m, char **args, const char *scratch, const char *name,
                 const struct single_file_change *change);
void models_close(struct models *m);

/* Returns the pixels of the picture that an engine with these parameters makes of the golden's input and a prompt; the
 * caller frees them. */
uint8_t *models_picture(struct models *m, const struct engine_params *params);
/* Returns parameters that open the single file, with configs and tokenizer of the folder; its autoencoder as well if
 * that is a tiny one. */
struct engine_params models_file_params(const struct models *m);
/* Fails the test unless opening an engine with these parameters fails with STATUS_MODEL and a message that contains the
 * text `says`. */
void models_refuse(struct models *m, const struct engine_params *params, const char *says);

#endif
