/* Reads packets of an input's sound and other tracks, beside its pictures. Their times fit those of the pictures: where
 * the input's timestamps begin again (a join, app/source/joins.h), all tracks are shifted like the video. */
#ifndef APP_SINK_SIDE_READER_H
#define APP_SINK_SIDE_READER_H

#include <stdbool.h>

#include "app/source/joins.h"
#include "app/source/list_cuts.h"
#include "app/source/side_feed.h"

/* Largest number of packets before the first sound that are kept for the decoder: MP3 needs about 4, and Opus with its
 * shortest packets 32. */
enum { SIDE_PRIMING = 33 };

/* The state of one stream of the input. Times are in the stream's time base; those named _us in microseconds. */
struct side_track {
  bool wanted; /* true: side_reader_next gives the packets of this stream, which is sound */
  bool other;  /* true: side_reader_next_other gives the packets of this stream: subtitles, or further video */
  /* used within one call of side_reader_next_other: true: a packet of this track is not due yet, so later ones must
   * wait, too */
  bool blocked;
  /* number of the part of the input (between two timestamp discontinuities, joins.h) that this stream's last packet
   * belongs to */
  int part;
  /* true: the stream has come to another part of the input (`part` has changed), and no packet of that part has been
   * given to the caller yet */
  bool crossed;
  /* time of this stream's last packet in microseconds; AV_NOPTS_VALUE before the first packet */
  int64_t last_us;
  int64_t next_us; /* expected time of this stream's next packet, in microseconds: where its last one ended */
  /* microseconds by which this stream's last packet was behind the video packet read just before it */
  int64_t lag_us;
  /* begin of the last packet that the caller got, in the stream's time base; AV_NOPTS_VALUE before the first */
  int64_t begin;
  int64_t end; /* end of the last packet that the caller got, in the stream's time base */
  /* The last packets before the requested start of the output, oldest first. Nobody hears these packets, but the
   * decoder may need them to decode the first packet that is heard. */
  AVPacket *priming[SIDE_PRIMING];
  int primings;
};

/* A packet of sound that was read and not given to the caller yet. */
struct side_item {
  AVPacket *packet;
  /* number of the part of the input (between two timestamp discontinuities) in which the packet was read
   * (joins.newest) */
  int part;
  /* decoding time, as in the input, of the packet of video that was read last before this packet; AV_NOPTS_VALUE: no
   * video was read yet */
  int64_t video_us;
};

/* Packets of subtitles and further video may take this many bytes while they wait for the pictures of their time. */
enum { SIDE_OTHERS_BYTES = 64 << 20 };

/* Reads the packets of one input. Zero-initialise to start. */
struct side_reader {
  AVFormatContext *input; /* the input that is read or, if `feed` is used, a description of the input; not owned */
  /* queue through which the source hands over the packets that it reads; not owned; NULL: packets are read from
   * `input` */
  struct side_feed *feed;
  AVStream *video; /* the stream of the pictures, owned by `input`; NULL: there is no video */
  struct joins joins;
  struct list_cuts cuts;
  bool is_list; /* true: the input is a list of files, each of which may overlap the one before */
  struct side_track *tracks;
  int streams;      /* number of streams at the start; streams that appear while reading are ignored */
  AVPacket *packet; /* the packet that is being read */
  /* the track whose `priming` packets side_reader_next gives at present, before the track's first sound, because its
   * decoder needs them to begin; NULL: none */
  struct side_track *behind;
  struct side_item *items; /* packets that were read and not given to the caller yet, in the order of reading */
  int count, room;
  /* packets of other tracks that were read and not given to the caller yet, in the order of reading; others_bytes: the
   * memory that they take */
  AVPacket **others;
  int other_count, other_room;
  int64_t others_bytes;
  /* time in microseconds, shifted over joins (joins.h), of the last packet of video; INT64_MIN before the first */
  int64_t reached_us;
  bool ended;
  int failure; /* FFmpeg code of the error that ended reading; 0: none */
  int damaged, damage_in_a_row;
  /* number of packets of sound that were left out because their times step back and no join (joins.h) was found
   * there */
  long unplaced;
  /* number of packets of other tracks that were left out because the packets that wait took SIDE_OTHERS_BYTES of memory
   * already */
  long overflow;
};

/* Prepares to read `input`, of which no packet may have been read. If `feed` is not NULL, packets come from the feed,
 * and `input` only describes the streams. The caller then asks for tracks with side_reader_want. Returns 0, or -1 if
 * memory is short; the caller calls side_reader_free in both cases. */
int side_reader_begin(struct side_reader *reader, AVFormatContext *input, struct side_feed *feed);
/* Makes the reader give the packets of a track: sound by side_reader_next, all else by side_reader_next_other. */
void side_reader_want(struct side_reader *reader, int stream);
/* Seeks to where the source begins to read if its first picture is at `start`, in seconds; so this reader meets the
 * same joins (joins.h). If the input has subtitles and an index, seeks some seconds earlier, for subtitles that are
 * still seen at `start`. Called before side_reader_begin. Returns a negative FFmpeg code if `input` cannot seek: its
 * packets read so far are then lost, and it must be opened again. */
int side_reader_seek(AVFormatContext *input, double start);
/* Gives the next packet of a track of sound that side_reader_want has named. Its times are shifted so that they rise
 * where the input's times jump (joins.h). The caller unrefs the packet. Returns false at the end of the input, or if
 * packets come from a side_feed and none waits there. */
bool side_reader_next(struct side_reader *reader, AVPacket *packet);
/* Reads on until the video has reached this time, in microseconds, the input ends, or the feed has no packet at
 * present. Does nothing if no track other than sound is wanted. */
void side_reader_reach(struct side_reader *reader, int64_t time_us);
/* Gives the next packet, of those already read, of a track other than sound (subtitles, further video) that begins
 * before time_us (microseconds). Packets of one track come in their order. Where the input's timestamps restart, the
 * packet's times are shifted like those of the pictures. The caller unrefs the packet. Returns false if there is
 * none. */
bool side_reader_next_other(struct side_reader *reader, int64_t time_us, AVPacket *packet);
/* Frees all that the reader holds, except `input`. Accepts a zeroed struct. */
void side_reader_free(struct side_reader *reader);

#endif
