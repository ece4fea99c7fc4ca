/* Style pictures for an IP-Adapter that change while frames run: files named by the values of parameters, and a frame
 * of the running video when the user presses a key. A background thread reads them. Zero-initialise struct styling to
 * start. Only the thread that submits frames calls these functions, except where "any thread" is said. */
#ifndef APP_RUN_STYLING_H
#define APP_RUN_STYLING_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

struct styling {
  const struct log *log; /* log for messages about files that cannot be read; NULL: none */
  atomic_int asked;      /* number of calls of styling_ask; any thread may read it */
  atomic_int refused;    /* number of files that could not be read; any thread may read it */
  atomic_bool stop;      /* makes the background thread give up reading */
  int begun;             /* number of calls of styling_ask that were acted upon */
  struct errand errand;
  int slot;                   /* slot (from 1) of the file that is being read; 0: a video frame is being read */
  struct parameter_text file; /* name of the file that is being read, or that could not be read */
  int back;                   /* slot (from 1) whose value is to be reset because its file could not be read; 0: none */
  struct frame frame;         /* the video frame that is being read; held meanwhile */
  struct style_format format; /* format of `next` */
  struct engine_style *next;  /* the style that the background thread has read; NULL: none */
  struct error err;           /* why the background thread could not read the style */
  /* style of a video frame, in use in slot 1; NULL: slot 1 has a file's style, or none */
  struct engine_style *style;
  struct style_format style_format;
  const struct engine *engine; /* the engine that styling_follow was called with last; only compared */
};

/* Asks to use the next video frame as the style of slot 1. Any thread may call it. */
void styling_ask(struct styling *styling);
/* Starts reading files that have changed, and gives the engine styles that were read. The loop calls it in each turn.
 * has: the files whose styles the engine has, which this function updates; wish: the files that the user wants. frame:
 * the newest video frame, or NULL. If a style that was made from a video frame is in use, and the engine is another
 * than in the last call, that engine gets the style, too, if its image encoder reads pictures of the size and patch
 * size for which the style was made. Returns 0, 1 if the engine got another style, or -1 with err. */
int styling_follow(struct styling *styling, struct engine *engine, struct parameters *has,
                   const struct parameters *wish, const struct frame *frame, struct error *err);
/* If the file that a parameter `style` names could not be read, resets that parameter in `values` to the file whose
 * style the engine has, which is in `has`, unless the user has changed it meanwhile. The loop calls it after each
 * styling_follow; it does not wait. */
void styling_put_back(struct styling *styling, const struct parameters *has, struct parameters *values);
/* Forgets which engine styling_follow saw last. Must be called when an engine is closed before the next is opened,
 * which may get the same address. */
void styling_leave(struct styling *styling);
/* Ends reading, waits for its thread, and frees the styles. */
void styling_finish(struct styling *styling);

/* Reads the first picture of a file as a style in this format. *stop set to true makes it give up. The caller frees
 * *style with engine_free_style. Returns 0, or -1 with err. */
int styling_read_file(struct engine_style **style, const struct style_format *format, const char *file,
                      const atomic_bool *stop, const struct log *log, struct error *err);

#endif
