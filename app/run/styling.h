/* Style pictures that change while frames run: files named by values, and a frame of the running video when a key asks
 * for it. They are read on a thread of their own. Zero-initialise to start; the thread that submits frames calls all
 * functions unless noted. */
#ifndef APP_RUN_STYLING_H
#define APP_RUN_STYLING_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

struct styling {
  const struct log *log; /* for messages about files; NULL: none */
  atomic_int asked;      /* number of requests for a frame; any thread */
  atomic_int refused;    /* number of refused files; any thread. The fields below belong to the thread that submits */
  atomic_bool stop;      /* ends reading */
  int begun;             /* number of requests that were begun */
  struct errand errand;
  int slot;                   /* slot for which a file is being read, from 1; 0: a frame is being read */
  struct parameter_text file; /* file that is being read, or was refused */
  int back;                   /* slot from 1 whose value is to be reset; 0: none */
  struct frame frame;         /* frame that is being read; held */
  struct style_format format; /* format of `next` */
  struct engine_style *next;  /* result of the errand */
  struct error err;           /* error of the errand */
  struct engine_style *style; /* the style of a frame, used in slot 1; NULL: slot 1 has a file's style, or none */
  struct style_format style_format;
  const struct engine *engine; /* engine of the previous call */
};

/* Makes the next frame the first style. Any thread. */
void styling_ask(struct styling *styling);
/* Starts reading changed files, and gives the engine styles that have been read; called in each turn of the loop. has:
 * the files whose styles the engine has; it is updated to wish as they are read. frame: the newest, or NULL. The style
 * of a frame is given to a new engine, too, if its image encoder has the same format. Returns 1 if the engine got
 * another style, -1 on failure. */
int styling_follow(struct styling *styling, struct engine *engine, struct parameters *has,
                   const struct parameters *wish, const struct frame *frame, struct error *err);
/* Resets the value of a refused file, unless it was changed meanwhile. Called after each styling_follow; does not
 * wait. */
void styling_put_back(struct styling *styling, const struct parameters *has, struct parameters *values);
/* Forgets the engine, which was closed before the next one was opened. */
void styling_leave(struct styling *styling);
/* Ends reading, waits for its thread, and frees the styles. */
void styling_finish(struct styling *styling);

/* Reads the first picture of a file. The caller frees *style. */
int styling_read_file(struct engine_style **style, const struct style_format *format, const char *file,
                      const atomic_bool *stop, const struct log *log, struct error *err);

#endif
