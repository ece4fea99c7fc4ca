/* Style pictures that change while frames run: files that values name, and a frame of the running video, which a key
 * asks for. They are read on a thread of their own. Zero-initialise to start. */
#ifndef APP_RUN_STYLING_H
#define APP_RUN_STYLING_H

#include "app/control/parameters.h"
#include "app/flow/errand.h"
#include "unet/engine.h"

struct styling {
  const struct log *log; /* for what is said of files; NULL: nobody */
  atomic_int asked;      /* for a frame, how often; any thread's */
  atomic_int refused;    /* files so far; any thread's, all else is that of the thread that submits */
  atomic_bool stop;      /* reading ends */
  int begun;             /* of those asked for */
  struct errand errand;
  int slot;                   /* that is being read for, from 1; 0: the frame is being read */
  struct parameter_text file; /* that is being read, or was refused */
  int back;                   /* the slot from 1 whose value is to go back; 0: none */
  struct frame frame;         /* that is being read, held */
  struct style_format format; /* of next */
  struct engine_style *next;  /* what the errand reads */
  struct error err;           /* its */
  struct engine_style *style; /* the frame that is the first style; NULL: a file is, or nothing */
  struct style_format style_format;
  const struct engine *engine; /* that was seen last */
};

/* The next frame becomes the first style. Any thread. */
void styling_ask(struct styling *styling);
/* For each turn of the loop; frame is its newest, or NULL. has: the files that the engine's styles were read from,
 * which follow wish when they have been read. A frame that was taken goes on to other engines whose image encoder reads
 * pictures alike. Returns 1 where the engine has got another style. */
int styling_follow(struct styling *styling, struct engine *engine, struct parameters *has,
                   const struct parameters *wish, const struct frame *frame, struct error *err);
/* Where a file was refused and nothing else has come to be wished for, the value is as it was. After each
 * styling_follow; it does not wait. */
void styling_put_back(struct styling *styling, const struct parameters *has, struct parameters *values);
/* The engine was closed before there was another one. */
void styling_leave(struct styling *styling);
void styling_finish(struct styling *styling);

/* The picture that a file begins with. */
int styling_read_file(struct engine_style **style, const struct style_format *format, const char *file,
                      const atomic_bool *stop, const struct log *log, struct error *err);

#endif
