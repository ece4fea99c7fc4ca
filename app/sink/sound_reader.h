/* Reads packets of an input's sound with times that match those of its pictures: where the input's clock begins anew,
 * sound follows the video (app/source/joins.h). */
#ifndef APP_SINK_SOUND_READER_H
#define APP_SINK_SOUND_READER_H

#include <stdbool.h>

#include "app/source/joins.h"
#include "app/source/list_cuts.h"

/* The state of one stream of the input. Times are in the stream's time base; those named _us in microseconds. */
struct sound_track {
  bool wanted;
  /* number of the part of the input, between two joins (joins.h), to which its last packet belongs */
  int part;
  bool crossed;    /* no packet has been given to the caller since `part` changed */
  int64_t last_us; /* time of the last packet as read; AV_NOPTS_VALUE before the first */
  int64_t next_us; /* expected time of the next packet */
  /* time of the video read at the same place in the input as the last packet, minus that packet's time */
  int64_t lag_us;
  int64_t begin; /* begin of the last packet given; AV_NOPTS_VALUE before the first */
  int64_t end;   /* end of the last packet given */
  /* packet that the decoder needs before the first one, but that is not heard; without data: there is none */
  AVPacket *priming;
};

/* A packet of sound that was read and not given to the caller yet. */
struct sound_item {
  AVPacket *packet;
  int part;         /* number of the input's newest part (joins.newest) when the packet was read */
  int64_t video_us; /* the video's decoding time when it was read, as in the input; AV_NOPTS_VALUE: no video had come */
};

/* Zero-initialise to start. */
struct sound_reader {
  AVFormatContext *input; /* not owned */
  AVStream *video;        /* owned by input; NULL: there is no video */
  struct joins joins;
  struct list_cuts cuts;
  bool is_list; /* the input is a list of files, each of which may overlap the one before */
  struct sound_track *tracks;
  int streams; /* number at the start; others that appear while reading are ignored */
  /* packet: the one being read. behind: the one that sound_reader_next gives after a priming packet. */
  AVPacket *packet, *behind;
  struct sound_item *items; /* packets that were read and not given to the caller yet, in the order of reading */
  int count, room;
  bool ended;
  int failure; /* FFmpeg code of the error that ended reading; 0: none */
  int damaged, damage_in_a_row;
  long unplaced; /* number of packets that were left out because their times step back and no join was found */
};

/* Prepares to read input, of which no packet may have been read before. Returns 0, or -1 if memory is short;
 * sound_reader_free is due also then. Afterwards the caller sets `wanted` in the tracks that it needs. */
int sound_reader_begin(struct sound_reader *reader, AVFormatContext *input);
/* Seeks to the place from which the pictures that begin at start, in seconds, are read, so that sound and pictures find
 * the same joins. Called before sound_reader_begin. Returns a negative FFmpeg code where input cannot seek: then FFmpeg
 * has dropped the packets that it had read, and input must be opened again. */
int sound_reader_seek(AVFormatContext *input, double start);
/* Gives the next packet of a wanted track. The shift of its part was added to its times (joins.h), so that they rise in
 * each stream. The caller unrefs it. Returns false at the end. */
bool sound_reader_next(struct sound_reader *reader, AVPacket *packet);
/* Frees what the reader holds, but not input. Accepts zeros. */
void sound_reader_free(struct sound_reader *reader);

#endif
