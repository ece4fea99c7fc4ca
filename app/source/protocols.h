/* Restricts what an input may open by itself. Playlists, manifests and session descriptions name files and servers, and
 * were not written by the user who typed the command. */
#ifndef APP_SOURCE_PROTOCOLS_H
#define APP_SOURCE_PROTOCOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

enum { PROTOCOLS_MAX = 4096, OPENINGS_MAX = 400, OPENINGS_SAME_MAX = 8 };

/* Returns the value of FFmpeg's option protocol_whitelist for an input: the input's own protocol and those that this
 * one needs. A file may name files, a server's input stays with its protocols, and input through a pipe may name
 * nothing. buffer holds PROTOCOLS_MAX characters. */
const char *protocols_for(const char *url, char *buffer);

/* Returns the protocol_whitelist for input through a pipe. */
const char *protocols_for_pipe(void);

/* Returns a file's URL or path as a path: what follows "file:". */
const char *file_path(const char *url);

/* True if the URL is the path of a local file. */
bool protocols_is_file(const char *url);

/* True if the URL is read over a network, so that it may be there later or again. */
bool protocols_is_network(const char *url);

/* True if the URL is an address of this machine to which others send when they like. */
bool protocols_listens(const char *url);

/* The function for AVFormatContext.io_open of a local file: it only opens regular files in the same folder or below,
 * after following links. */
int protocols_open_below(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);

/* Counts the URLs that FFmpeg opens while it opens an input, and refuses them beyond a limit. A playlist that names
 * itself, or endless lists, would keep FFmpeg opening files for ever. */
struct openings {
  int (*open)(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);
  uint64_t seen[OPENINGS_MAX]; /* hash of each URL */
  int count;
  bool exceeded; /* a URL was refused */
};

/* Replaces the input's io_open until openings_end. The struct must not move until then. */
void openings_begin(struct openings *openings, AVFormatContext *input);
/* Gives the input its own io_open back. Accepts NULL: opening failed and the input is gone. */
void openings_end(const struct openings *openings, AVFormatContext *input);

/* Returns FFmpeg's format_whitelist for a list of files, because FFmpeg opens these without protocols_open_below: the
 * list's own format, and all others except playlists and devices. NULL: out of memory. The caller frees it with
 * av_free. */
char *protocols_formats_within(const AVInputFormat *format);

/* Returns the end of an error message about an input of this format: why something that it names may not have been
 * opened; "" if the format names nothing. format may be NULL. */
const char *protocols_hint(const AVInputFormat *format);

#endif
