/* Keeps the newest packets of sound that a live source reads next to its pictures, for recording and measuring.
 *
 * A position is a time in seconds on the clock of the source's frame.pts; it does not depend on when pictures are
 * shown. Any thread may call these functions, but each cursor is used by one thread at a time. */
#ifndef APP_SOURCE_SOUND_TAP_H
#define APP_SOURCE_SOUND_TAP_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "unet/base/error.h"

struct sound_tap;

/* Returns 0, or -1 with err. The caller closes the tap when no thread uses it any more. */
int sound_tap_open(struct sound_tap **tap, struct error *err);
void sound_tap_close(struct sound_tap **tap); /* stores NULL; accepts NULL */

/* Describes the sound of a source. */
struct sound_origin {
  const void *owner;
  const char *name;               /* the source's name in messages */
  const AVCodecParameters *codec; /* NULL: the source has no sound */
  AVRational time_base;
  double tick; /* unit of the pictures' times, in seconds */
};

enum { SOUND_NAME_MAX = 256 };

/* Makes a source the tap's owner: only its packets are kept from now on. takes_over: it replaces the present owner, if
 * any; else it becomes the owner only if there is none. What origin points to is copied. */
void sound_tap_begin(struct sound_tap *tap, const struct sound_origin *origin, bool takes_over);
/* Keeps a packet of the owner's sound. shift: the packet's position minus its timestamp, in seconds. Does nothing if
 * the owner is another one, or the packet is empty. */
void sound_tap_put(struct sound_tap *tap, const void *owner, const AVPacket *packet, double shift);
/* Ends the ownership of `owner`, if it is the current owner; then the tap has none. */
void sound_tap_leave(struct sound_tap *tap, const void *owner);

/* The place of one taker among the packets. Zero-initialise to begin with the oldest packet that is kept. */
struct sound_cursor {
  bool begun;
  unsigned long next;
};

/* Takes the cursor's next packet if its position is at most `until`, and stores its position. Returns 1: packet is
 * filled, and the caller unrefs it; 0: there is none yet. */
int sound_tap_take(struct sound_tap *tap, struct sound_cursor *cursor, double until, AVPacket *packet,
                   double *position);
/* Waits until a packet comes after those that the cursor has taken, for at most wait_ms milliseconds. */
void sound_tap_wait(struct sound_tap *tap, const struct sound_cursor *cursor, int wait_ms);
/* Copies the parameters of the current sound to codec, and its time base. Returns the number of that sound: the first
 * owner's is 1, each later owner's one more; 0: the current owner has no sound. */
unsigned sound_tap_describe(struct sound_tap *tap, AVCodecParameters *codec, AVRational *time_base);
/* True if the current owner has sound. */
bool sound_tap_has_sound(struct sound_tap *tap);
/* Returns the number of the current sound: the owners so far, including those without sound; 0: there was none.
 * *present: the current owner has sound. name: gets that source's name; may be NULL. */
unsigned sound_tap_number(struct sound_tap *tap, bool *present, char name[SOUND_NAME_MAX]);
/* Returns the position, in seconds, of a frame of the current owner with this pts. */
double sound_tap_position(struct sound_tap *tap, int64_t pts);

#endif
