/* Reads vae/config.json: finds the class that the file names, and calls the reader for that class (autoencoders.h). */
#include <string.h>

#include "unet/checkpoint/autoencoders.h"
#include "unet/checkpoint/config.h"

static const struct autoencoder_row {
  const char *class;
  void (*read)(struct autoencoder *autoencoder, struct config *config);
  void (*print)(const struct autoencoder *autoencoder, FILE *out);
} rows[AUTOENCODER_TYPES] = {
#define AUTOENCODER_ROW(KIND, field, class) [AUTOENCODER_##KIND] = {class, field##_config_read, field##_print},
    AUTOENCODER_TABLE(AUTOENCODER_ROW)
#undef AUTOENCODER_ROW
};

static enum autoencoder_type find_type(const char *class) {
  enum autoencoder_type type = 0;
  while (type < AUTOENCODER_TYPES && strcmp(rows[type].class, class))
    type++;
  return type;
}

int autoencoder_config_parse(struct autoencoder *autoencoder, const char *text, const char *path, struct error *err) {
  struct config config;
  char class[64];
  config_start(&config, text, path);
  config_string(&config, "_class_name", "", class, sizeof class);
  enum autoencoder_type type = find_type(class);
  if (type < AUTOENCODER_TYPES) {
    autoencoder->type = type;
    rows[type].read(autoencoder, &config);
  } else {
    config_refuse(&config, "_class_name", *class ? class : "no name",
                  "AutoencoderKL and AutoencoderTiny are: give the folder of one with --vae");
  }
  return config_finish(&config, err);
}

const char *autoencoder_class(const struct autoencoder *autoencoder) {
  return rows[autoencoder->type].class;
}

void autoencoder_print(const struct autoencoder *autoencoder, FILE *out) {
  rows[autoencoder->type].print(autoencoder, out);
}
