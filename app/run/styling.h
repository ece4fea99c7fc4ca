/* Style pictures for an IP-Adapter that change while frames run. They are files that parameters name, or a frame of the
 * video when the user presses a key. A background thread reads them. Zero-initialise struct styling to start. Only the
 * thread that submits frames calls these functions, except those whose comment says "any thread". */
#ifndef APP_RUN_STYLING_H
#define APP_RUN_STYLING_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

struct styling {
  const struct log *log; /* log for messages about files that cannot be read; NULL: none */
  /* number of times that the user has asked for a video frame as style (styling_ask); any thread may read it */
  atomic_int asked;
  atomic_int refused; /* number of files that could not be read; any thread may read it */
  atomic_bool stop;   /* true: the background thread has to stop reading */
  /* number of requests (`asked`) that were carried out; if `asked` is higher, a request is still open */
  int begun;
  struct errand errand;
  int slot;                   /* slot (storage for a style picture, from 1) whose file is being read; 0: a video frame
                               * is being read */
  struct parameter_text file; /* name of the style picture's file that is being read, or that could not be read */
  /* The model's own IP-Adapter, which is opened when a style picture is asked for first. own_wanted: styling_put_back
   * shall ask for it; own_asked: it was asked for, and no engine has come with it yet */
  bool own_wanted, own_asked;
  int back;           /* slot (storage for a style picture, from 1) whose value must be reset because its file
                               * could not be read; 0: none */
  struct frame frame; /* the video frame that is made a style; a reference to it is kept until it was read */
  /* size and patch size of the pictures that the engine's image encoder reads, for which `next` is made */
  struct style_format format;
  struct engine_style *next; /* the style that the background thread has read; NULL: none */
  struct error err;          /* why the background thread could not read the style */
  /* style made from a video frame, which the engine uses in slot 1; NULL: slot 1 has a file's style, or none */
  struct engine_style *style;
  struct style_format style_format;
  /* address of the engine in the last call of styling_follow; only compared, never used to call it */
  const struct engine *engine;
};

/* Requests that the next video frame be used as the style of slot 1. Any thread may call it. */
void styling_ask(struct styling *styling);
/* Starts to read files whose names have changed, and gives the styles that were read to the engine. Called in each pass
 * of the live loop. has: names of the files whose styles the engine has, updated here. wish: names that the user wants.
 * frame: the newest video frame, or NULL. Another engine than in the last call also gets the style of a video frame, if
 * there is one in the format of its image encoder. Returns 0, 1 if the engine got another style, or -1 with err. */
int styling_follow(struct styling *styling, struct engine *engine, struct parameters *has,
                   const struct parameters *wish, const struct frame *frame, struct error *err);
/* Called by the loop after each styling_follow; does not wait. If the model's own IP-Adapter is needed, sets the
 * parameter ip-adapter in `values`, so that an engine with it is opened in the background. If the file that a parameter
 * `style` names could not be read, resets that parameter in `values` to its value in `has`, the style that the engine
 * has. Does not reset it if the user has changed the parameter meanwhile. */
void styling_put_back(struct styling *styling, const struct parameters *has, struct parameters *values);
/* Forgets which engine was used last. Must be called after an engine is closed and before the next one is opened, which
 * may get the same address. */
void styling_leave(struct styling *styling);
/* Aborts reading, waits for the background thread, and frees the styles. */
void styling_finish(struct styling *styling);

/* Reads the first picture of a file as a style in this format. If *stop becomes true, reading is aborted with an error.
 * The caller frees *style with engine_free_style. Returns 0, or -1 with err. */
int styling_read_file(struct engine_style **style, const struct style_format *format, const char *file,
                      const atomic_bool *stop, const struct log *log, struct error *err);

#endif
