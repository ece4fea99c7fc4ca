/* What opening an input may open in turn. A playlist, a manifest or a session description names files and servers of
 * its own, and was not written by the user who typed the command. */
#ifndef APP_SOURCE_PROTOCOLS_H
#define APP_SOURCE_PROTOCOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

enum { PROTOCOLS_MAX = 4096, OPENINGS_MAX = 400, OPENINGS_SAME_MAX = 8 };

/* FFmpeg's protocol_whitelist for an input of this URL or path: its own protocol and what that needs. What a file names
 * are files, what comes from a server stays with its protocols, what comes through a pipe names nothing. buffer
 * holds PROTOCOLS_MAX characters. */
const char *protocols_for(const char *url, char *buffer);

/* Those of what is read through a pipe. */
const char *protocols_for_pipe(void);

/* A file's URL or path as a path: what follows "file:". */
const char *file_path(const char *url);

/* Whether the URL is the path of a local file. */
bool protocols_is_file(const char *url);

/* Whether what the URL names comes over a network: it may be there later, or again. */
bool protocols_is_network(const char *url);

/* Whether the URL names a place of this machine where others send to, when they like. */
bool protocols_listens(const char *url);

/* For AVFormatContext.io_open where the input is a local file: whatever else is opened for it lies in its folder or
 * below, with links followed, and is a regular file. */
int protocols_open_beside(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);

/* What is opened for an input while that is being opened. A playlist that names itself, or names lists without end,
 * would have FFmpeg open them for ever. */
struct openings {
  int (*open)(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);
  uint64_t seen[OPENINGS_MAX]; /* a number for each URL */
  int count;
  bool exceeded; /* something was refused */
};

/* Puts itself in the place of the input's io_open, until openings_end, before which openings must stay where it is. */
void openings_begin(struct openings *openings, AVFormatContext *input);
void openings_end(const struct openings *openings, AVFormatContext *input); /* takes NULL: the input is gone */

/* FFmpeg's format_whitelist for a list of files, whose inputs FFmpeg opens without asking protocols_open_beside: its
 * own format and all but playlists and devices, which FFmpeg knows or not, as others need them. NULL: no memory; the
 * caller frees it with av_free. */
char *protocols_formats_within(const AVInputFormat *format);

/* The end of an error line about an input of this format: why what it names may not have been opened. "" where inputs
 * of the format name nothing. NULL is no format. */
const char *protocols_hint(const AVInputFormat *format);

#endif
