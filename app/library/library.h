/* Declares what the files of the library share, above all struct reverie: an engine and the values of its
 * parameters. */
#ifndef APP_LIBRARY_LIBRARY_H
#define APP_LIBRARY_LIBRARY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "app/control/settings.h"
#include "app/library/reverie.h"
#include "unet/base/gpu.h"
#include "unet/engine.h"

enum { LIBRARY_HANDLES = 4, LIBRARY_SLOTS = SLOT_NEGATIVE + 1 };

struct picture_pool;

/* A handle: the engine made ready (prepared) for one size, step count and so on. prepared NULL: this element of
 * reverie.handles is unused. */
struct library_handle {
  struct prepared *prepared;
  struct engine_shape wish; /* the size, step count and so on that were asked for; 0 where the model decides */
  int in_flight;            /* number of frames that were submitted with this handle (prepared size and step count) and
                             * not collected yet */
  /* value of the counter reverie.uses when this handle was used last; the handle with the lowest value has been unused
   * for the longest time */
  uint64_t used;
};

struct reverie {
  /* The fields from `say` to `stream` are set by reverie_create and reverie_open, then only read. */
  void (*say)(void *opaque, int level, const char *line);
  void *say_opaque;
  struct log log;
  struct device_options device; /* options of the device, whose strings are owned */
  /* folder in which a GPU's tuning results are stored; owned; NULL: the folder that the program reverie uses */
  char *cache_dir;
  enum pixel_format format;
  unsigned flags;
  int memory;            /* enum reverie_memory of the pictures */
  struct engine *engine; /* the open engine; NULL: it is not open yet */
  struct engine_info info;
  struct gpu gpu; /* functions of the GPU that computes; zeroed: the CPU does */
  void *stream;   /* reverie_info.stream; owned */
  /* true: the engine has moved to the CPU since reverie_open, and `gpu` computes no more */
  atomic_bool fallen_back;

  /* The fields from `asked` to `given` are protected by `lock`. */
  pthread_mutex_t lock;
  struct settings asked; /* values that the caller has set; the next frame uses them */
  struct library_handle handles[LIBRARY_HANDLES];
  uint64_t uses;
  /* chunks: number of chunks of tokens in each prompt slot's text; a text encoder reads the chunks one by one
   * (engine_count_chunks). The numbers are valid while parameters.texts, the number of the texts' version, equals
   * `counted`. */
  uint64_t counted;
  int chunks[LIBRARY_SLOTS];
  bool given[LIBRARY_SLOTS]; /* true: the prompt slot (storage for an encoded prompt) has a text */

  /* mutex that is locked while a handle (one size and step count) is prepared or released; a thread that needs both
   * locks this one before `lock` */
  pthread_mutex_t preparing;

  /* The following fields are used only by the thread that submits frames. */
  struct settings used; /* the parameters' values with which the last frame was submitted */
  unsigned stale;       /* bit i is 1: the engine does not have the text of prompt slot i (storage for an encoded
                         * prompt) yet */
  unsigned encoded;     /* bit i is 1: the engine got a text for prompt slot i (storage for an encoded prompt) at least
                         * once */
  /* the handles (prepared sizes and step counts) of the runs that the engine has not seen to their end
   * (engine_unfinished), oldest first, and their number */
  struct library_handle *flying[REVERIE_IN_FLIGHT_MOST];
  int unfinished;
  struct picture_pool *guests; /* pictures that stand for frames in CUDA memory; owned; NULL: the CPU computes */
  /* the handle (prepared size and step count) with which the last frame was submitted; NULL: no frame was submitted
   * yet */
  struct library_handle *current;
  /* value of current->prepared when the last frame was submitted. If current->prepared has another value now, the
   * handle (prepared size and step count) was released, and the frames of the stream batch were dropped with it */
  struct prepared *drained;
  /* description of the handle (size, step count and so on) with which the last frame was submitted */
  struct prepared_info shown;
};

/* Copies the error `from` to *to, the struct of the calling program, and returns its status. `from` NULL: success,
 * REVERIE_OK. `to` may be NULL. */
int library_tell(struct reverie_error *to, const struct error *from);
/* Writes a message about a wrong argument to *to, and returns REVERIE_USAGE. `to` may be NULL. */
PRINTF_LIKE(2, 3) int library_refuse(struct reverie_error *to, const char *format, ...);

/* Copies a struct of the calling program, which may be of another version, to the library's struct of this type, which
 * has `size` bytes. Fields that the program's struct lacks become 0. */
static inline void library_read(void *to, const void *from, size_t size) {
  size_t given;
  memcpy(&given, from, sizeof given);
  memset(to, 0, size);
  memcpy(to, from, given < size ? given : size);
}

/* Copies a struct of the library, of `size` bytes, to the calling program's struct, which may be of another version and
 * keeps its size field. Fields that the program's struct lacks are not written. */
static inline void library_write(void *to, const void *from, size_t size) {
  size_t room;
  memcpy(&room, to, sizeof room);
  if (room > sizeof room)
    memcpy((char *)to + sizeof room, (const char *)from + sizeof room, (room < size ? room : size) - sizeof room);
}

/* Sizes in bytes of struct reverie_frame and struct reverie_picture in the library's first version. A program's struct
 * must have at least this size, because all fields of the first version are needed. */
enum {
  LIBRARY_FRAME_LEAST = offsetof(struct reverie_frame, control) + sizeof(void *),
  LIBRARY_PICTURE_LEAST = offsetof(struct reverie_picture, hold) + sizeof(void *),
  /* A program may leave out fields at the end of all structs except struct reverie_frame and struct reverie_picture.
   * But a size too small for any field means that the program has forgotten to set the size. */
  LIBRARY_LEAST = sizeof(size_t) + 1
};
/* Checks the first field of a struct, which must be the struct's size and at least `least` (LIBRARY_LEAST or the
 * like). name: the struct's name in messages. Returns 0, or -1 with err. */
int library_check_size(const void *given, size_t least, const char *name, struct error *err);

/* Returns the text that the values give to a prompt slot of the engine (numbered storage for an encoded prompt); for
 * the first prompt, if none is set, the default prompt. NULL: the slot has no text. */
const char *library_text(const struct parameters *values, int slot);

/* Computes the shape (size, step count and so on) for which the engine must be prepared to use these values. Called
 * with reverie->lock held. Returns 0, or -1 with err. */
int library_shape(struct reverie *reverie, const struct parameters *values, struct engine_shape *shape,
                  struct error *err);
/* Stores in *handle the handle that is prepared for this shape (size, step count and so on); if there is none, one is
 * prepared first. claim: true: the handle's number of frames in flight is increased, so that the handle is not
 * released. Returns 0, or -1 with err. */
int library_handle_find(struct reverie *reverie, const struct engine_shape *shape, bool claim,
                        struct library_handle **handle, struct error *err);

/* Copies the calling program's struct of a frame, which may be of another version, to the library's. Returns 0, or -1
 * with err if the struct's field `size` is too small. */
int library_take_frame(struct reverie_frame *frame, const struct reverie_frame *given, struct error *err);
/* Converts a frame of the library's interface to a frame of the engine. needs: true: the pixels will be read, so
 * format, size and planes are checked; false: they will not be read, and nothing is checked. Returns 0, or -1 with
 * err. */
int library_frame(struct frame *frame, const struct reverie_frame *from, bool needs, struct error *err);
/* Of a frame in CUDA memory that library_frame has converted: *frame gets a hold on a picture that stands for its
 * planes, which the caller ends by frame_release. Returns 0, or -1 with err if the engine cannot read it. */
int library_guest(struct reverie *reverie, const struct reverie_frame *from, struct frame *frame, struct error *err);
/* library_open_gpu sets what frames and pictures in CUDA memory need, once the engine is open; on the CPU nothing, and
 * it fails if pictures are to be in CUDA memory. library_close_gpu undoes it, once the engine is closed. */
int library_open_gpu(struct reverie *reverie, struct error *err);
void library_close_gpu(struct reverie *reverie);
/* library_format_read converts a pixel format of the library's interface (enum reverie_format) to the engine's, and
 * returns false if there is none; library_format_tell does the inverse. */
bool library_format_read(int format, enum pixel_format *pixels);
int library_format_tell(enum pixel_format pixels);

#endif
