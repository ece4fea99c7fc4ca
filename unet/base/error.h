/* Errors as values: a function that can fail returns 0 or -1. On failure it leaves a line and a status in its struct
 * error. The line says what failed, where, and what the user can do. The status becomes the program's exit status. */
#ifndef UNET_BASE_ERROR_H
#define UNET_BASE_ERROR_H

#include <stdbool.h>

#include "unet/base/printf.h"

enum status {
  STATUS_OK = 0,
  STATUS_FAILED = 1, /* any failure without a status of its own */
  STATUS_USAGE = 2,  /* the command line is wrong */
  STATUS_INPUT = 3,  /* the source of frames (a video, camera or screen) cannot be opened or read */
  STATUS_MODEL = 4,  /* the checkpoint cannot be found, read or used */
  STATUS_DEVICE = 5, /* the CPU or GPU that runs the network has failed */
  STATUS_OUTPUT = 6, /* the destination of frames (a file or window) cannot be written or shown */
  STATUS_HELD = 7,   /* no picture is free: a caller of the engine holds more pictures than it announced */
  STATUS_INTERRUPTED = 130,
};

struct error {
  enum status status;
  bool lost; /* with status STATUS_DEVICE: true: this process cannot use the device any more, but another process may be
              * able to */
  bool absent; /* with status STATUS_DEVICE: true: the machine has no such device, so nothing that the user does makes
                * it usable */
  char message[512];
};

/* Stores the status and the formatted line, and returns -1, so that a caller can write `return error_set(err, ...)`.
 * The line is cut at the buffer's size; unsafe characters and secrets are removed from it (text_clean,
 * address_conceal). err may be NULL. */
PRINTF_LIKE(3, 4) int error_set(struct error *err, enum status status, const char *format, ...);

/* Sets `lost` in an error that was set before: this process cannot use the device any more. Returns -1. */
int error_mark_lost(struct error *err);

/* Sets `absent` in an error that was set before: the machine has no such device. Returns -1. */
int error_mark_absent(struct error *err);

/* Puts a prefix ("model/unet/config.json: ") before the current message. Returns -1. */
PRINTF_LIKE(2, 3) int error_prefix(struct error *err, const char *format, ...);

#endif
