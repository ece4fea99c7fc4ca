/* Errors as values: a function that can fail returns 0 or -1 and, on failure, leaves one line here that says what
 * failed, where, and what the user can do. The status becomes the program's exit status. */
#ifndef UNET_BASE_ERROR_H
#define UNET_BASE_ERROR_H

#include <stdbool.h>

#include "unet/base/printf.h"

enum status {
  STATUS_OK = 0,
  STATUS_FAILED = 1, /* anything without a class of its own */
  STATUS_USAGE = 2,  /* the command line */
  STATUS_INPUT = 3,  /* the video, camera or screen that frames come from */
  STATUS_MODEL = 4,  /* the checkpoint */
  STATUS_DEVICE = 5, /* CPU or GPU that runs the network */
  STATUS_OUTPUT = 6, /* the file or window that frames go to */
  STATUS_HELD = 7,   /* all pictures are held: a caller of the engine has more than it said it would */
  STATUS_INTERRUPTED = 130,
};

struct error {
  enum status status;
  bool lost;   /* STATUS_DEVICE: the device does nothing for this process any more; for another one it may */
  bool absent; /* STATUS_DEVICE: the machine has no such device, so that nobody can do anything about it */
  char message[512];
};

/* Stores status and the formatted line (cut at the buffer's size, and fit to be shown whatever the names in it hold:
 * text_clean, address_conceal) and returns -1, so that a caller can write
 * `return error_set(err, ...)`. err may be NULL: then only -1 comes back. */
PRINTF_LIKE(3, 4) int error_set(struct error *err, enum status status, const char *format, ...);

/* Adds to the error set last that the device is lost for this process. Returns -1. */
int error_mark_lost(struct error *err);

/* Adds to the error set last that the machine has no such device. Returns -1. */
int error_mark_absent(struct error *err);

/* Puts a prefix ("model/unet/config.json: ") before the message already there. Returns -1. */
PRINTF_LIKE(2, 3) int error_prefix(struct error *err, const char *format, ...);

#endif
