/* The configs with which families of models were published: the files of assets/families, from which embed_texts.sh
 * makes a table when the program is built. */
#ifndef UNET_CHECKPOINT_FAMILY_FILES_H
#define UNET_CHECKPOINT_FAMILY_FILES_H

struct family_file {
  const char *path; /* path of the file below the folder assets/families, such as "sd1/unet/config.json" */
  const char *text;
};

/* All files that the build has compiled in; the last entry has no path. */
extern const struct family_file family_files[];

#endif
