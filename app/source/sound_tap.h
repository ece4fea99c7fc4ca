/* The sound of what is shown live: packets that a source has read beside its pictures, for whoever records. The newest
 * ones are kept, whether anybody wants them or not.
 *
 * Positions are seconds as frame.pts counts them, so that sound and pictures are told apart from the moments they were
 * shown at. One thread at a time puts; any thread takes. */
#ifndef APP_SOURCE_SOUND_TAP_H
#define APP_SOURCE_SOUND_TAP_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "unet/base/error.h"

struct sound_tap;

int sound_tap_open(struct sound_tap **tap, struct error *err);
void sound_tap_close(struct sound_tap **tap); /* stores NULL; takes NULL */

/* Whose packets come. */
struct sound_origin {
  const void *owner;
  const char *name;               /* as people call it */
  const AVCodecParameters *codec; /* NULL: it has no sound */
  AVRational time_base;
  double tick; /* of the pictures' times, in seconds */
};

enum { SOUND_NAME_MAX = 256 };

/* A source: from now on packets of this owner are what is kept, in the place of another sound where it takes over, else
 * only where there is no owner. What origin points to is copied. */
void sound_tap_begin(struct sound_tap *tap, const struct sound_origin *origin, bool takes_over);
/* shift: what positions are beyond the packet's own times. Nothing where another one is the owner, or the packet is
 * empty. */
void sound_tap_put(struct sound_tap *tap, const void *owner, const AVPacket *packet, double shift);
/* There is no owner, if it was this one. */
void sound_tap_leave(struct sound_tap *tap, const void *owner);

/* Zero-initialise to start with what comes next. */
struct sound_cursor {
  bool begun;
  unsigned long next;
};

/* The next packet there is, which begins at a position of at most `until`. 1: packet is the caller's to unref; 0: none
 * yet. */
int sound_tap_take(struct sound_tap *tap, struct sound_cursor *cursor, double until, AVPacket *packet,
                   double *position);
/* Waits until there may be a packet to take, but not for long. */
void sound_tap_wait(struct sound_tap *tap, const struct sound_cursor *cursor, int wait_ms);
/* What packets taken now are, and which sound since the first; 0: none. codec gets a copy. */
unsigned sound_tap_describe(struct sound_tap *tap, AVCodecParameters *codec, AVRational *time_base);
bool sound_tap_has_sound(struct sound_tap *tap);
/* Counts the sounds so far, those of sources without any as well. *present: this is one that can be heard; name: its
 * source's, NULL: nobody asks. */
unsigned sound_tap_number(struct sound_tap *tap, bool *present, char name[SOUND_NAME_MAX]);
double sound_tap_position(struct sound_tap *tap, int64_t pts);

#endif
