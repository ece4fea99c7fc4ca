/* Decides with which exit status the program ends after the live window was closed. */
#ifndef APP_LIVE_ENDING_H
#define APP_LIVE_ENDING_H

#include <stdbool.h>

#include "unet/base/error.h"

struct ending {
  bool interrupted; /* true: a signal has asked the program to end */
  bool failed;      /* true: the live window ended because of an error, with the status `why` */
  enum status why;
  bool hangs; /* true: the engine has not answered for so long that the program ends without waiting for its thread */
};

/* Returns the exit status. If there are several causes, the first of these decides: an incomplete recording (`why` is
 * STATUS_OUTPUT), because the user must know; a signal; another error; an engine that hangs. */
enum status ending_status(const struct ending *ending);

#endif
