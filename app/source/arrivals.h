/* Packets of a stream, taken in as they arrive by a thread of their own, so that none waits outside while another is
 * decoded. Whoever takes them gets those that lead to the newest picture: what came before the newest key frame is
 * thrown away. Sound beside them is kept as it comes. */
#ifndef APP_SOURCE_ARRIVALS_H
#define APP_SOURCE_ARRIVALS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct arrivals;

/* input is the thread's until arrivals_stop; heard is told when a packet of this stream came. sound: the stream beside
 * it, -1: none. */
int arrivals_start(struct arrivals **arrivals, AVFormatContext *input, int stream, int sound, _Atomic int64_t *heard_ns,
                   struct error *err);

/* 0 and the packet that is next, with the time when it came; AVERROR(EAGAIN): none came within wait_ms; else what
 * reading ended with. *leapt: it does not follow the one before. */
int arrivals_take(struct arrivals *arrivals, AVPacket *packet, int64_t *arrived_ns, bool *leapt, int wait_ms);

/* The oldest packet of the sound that waits: the last ones do, in no time of many seconds. False: there is none. */
bool arrivals_take_sound(struct arrivals *arrivals, AVPacket *packet);

/* Whether a packet waits. */
bool arrivals_has_more(struct arrivals *arrivals);

/* The input's interrupt callback must end what the thread waits for. Stores NULL; takes NULL. */
void arrivals_stop(struct arrivals **arrivals);

#endif
