/* Reads the pictures of a sequence: files whose names follow a pattern with a number (frames/%04d.png) or that a glob
 * finds. They are listed when the input is opened and read one by one, each with the number in its own name. FFmpeg's
 * own demuxer would end at the first missing number, and count the pictures from there. */
#ifndef APP_SOURCE_PICTURE_FILES_H
#define APP_SOURCE_PICTURE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

#include "app/source/source.h"

struct pictures;

/* Lists the pictures that spec names. *pictures is NULL if spec is no sequence, if none of its pictures exist, or if
 * the user's options need FFmpeg's own demuxer. Returns 0, or -1 with err if memory is short. */
int source_pictures_open(struct pictures **pictures, const char *spec, const struct source_options *options,
                         struct error *err);
void source_pictures_close(struct pictures **pictures); /* stores NULL; accepts NULL */

/* Opens the first picture of the sequence that can be read, or the first of all if none can, as an FFmpeg input: from
 * it the pictures' format is found. The caller closes *input. Returns 0, or -1 with err. */
int pictures_open_first(struct pictures *pictures, AVFormatContext **input, struct error *err);
/* Stores the number of pictures and the sequence's length in the stream of the input that pictures_open_first
 * opened. */
void pictures_describe(const struct pictures *pictures, AVStream *stream);

/* Reads the next readable picture, as a packet of stream 0. Its pts is its place in the sequence: the number in its
 * name minus the first picture's number; for a glob its index in the list. Returns 0 or an FFmpeg code, at the end
 * AVERROR_EOF. */
int pictures_read(struct pictures *pictures, AVPacket *packet);
/* Returns the codec of the picture that was read last, by its content: a name may end in .png and hold a JPEG. */
enum AVCodecID pictures_codec(const struct pictures *pictures);
/* Makes the first picture at or after this place (as in pictures_read) the next one to be read. */
void pictures_seek(struct pictures *pictures, int64_t time);
/* Notes that the decoder has given the picture with this pts. */
void pictures_note_given(struct pictures *pictures, int64_t time);

/* True if the picture of this time has a number in its name, which is stored in *number. */
bool pictures_number(const struct pictures *pictures, int64_t time, int *number);
/* Finds the numbers of the first and last picture in the part that options ask for, which has at most `most` pictures
 * (0: no limit). Returns false if it has no pictures, or they have no numbers. */
bool pictures_part(const struct pictures *pictures, const struct source_options *options, long most, int *first,
                   int *last);
/* Returns the end, as a number of ticks, of a part of the sequence that begins at `begin` and lasts `duration` seconds
 * (0: to the end of the sequence). */
int64_t pictures_end_of_part(int64_t begin, double duration, AVRational tick);

/* Checks that all pictures from `begin` on and before `end` existed and were decoded. Returns 0, or -1 with err, which
 * names the others. ended: the decoder has given out all that it held. */
int pictures_check(const struct pictures *pictures, int64_t begin, int64_t end, bool ended, struct error *err);

/* --- names with a number in them --- */

/* Writes a glob that matches all names of the pattern, and some others. number_at: offset of the number in them.
 * Returns false if size is too small. */
bool pictures_glob(const char *pattern, char *globbed, size_t size, size_t *number_at);
/* Returns the number for which the pattern gives this path; -1: there is none. */
long pictures_number_of(const char *path, const char *pattern, size_t number_at);
/* True if path is a glob as FFmpeg's demuxer of pictures writes it ("%*"). Stores it as an ordinary glob. */
bool pictures_unmark_glob(const char *path, char *globbed, size_t size);

#endif
