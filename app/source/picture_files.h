/* Reads the pictures of a sequence: files with a number in their names (frames/%04d.png), or those of a glob. They are
 * listed when the input is opened, and read one by one, with the numbers in their names. FFmpeg's own demuxer would end
 * at the first missing number, and counts pictures instead of reading numbers. */
#ifndef APP_SOURCE_PICTURE_FILES_H
#define APP_SOURCE_PICTURE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

#include "app/source/source.h"

struct pictures;

/* Lists the pictures that `spec` names. *pictures is NULL if `spec` is no sequence, if none of its pictures exist, or
 * if the user's options need FFmpeg's own demuxer. Returns 0, or -1 with err if memory is short. */
int source_pictures_open(struct pictures **pictures, const char *spec, const struct source_options *options,
                         struct error *err);
/* Frees the pictures; *pictures becomes NULL; does nothing if it is NULL. */
void source_pictures_close(struct pictures **pictures);

/* Opens the first readable picture of the sequence, or the very first one if none can be read, as an FFmpeg input whose
 * stream describes the pictures' format. The caller closes *input. Returns 0, or -1 with err. */
int pictures_open_first(struct pictures *pictures, AVFormatContext **input, struct error *err);
/* Stores the number of the sequence's pictures, and its duration, in `stream`, the stream of the input which
 * pictures_open_first opened. That input is only one picture of the sequence, so FFmpeg cannot know either. */
void pictures_describe(const struct pictures *pictures, AVStream *stream);

/* Reads the next readable picture, as a packet of stream 0. Its pts is the picture's position in the sequence: the
 * number in its name minus the first picture's or, for a glob, its index in the list. Returns 0 or an FFmpeg code;
 * AVERROR_EOF at the end. */
int pictures_read(struct pictures *pictures, AVPacket *packet);
/* Returns the codec of the picture that was read last, by its content: a name may end in .png and hold a JPEG. */
enum AVCodecID pictures_codec(const struct pictures *pictures);
/* Returns the number by which --range and --shard name the picture at this position (packet.pts): the position plus the
 * number in the first picture's name, if names have numbers. This is the inverse of pictures_place. */
long pictures_number_at(const struct pictures *pictures, int64_t place);
/* True if the options (step, step_from) ask for the picture of this number; pictures_read leaves out the others. */
bool pictures_are_wanted(const struct source_options *options, long number);
/* Makes pictures_read continue with the first picture whose position (packet.pts) is at least `time`. */
void pictures_seek(struct pictures *pictures, int64_t time);
/* Records that the decoder has given out the picture with this pts. */
void pictures_note_given(struct pictures *pictures, int64_t time);

/* True if the picture at this position in the sequence (packet.pts) has a number in its file name, which is stored in
 * *number. */
bool pictures_number(const struct pictures *pictures, int64_t time, int *number);
/* Finds the numbers of the first and last picture in the part that `options` ask for, which has at most `most` pictures
 * (0: no limit). Returns false if that part has no pictures, or the pictures have no numbers. */
bool pictures_part(const struct pictures *pictures, const struct source_options *options, long most, int *first,
                   int *last);
/* Returns the end of a part of the sequence, in units of `tick` seconds. begin: the part's beginning, in the same
 * unit; duration: its length in seconds (0: it lasts to the end of the sequence). */
int64_t pictures_end_of_part(int64_t begin, double duration, AVRational tick);
/* Returns the sequence's pictures per second. */
AVRational pictures_rate(const struct source_options *options);
/* Returns the position (packet.pts) of the last picture in the sequence, plus 1. */
int64_t pictures_end(const struct pictures *pictures);
/* Returns the position (packet.pts) of the picture with this number, which need not exist; at least 0. If names have no
 * numbers, `number` itself is the position. */
int64_t pictures_place(const struct pictures *pictures, long number);
/* Finds the first picture whose position (packet.pts) is at least `from`, goes `count` pictures further, and stores
 * that picture's position in *place. Returns false if the sequence has too few pictures. */
bool pictures_after(const struct pictures *pictures, int64_t from, long count, int64_t *place);

/* Checks that all pictures with positions (packet.pts) from `begin` to `end` - 1 existed and were decoded. Returns 0,
 * or -1 with err, which names the missing and damaged pictures. ended: true: the decoder has given out all pictures
 * that it held. */
int pictures_check(const struct pictures *pictures, int64_t begin, int64_t end, bool ended, struct error *err);

/* --- file names with a number in them --- */

/* Writes a glob that matches all names of the pattern, and some others. number_at: gets the offset of the number in
 * these names. Returns false if the glob needs more than `size` bytes. */
bool pictures_glob(const char *pattern, char *globbed, size_t size, size_t *number_at);
/* Returns the number that makes the pattern equal to this path when it replaces the pattern's %d; -1: there is none.
 * number_at: offset of the number in the path, from pictures_glob. */
long pictures_number_of(const char *path, const char *pattern, size_t number_at);
/* True if `path` is a glob in the form that FFmpeg's demuxer of pictures reads, with a "%" before each wildcard ("%*").
 * Stores the glob without these in `globbed`, which has room for `size` bytes. */
bool pictures_unmark_glob(const char *path, char *globbed, size_t size);

#endif
