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
  int part;          /* number of the part with one clock (joins.h) that its last packet belongs to */
  bool crossed;      /* no packet was given since `part` changed */
  int64_t last_us;   /* time of the last packet as read; AV_NOPTS_VALUE before the first */
  int64_t next_us;   /* expected time of the next packet */
  int64_t lag_us;    /* time of the video next to its last packet minus that packet's time */
  int64_t begin;     /* begin of the last packet given; AV_NOPTS_VALUE before the first */
  int64_t end;       /* end of the last packet given */
  AVPacket *priming; /* decoded before the first packet, but not heard; without data if there is none */
};

/* A packet that was read and not given yet. */
struct sound_item {
  AVPacket *packet;
  int part;         /* the newest part when it was read */
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
  int streams;               /* number at the start; others that appear while reading are ignored */
  AVPacket *packet, *behind; /* the packet being read; the one to give after a priming packet */
  struct sound_item *items;  /* in the order of reading */
  int count, room;
  bool ended;
  int failure; /* FFmpeg's code of the error that ended reading; 0: none */
  int damaged, damage_in_a_row;
  long unplaced; /* packets that are left out because their times step back where no clock begins anew */
};

/* Prepares to read input, of which no packet may have been read before. Returns 0, or -1 if memory is short;
 * sound_reader_free is due also then. Afterwards the caller sets `wanted` in the tracks that it needs. */
int sound_reader_begin(struct sound_reader *reader, AVFormatContext *input);
/* Seeks to the place from which the pictures that begin at start, in seconds, are read, so that sound and pictures find
 * the same joins. Called before sound_reader_begin. Returns a negative FFmpeg code where input cannot seek: then FFmpeg
 * has dropped the packets that it had read, and input must be opened again. */
int sound_reader_seek(AVFormatContext *input, double start);
/* Gives the next packet of a wanted track. Its times are those after all joins, and rise in each stream. The caller
 * unrefs it. Returns false at the end. */
bool sound_reader_next(struct sound_reader *reader, AVPacket *packet);
/* Frees what the reader holds, but not input. Accepts zeros. */
void sound_reader_free(struct sound_reader *reader);

#endif
