/* Goldens of tests/goldens/models.py: what diffusers computes, and what to run for it. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <cjson/cJSON.h>

#include "unet/engine.h"
#include "unet/checkpoint/safetensors.h"

struct golden {
  char folder[512]; /* golden.json, golden.safetensors */
  cJSON *json;
  struct safetensors *tensors;
  uint8_t *input; /* RGBA */
  struct frame frame;
  char missing[1100]; /* why golden_open failed */
};

/* A golden tensor as FP32; the test fails if it is not there. */
struct values {
  float *data;
  size_t count;
  int shape[4]; /* 1s in front */
};

/* Opens root/name. Returns -1 where the files are not there. */
int golden_open(struct golden *golden, const char *root, const char *name);
void golden_close(struct golden *golden);

struct values golden_values(const struct golden *golden, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Root mean square of a - b over that of b. */
double relative_error(const float *a, const float *b, size_t count);

/* Fields of golden.json's objects, with what holds where there is none. */
double json_number(const cJSON *object, const char *name, double otherwise);
const char *json_string(const cJSON *object, const char *name, const char *otherwise);

/* PSNR in dB of an RGBA picture against RGB values of 0..255; 99 where they are equal. */
double picture_psnr(const struct frame *picture, const struct values *golden);
double frame_psnr(const struct frame *a, const struct frame *b);

/* A picture's pixels, rows without padding, which the caller frees; the picture is released. */
uint8_t *picture_copy(struct frame *picture);

#endif
