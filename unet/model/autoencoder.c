#include "unet/model/models.h"

const struct autoencoder_kind *autoencoder_kind(const struct autoencoder *autoencoder) {
#define AUTOENCODER_KIND(KIND, field, class) [AUTOENCODER_##KIND] = &field##_kind,
  static const struct autoencoder_kind *const kinds[AUTOENCODER_TYPES] = {AUTOENCODER_TABLE(AUTOENCODER_KIND)};
#undef AUTOENCODER_KIND
  return kinds[autoencoder->type];
}
