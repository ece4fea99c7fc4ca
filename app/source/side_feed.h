/* Passes packets of sound, subtitles and other tracks from the source, which reads the input, to the sink. It is for
 * inputs that can be read only once: pipes and streams. Packets wait here until the pictures of the same time are
 * written. Neither source nor sink waits for the other; packets that have no room in the bounded memory are dropped.
 *
 * The source's thread calls the functions for the source. The sink's thread calls those for the sink, after the
 * source's first frame. */
#ifndef APP_SOURCE_SIDE_FEED_H
#define APP_SOURCE_SIDE_FEED_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

/* Largest number of bytes of the packets that wait; packets of tracks other than sound may take half of it. */
enum { SIDE_FEED_BYTES = 64 << 20 };

struct side_feed;

/* Opens an empty feed. name: the input's, for messages; name and log must outlive the feed. Returns 0, or -1 with
 * err. */
int side_feed_open(struct side_feed **feed, const char *name, const struct log *log, struct error *err);
/* Frees the feed and its packets; *feed becomes NULL; does nothing if it is NULL. */
void side_feed_close(struct side_feed **feed);

/* --- functions for the source, which reads the input; feed may be NULL --- */

/* Copies the descriptions of the input's streams, chapters and tags, and has the demuxer give the packets of all
 * streams that may be copied. video: the stream of the pictures. Called before the first packet is put. Returns 0, or
 * -1 if memory is short. */
int side_feed_describe(struct side_feed *feed, const AVFormatContext *input, const AVStream *video);
/* Stores a copy of a packet; of the pictures' packets only the times. Packets must come in the demuxer's order. The
 * caller keeps the packet. */
void side_feed_put(struct side_feed *feed, const AVPacket *packet);
/* Sets the time in the input, in AV_TIME_BASE units, that becomes time 0 of the output. Called with the first frame. If
 * memory is full before this call, the oldest packets are dropped without a log line, since they are before the part
 * that is rendered. */
void side_feed_begin(struct side_feed *feed, int64_t origin);
/* True if some track of sound has not yet got a packet that begins at `time` or later (in AV_TIME_BASE units of the
 * input). */
bool side_feed_lacks(struct side_feed *feed, int64_t time);

/* --- functions for the sink, which writes the output --- */

/* Returns a copy of the description of the input's tracks, which the feed owns; no packets can be read from it. NULL:
 * the source has no tracks. */
AVFormatContext *side_feed_input(const struct side_feed *feed);
/* Returns the index, among the input's streams, of the video stream that is restyled. */
int side_feed_video(const struct side_feed *feed);
int64_t side_feed_origin(const struct side_feed *feed);
/* Makes the feed drop all packets of this stream from now on. */
void side_feed_refuse(struct side_feed *feed, int stream);
/* Takes the oldest packet. Returns 0 with the packet, which the caller unrefs; AVERROR(EAGAIN) if none waits; or
 * AVERROR_EOF if none waits and none will come. */
int side_feed_take(struct side_feed *feed, AVPacket *packet);
/* Tells that the source adds no more packets. Called when the source's thread has ended. */
void side_feed_end(struct side_feed *feed);
/* Returns how many packets were dropped because there was no room. */
long side_feed_lost(struct side_feed *feed);

#endif
