/* A sound tap is a buffer of the newest packets of sound that a live source reads beside its pictures. Recordings and
 * level meters take packets from it. Its owner is the source whose packets it keeps. A position is a time in seconds on
 * the clock of the source's frame.pts, whenever pictures are shown. Any thread may call these functions, but one cursor
 * is used by one thread at a time. */
#ifndef APP_SOURCE_SOUND_TAP_H
#define APP_SOURCE_SOUND_TAP_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "unet/base/error.h"

struct sound_tap;

/* Allocates a tap (a buffer of sound), which has no owner and no packets at first. Returns 0, or -1 with err. The
 * caller closes the tap when no thread uses it any more. */
int sound_tap_open(struct sound_tap **tap, struct error *err);
void sound_tap_close(struct sound_tap **tap); /* closes the tap; *tap becomes NULL; does nothing if it is NULL */

/* Describes the sound of a source that puts packets into the tap (the buffer). */
struct sound_origin {
  const void *owner;
  const char *name;               /* the source's name in messages */
  const AVCodecParameters *codec; /* parameters of the sound's packets; NULL: the source has no sound */
  AVRational time_base;
  double tick; /* unit of the timestamps of pictures, in seconds */
};

enum { SOUND_NAME_MAX = 256 };

/* Makes a source the owner of the tap (the buffer): from now on only that source's packets are kept. takes_over: true:
 * the source replaces the present owner, if any; false: it becomes the owner only if there is none. What `origin`
 * points to is copied. */
void sound_tap_begin(struct sound_tap *tap, const struct sound_origin *origin, bool takes_over);
/* Keeps a packet of sound, if `owner` owns the tap and the packet has data and a timestamp. shift: the packet's
 * position minus its timestamp, in seconds. */
void sound_tap_put(struct sound_tap *tap, const void *owner, const AVPacket *packet, double shift);
/* Ends the ownership of `owner`, if it is the current owner; then the tap has no owner. Until there is another one, the
 * functions that describe the current owner still describe the former one. */
void sound_tap_leave(struct sound_tap *tap, const void *owner);

/* A cursor: how far one reader of the tap (the buffer) has got among the packets. Zero-initialise to begin with the
 * oldest packet that is kept. */
struct sound_cursor {
  bool begun;
  unsigned long next;
};

/* Takes this cursor's next packet if the packet's position in the source is at most `until`, and stores the position;
 * both are in seconds. Returns 1 with the packet, which the caller unrefs, or 0 if there is no such packet yet. */
int sound_tap_take(struct sound_tap *tap, struct sound_cursor *cursor, double until, AVPacket *packet,
                   double *position);
/* Waits, for at most wait_ms milliseconds, until a packet comes that the cursor has not taken yet. */
void sound_tap_wait(struct sound_tap *tap, const struct sound_cursor *cursor, int wait_ms);
/* Copies the codec parameters and the time base of the current owner's sound. Returns how many owners the tap has had,
 * which identifies the current owner's sound; 0: the current owner has no sound. */
unsigned sound_tap_describe(struct sound_tap *tap, AVCodecParameters *codec, AVRational *time_base);
/* True if the source that owns the tap, or that owned it last, has sound. */
bool sound_tap_has_sound(struct sound_tap *tap);
/* Returns how many sources have owned the tap so far, which identifies the current owner; 0: none has. *present: the
 * current owner has sound. name: gets the current owner's name; may be NULL. */
unsigned sound_tap_number(struct sound_tap *tap, bool *present, char name[SOUND_NAME_MAX]);
/* Sets the source's playing speed; 1: normal. From now on it applies to the tap's present owner and to later ones.
 * sound_tap_speed returns the speed. */
void sound_tap_set_speed(struct sound_tap *tap, double speed);
double sound_tap_speed(struct sound_tap *tap);
/* Returns the position in seconds (see the head of this file) of a frame of the current owner with this pts. */
double sound_tap_position(struct sound_tap *tap, int64_t pts);

#endif
