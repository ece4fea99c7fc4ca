/* The pictures of a sequence: the files whose names a pattern with a number in it makes (frames/%04d.png), or that a
 * glob finds. They are listed when the input is opened and read one by one, each under the number in its own name:
 * FFmpeg's reader of sequences ends at the first number that is missing, and counts what it reads. */
#ifndef APP_SOURCE_PICTURE_FILES_H
#define APP_SOURCE_PICTURE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

#include "app/source/source.h"

struct pictures;

/* Lists the pictures that spec names; *pictures is NULL where spec is no sequence, where there is none of its pictures,
 * and where the user's options ask for what only FFmpeg's own reader does. Returns 0, or -1 where memory is short. */
int source_pictures_open(struct pictures **pictures, const char *spec, const struct source_options *options,
                         struct error *err);
void source_pictures_close(struct pictures **pictures); /* stores NULL; takes NULL */

/* Opens the first picture that can be read, else the first of all, which tells what kind of pictures these are. As
 * ffmpeg_open_input. */
int pictures_open_first(struct pictures *pictures, AVFormatContext **input, struct error *err);
/* Stores in the stream of that input how long the sequence is. */
void pictures_describe(const struct pictures *pictures, AVStream *stream);

/* Reads the next picture that can be read as a packet of stream 0. Its time is its place: how many numbers behind the
 * first one it stands, and for a glob how many files. Returns 0 or an FFmpeg code, AVERROR_EOF at the end. */
int pictures_read(struct pictures *pictures, AVPacket *packet);
/* The next picture to be read is the first one at this time or behind it. */
void pictures_seek(struct pictures *pictures, int64_t time);
/* Notes that the decoder has made a picture of the packet of this time. */
void pictures_note_given(struct pictures *pictures, int64_t time);

/* Whether the picture of this time has a number by its name, which *number is then. */
bool pictures_number(const struct pictures *pictures, int64_t time, int *number);
/* The numbers of the first and the last picture of the part that options ask for, of `most` pictures at most (0: all).
 * False where there is none in it, or where they have no numbers. */
bool pictures_part(const struct pictures *pictures, const struct source_options *options, long most, int *first,
                   int *last);
/* The time at which a part ends that begins at `begin` and lasts so many seconds (0: to the end). */
int64_t pictures_end_of_part(int64_t begin, double duration, AVRational tick);

/* Whether all pictures were there and could be decoded whose times are from `begin` on and before `end`: 0, or -1 with
 * a line that names the others. ended: the decoder has given out all that it had. */
int pictures_check(const struct pictures *pictures, int64_t begin, int64_t end, bool ended, struct error *err);

/* --- names with a number in them --- */

/* Writes a glob that finds all names which the pattern makes, and some that it does not. number_at is where their
 * numbers begin. False where size is too small. */
bool pictures_glob(const char *pattern, char *globbed, size_t size, size_t *number_at);
/* The number of which the pattern makes this path; -1: there is none. */
long pictures_number_of(const char *path, const char *pattern, size_t number_at);
/* FFmpeg's reader of pictures takes "%*" and the like for globs, unless told what a name means. Writes the glob, and
 * returns whether path is one. */
bool pictures_unmark_glob(const char *path, char *globbed, size_t size);

#endif
