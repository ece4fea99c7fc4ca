/* Helpers that the parts of gpu_frame share: a model on a device, opened from its files. An error ends the program. */
#ifndef TESTS_GPU_RIG_H
#define TESTS_GPU_RIG_H

#include <stdio.h>

#include "unet/engine/adapters.h"
#include "unet/model/depth.h"
#include "unet/model/plans.h"

enum { SKIPPED = 77 };

static const float GUIDANCE = 8.5f;

struct bench {
  struct checkpoint *checkpoint;
  struct resources resources;
  struct model model;
  struct device *device;
  struct plan plan;
  struct program *program;
  struct adapters adapters;
  struct control_network *networks[CONTROLS_MAX];
  int network_count;
  struct ip_adapter *ip_adapter; /* NULL: without an IP-Adapter */
  bool on_cuda;
  struct error err;
};

extern const struct log lines_log; /* prints log lines to standard error */

void must(struct bench *b, int status);

void open_model(struct bench *b, const char *folder);
void open_controls(struct bench *b);
unsigned control_mask(const struct bench *b);
void set_controls(const struct bench *b, struct run_params *run);
void open_style(struct bench *b, const char *model);
void open_device(struct bench *b);
void close_model(struct bench *b);

/* Computes keys and values of the prompt: all text encoders read the same tokens. */
void run_prompt(struct bench *b, struct run_params *run);

/* Sets the picture in `folder` as the first style picture. */
void run_style(struct bench *b, const char *folder, struct run_params *run);

/* Computes the time projections of the run's steps for the frame's program. */
void run_times(struct bench *b, const struct frame_shape *shape, const struct run_params *run);
void *read_file(const char *folder, const char *name, size_t bytes);
void write_input(struct bench *b, const char *folder, const char *name, struct tensor t);
void write_output(struct bench *b, const char *folder, const char *name, struct tensor t);
FILE *open_output(const char *folder, const char *name);

/* --- gpu_networks.c --- */

void run_networks(struct bench *b, const char *folder, const char *adapter);
void run_picture(struct bench *b, const char *folder, int steps, const char *sampler);

/* --- gpu_frame.c --- */

int by_value(const void *a, const void *b); /* doubles, for qsort */
void print_times(const char *what, double *times, int count);

/* Writes the time of each launch of the program to a file. */
void write_launches(struct bench *b, const char *path);

/* --- gpu_clocks.c --- */

/* Prints the times of frames, how many clock cycles they took, and how much of the times' variation is due to the
 * clock. */
void time_clocks(struct bench *b, int frames);

/* --- gpu_alone.c --- */

void open_autoencoder(struct bench *b, const char *folder);
void run_autoencoder(struct bench *b, bool encodes, char **argv);
void run_depth(struct bench *b, const struct depth *depth, char **argv);
void run_vision(struct bench *b, char **argv);

#endif
