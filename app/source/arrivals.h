/* Reads the packets of a live stream on a thread of its own as they arrive, so that none waits in the network while
 * another is decoded. A key frame drops all earlier packets of video that were not taken, so that the newest picture is
 * decoded soon. Packets of sound stay in order. One other thread calls all of these functions. */
#ifndef APP_SOURCE_ARRIVALS_H
#define APP_SOURCE_ARRIVALS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct arrivals;

/* Starts the thread that reads packets. Until arrivals_stop no other thread may use `input`. At each packet of video
 * the thread stores the time (platform_now_ns) in *heard_ns. stream, sound: indices in `input` of the video and of the
 * sound; sound -1: none. `input` and `heard_ns` must outlive the thread. Returns 0, or -1 with err. */
int arrivals_start(struct arrivals **arrivals, AVFormatContext *input, int stream, int sound, _Atomic int64_t *heard_ns,
                   struct error *err);

/* Takes the next packet of video. Returns 0 with the packet, which the caller unrefs, and its time of arrival
 * (platform_now_ns) in *arrived_ns; AVERROR(EAGAIN) if none came within wait_ms milliseconds; or the FFmpeg code with
 * which reading ended. *leapt is set if packets before this one were dropped. */
int arrivals_take(struct arrivals *arrivals, AVPacket *packet, int64_t *arrived_ns, bool *leapt, int wait_ms);

/* Takes the oldest packet of sound that waits; the caller unrefs it. Returns false if there is none. At most 256
 * packets wait, 5 s of AAC; after that the oldest packet is dropped for each new one. */
bool arrivals_take_sound(struct arrivals *arrivals, AVPacket *packet);

/* True if a packet of video waits to be taken. */
bool arrivals_has_more(struct arrivals *arrivals);

/* Ends the thread, waits for it, and drops the packets that were not taken. The caller first makes input's interrupt
 * callback abort blocking calls, as the thread may be in one. *arrivals becomes NULL; does nothing if it is NULL. */
void arrivals_stop(struct arrivals **arrivals);

#endif
