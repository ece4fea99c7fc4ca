/* Fuzzes files of autoencoders without a checkpoint, as fuzz_file.h writes them; a line "=" separates the encoder's
 * file from the decoder's. A file that is accepted has sizes that a network can be made of, or making it reports an
 * error. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tests/rigs/fixture.h"
#include "tests/fuzz/fuzz_file.h"
#include "unet/checkpoint/vae_files.h"
#include "unet/model/models.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("l",
              "encoder.conv_in.weight 32,3,3,3\nencoder.conv_in.bias 32\nencoder.down.0.block.0.conv1.weight 32,2\n"
              "encoder.down.1.block.0.conv1.weight 64,2\nencoder.mid.attn_1.q.weight 2,2,1,1\n"
              "decoder.up.0.block.0.norm1.weight 32\ndecoder.up.1.block.0.norm1.weight 32\n"
              "decoder.conv_in.weight 64,4,3,3\nquant_conv.weight 8,8,1,1\nloss.logvar 1\n"),
    FUZZ_SEED("l", "encoder.conv_in.weight 32,3,3,3\nencoder.down_blocks.0.resnets.0.conv1.weight 32,32,3,3\n"
                   "decoder.conv_in.weight 32,4,3,3\ndecoder.mid_block.attentions.0.query.weight 32,32\n"
                   "decoder.mid_block.attentions.0.proj_attn.bias 32\n"),
    FUZZ_SEED("l", "encoder.0.weight 8,3,3,3\nencoder.0.bias 8\nencoder.1.conv.0.weight 8,8,3,3\n"
                   "encoder.1.pool.0.weight 32,8,1,1\nencoder.2.weight 8,8,3,3\nencoder.3.weight 4,8,3,3\n"
                   "decoder.1.weight 8,4,3,3\ndecoder.3.conv.0.weight 8,8,3,3\ndecoder.5.weight 8,8,3,3\n"
                   "decoder.6.weight 3,8,3,3\n"),
    FUZZ_SEED("l", "encoder.layers.0.weight 8,3,3,3\nencoder.layers.1.weight 4,8,3,3\n"
                   "decoder.layers.0.weight 8,4,3,3\ndecoder.layers.63.weight 3,8,3,3\n"),
    FUZZ_SEED("l",
              "0.weight 8,3,3,3\n0.bias 8\n1.conv.0.weight 8,8,3,3\n1.pool.0.weight 32,8,1,1\n2.weight 8,8,3,3\n"
              "3.weight 4,8,3,3\n=\n1.weight 8,4,3,3\n3.conv.0.weight 8,8,3,3\n5.weight 8,8,3,3\n6.weight 3,8,3,3\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* Opens one autoencoder. If it is accepted, its network can be made, or making it reports an error. */
static void check_vae(const char *path) {
  struct autoencoder a = {.weights = {.name = "vae", .prefix = ""}};
  struct error err = {0};
  if (vae_files_open(&a, path, false, &err)) {
    fuzz_check_error(&err);
  } else {
    struct resources resources = {0};
    struct plan plan;
    FUZZ_CHECK(a.type < AUTOENCODER_TYPES && a.scale >= 1 && a.latent_channels > 0 && a.scaling_factor > 0);
    for (size_t i = 0; i < safetensors_count(a.weights.files); i++)
      fuzz_check_tensor(a.weights.files, safetensors_at(a.weights.files, i));
    plan_init(&plan, &resources);
    autoencoder_kind(&a)->encode(&a, &plan, plan_input(&plan, 1, 2 * a.scale, 3 * a.scale, 3, ELEMENT_DEVICE));
    autoencoder_kind(&a)->decode(&a, &plan, plan_input(&plan, 1, 2, 3, a.latent_channels, ELEMENT_PRECISE));
    if (plan_finish(&plan, &err))
      fuzz_check_error(&err);
    plan_free(&plan);
    resources_free(&resources);
  }
  safetensors_close(&a.weights.files);
  free(a.weights.config);
}

/* --- pairs: names in a folder that lead to files in memory --- */

enum { ENCODER = 200, DECODER = 201 };

static char *folder;

static void clean(void) {
  fixture_remove(folder);
}

static void begin(void) {
  if (folder)
    return;
  folder = fixture_make();
  atexit(clean);
  char *encoder = fixture_path(folder, "taesd_encoder.safetensors");
  char *decoder = fixture_path(folder, "taesd_decoder.safetensors");
  FUZZ_CHECK(!symlink("/proc/self/fd/200", encoder) && !symlink("/proc/self/fd/201", decoder));
  free(encoder);
  free(decoder);
}

static void write_at(int number, const uint8_t *data, size_t size) {
  int fd = fuzz_file(data, size);
  FUZZ_CHECK(dup2(fd, number) == number);
  close(fd);
}

static void check_pair(const uint8_t *data, size_t size, const uint8_t *middle) {
  size_t first = (size_t)(middle - data), rest = size - first;
  begin();
  uint8_t *decoder = malloc(rest); /* skips "=\n", whose last byte becomes the letter that fuzz_file.h expects */
  FUZZ_CHECK(decoder);
  memcpy(decoder, middle, rest);
  decoder[1] = 'l';
  write_at(ENCODER, data, first);
  write_at(DECODER, decoder + 1, rest - 1);
  free(decoder);
  check_vae(folder);
  close(ENCODER);
  close(DECODER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *middle = size && data[0] == 'l' ? memmem(data, size, "\n=\n", 3) : NULL;
  if (!size)
    return 0;
  if (middle) {
    check_pair(data, size, middle + 1);
    return 0;
  }
  char path[64];
  int fd = fuzz_file(data, size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  check_vae(path);
  close(fd);
  return 0;
}
