/* Reads packets of an unfinished output file (part.h), from which a render is continued: those in complete segments
 * (groups of pictures that can be decoded without the others). The pictures' times come from the file's manifest,
 * because the container may have rounded them. */
#ifndef APP_SINK_KEPT_H
#define APP_SINK_KEPT_H

#include <libavformat/avformat.h>

#include "app/job/manifest.h"

struct kept; /* An unfinished output file that is open for reading. One thread at a time uses it. */

/* Opens the file, and finds out how many of its segments are complete. A segment is a group of pictures that can be
 * decoded without the others; the manifest lists them (job/manifest.h). In an MP4 file, data after the last complete
 * fragment is cut off. record: the manifest's contents, which must outlive *kept. Returns 0, or -1 with err. */
int kept_open(struct kept **kept, const char *path, const struct job_record *record, struct error *err);
/* Returns the number of pictures in complete segments (parts of the file that can be decoded by themselves). */
int64_t kept_pictures(const struct kept *kept);
/* Returns the reordering delay: the largest number of pictures between a packet's decoding and the showing of its
 * picture. It is the delay in the file's packets or the one that the codec's header allows, whichever is larger. */
int kept_delay(const struct kept *kept);
/* Returns the file's video stream, which belongs to `kept`. */
const AVStream *kept_stream(const struct kept *kept);
/* Reads the next packet, in decoding order. Its presentation time is the exact one from the manifest, in units of
 * frame.pts; its decoding time is not set. H.264 and HEVC packets have start codes (Annex B). Returns 1, 0 after the
 * last packet, or -1 with err. */
int kept_read(struct kept *kept, AVPacket *packet, struct error *err);
/* Finds the segment (part that can be decoded alone) of the packet that was read last. Returns the number of that
 * segment's last picture, counted from 0 in the unfinished file or shard. */
int64_t kept_segment_end(const struct kept *kept);
/* Closes the file for a while, so that joining many parts does not keep all of them open. If it is called before the
 * first packet is read, kept_read opens the file again, and kept_stream may be called only after that. If it is called
 * after the last packet, neither kept_read nor kept_stream may be called any more. */
void kept_rest(struct kept *kept);
void kept_close(struct kept **kept); /* closes the file; *kept becomes NULL; does nothing if it is NULL */

#endif
