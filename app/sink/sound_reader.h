/* The packets of sound of an input that is read beside its pictures, at the times at which they belong to them: where
 * the input's clock begins anew, the sound follows the video (app/source/joins.h). */
#ifndef APP_SINK_SOUND_READER_H
#define APP_SINK_SOUND_READER_H

#include <stdbool.h>

#include "app/source/joins.h"
#include "app/source/list_cuts.h"

/* A stream of the input, in its own time base but for what is in microseconds. */
struct sound_track {
  bool wanted;
  int part;          /* number of the stretch with one clock (joins.h) that its last packet belongs to */
  bool crossed;      /* no packet has been given since part changed */
  int64_t last_us;   /* time of the last packet as it is in the input; AV_NOPTS_VALUE before the first */
  int64_t next_us;   /* expected time of the next one */
  int64_t lag_us;    /* how far its packets lie behind those of the video beside them */
  int64_t begin;     /* of the last packet that was given; AV_NOPTS_VALUE before the first */
  int64_t end;       /* of the same */
  AVPacket *priming; /* is decoded before the first and not heard; its data is NULL where there is none */
};

/* A packet that was read and not given yet. */
struct sound_item {
  AVPacket *packet;
  int part;         /* the newest one when it was read */
  int64_t video_us; /* decoding time of the video then, as it is in the input; AV_NOPTS_VALUE: none had come */
};

/* Zero-initialise to start. */
struct sound_reader {
  AVFormatContext *input; /* not owned */
  AVStream *video;        /* belongs to input; NULL: there is none */
  struct joins joins;
  struct list_cuts cuts;
  bool is_list; /* files come one after the other, and each may overlap the one before */
  struct sound_track *tracks;
  int streams;               /* that were there at the start; more may turn up while reading */
  AVPacket *packet, *behind; /* read now; given after a priming packet */
  struct sound_item *items;  /* in the order of reading */
  int count, room;
  bool ended;
  int failure; /* FFmpeg's code of what reading failed with; 0: nothing did */
  int damaged, damage_in_a_row;
  long unplaced; /* packets that are left out, since their times step back where no clock begins anew */
};

/* Returns 0 or -1, when there is no memory. The streams that are wanted are to be marked in tracks after it, and no
 * packet may be read before it. */
int sound_reader_begin(struct sound_reader *reader, AVFormatContext *input);
/* Goes to where the pictures that begin at origin (in AV_TIME_BASE units) are read from, so that both find the same
 * joins. */
void sound_reader_seek(struct sound_reader *reader, int64_t origin, double start);
/* Gives the next packet with the times that it has behind all joins, those of each stream rising. The caller unrefs it.
 * Returns false at the end. */
bool sound_reader_next(struct sound_reader *reader, AVPacket *packet);
void sound_reader_free(struct sound_reader *reader);

#endif
