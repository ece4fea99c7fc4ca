/* Reads goldens, which tests/goldens/models.py makes: values that diffusers has computed, and the settings with which
 * they are computed again. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <cjson/cJSON.h>

#include "unet/engine.h"
#include "unet/checkpoint/safetensors.h"

struct golden {
  char folder[512]; /* folder with golden.json and golden.safetensors.gz */
  cJSON *json;
  struct safetensors *tensors;
  uint8_t *input; /* pixels of the input picture, RGBA */
  struct frame frame;
  char missing[1100]; /* text that says why golden_open has failed */
};

/* A tensor of a golden, converted to FP32. */
struct values {
  float *data;
  size_t count;
  int shape[4]; /* sizes of the dimensions; if there are less than four, the first ones are 1 */
};

/* Opens the golden in the folder root/name. Returns 0; -1 if its files are missing. */
int golden_open(struct golden *golden, const char *root, const char *name);
void golden_close(struct golden *golden);

/* Returns a tensor, whose data the caller frees. Fails the test if there is none of this name. */
struct values golden_values(const struct golden *golden, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns how far a is from b: the root mean square of a - b, divided by that of b. */
double relative_error(const float *a, const float *b, size_t count);

/* Return a field of an object in golden.json, or `otherwise` if it has none. */
double json_number(const cJSON *object, const char *name, double otherwise);
const char *json_string(const cJSON *object, const char *name, const char *otherwise);

/* Return the PSNR in dB; 99 if there is no difference. picture_psnr compares a picture in RGBA with RGB values from 0
 * to 255, frame_psnr two frames. */
double picture_psnr(const struct frame *picture, const struct values *golden);
double frame_psnr(const struct frame *a, const struct frame *b);

/* Returns a picture's pixels, rows without padding, which the caller frees. Releases the picture. */
uint8_t *picture_copy(struct frame *picture);

#endif
