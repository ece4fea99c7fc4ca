/* Keeps the newest packets of sound that a live source reads next to its pictures, for recording and measuring.
 *
 * Positions are seconds as frame.pts counts them, which do not depend on when pictures are shown. One thread at a time
 * puts; any thread takes. */
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

/* Makes a source the owner, whose packets are kept from now on. takes_over: it replaces another owner; else it only
 * becomes the owner if there is none. What origin points to is copied. */
void sound_tap_begin(struct sound_tap *tap, const struct sound_origin *origin, bool takes_over);
/* Keeps a packet. shift: its position minus its own time. Does nothing if the owner is another one, or the packet is
 * empty. */
void sound_tap_put(struct sound_tap *tap, const void *owner, const AVPacket *packet, double shift);
/* Ends the ownership of this owner, if it is the current one. */
void sound_tap_leave(struct sound_tap *tap, const void *owner);

/* A reader's place among the packets. Zero-initialise to begin with the oldest packet that is kept. */
struct sound_cursor {
  bool begun;
  unsigned long next;
};

/* Takes the next packet if its position is at most `until`. Returns 1: packet is filled, and the caller unrefs it; 0:
 * there is none yet. */
int sound_tap_take(struct sound_tap *tap, struct sound_cursor *cursor, double until, AVPacket *packet,
                   double *position);
/* Waits for a packet to take, for at most wait_ms. */
void sound_tap_wait(struct sound_tap *tap, const struct sound_cursor *cursor, int wait_ms);
/* Copies the codec of the packets that are taken now to codec, and returns the number of their sound, from 1; 0: there
 * is none. */
unsigned sound_tap_describe(struct sound_tap *tap, AVCodecParameters *codec, AVRational *time_base);
/* True if the current owner has sound. */
bool sound_tap_has_sound(struct sound_tap *tap);
/* Returns how many sounds there were so far, including sources without sound. *present: the current one can be heard.
 * name: gets its source's name; may be NULL. */
unsigned sound_tap_number(struct sound_tap *tap, bool *present, char name[SOUND_NAME_MAX]);
/* Returns the position of a frame's time, in seconds. */
double sound_tap_position(struct sound_tap *tap, int64_t pts);

#endif
