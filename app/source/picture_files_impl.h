/* Declarations that the files of picture sequences (picture_files.h) share.
 *
 * picture_files.c  lists the pictures, reads them, and finds them by place and number
 * picture_gaps.c   names those that are missing or damaged */
#ifndef APP_SOURCE_PICTURE_FILES_IMPL_H
#define APP_SOURCE_PICTURE_FILES_IMPL_H

#include "app/source/picture_files.h"

enum picture_state { PICTURE_WAITS, PICTURE_SENT, PICTURE_GIVEN, PICTURE_MISSING, PICTURE_UNREADABLE };

struct picture_file {
  char *path;
  int number;   /* number in the picture's file name; valid if pictures->numbered is true */
  int64_t time; /* the picture's position in the sequence, from 0 (pts of its packet, see pictures_read) */
  enum picture_state state;
};

struct pictures {
  char *spec, *pattern;
  bool is_glob, numbered;
  size_t number_at; /* offset of the number in each path */
  struct picture_file *files;
  size_t count, capacity, next;
  /* position in the sequence (from 0) of the last picture from the decoder; -1: there was none yet */
  int64_t newest;
  enum AVCodecID codec;          /* codec of the picture that was read last */
  struct source_options options; /* the options to open one picture */
  char *wishes;                  /* the string that options.input_options points to; freed with this struct */
};

/* Returns the index of the first picture at position `time` of the sequence or later; pictures->count if there is
 * none. */
size_t pictures_find_time(const struct pictures *pictures, int64_t time);

#endif
