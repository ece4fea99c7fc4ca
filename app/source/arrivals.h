/* A thread that takes the packets of a stream as they arrive, so that none waits in the network while another is
 * decoded. The caller gets the packets that lead to the newest picture: those before the newest key frame are dropped.
 * Packets of sound are all kept in order. */
#ifndef APP_SOURCE_ARRIVALS_H
#define APP_SOURCE_ARRIVALS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct arrivals;

/* Starts the thread, which alone uses input until arrivals_stop. It stores in *heard_ns when the last packet of this
 * stream came. sound: index of the sound's stream; -1: none. Returns 0, or -1 with err. */
int arrivals_start(struct arrivals **arrivals, AVFormatContext *input, int stream, int sound, _Atomic int64_t *heard_ns,
                   struct error *err);

/* Returns 0 with the next packet and the time at which it came; AVERROR(EAGAIN): none came within wait_ms; another
 * code: reading has ended with it. *leapt: packets before it were dropped. */
int arrivals_take(struct arrivals *arrivals, AVPacket *packet, int64_t *arrived_ns, bool *leapt, int wait_ms);

/* Takes the oldest packet of sound. Returns false if there is none. Only the last few seconds are kept. */
bool arrivals_take_sound(struct arrivals *arrivals, AVPacket *packet);

/* True if a packet of video is waiting. */
bool arrivals_has_more(struct arrivals *arrivals);

/* Ends the thread and drops what waits. input's interrupt callback must by then abort blocking calls. Stores NULL;
 * accepts NULL. */
void arrivals_stop(struct arrivals **arrivals);

#endif
