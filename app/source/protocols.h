/* Restricts which other files and servers an input may open. Playlists, manifests and session descriptions name files
 * and servers, and were not written by the user who typed the command. */
#ifndef APP_SOURCE_PROTOCOLS_H
#define APP_SOURCE_PROTOCOLS_H

#include <stdbool.h>
#include <stdint.h>

#include <libavformat/avformat.h>

enum { PROTOCOLS_MAX = 4096, OPENINGS_MAX = 400, OPENINGS_SAME_MAX = 8 };

/* Returns FFmpeg's option protocol_whitelist for an input: its URL's protocol, and those that this one needs. So a file
 * may refer to other files, an input from a server can only use the server's protocols, and input through a pipe may
 * refer to nothing. `buffer` holds PROTOCOLS_MAX characters. */
const char *protocols_for(const char *url, char *buffer);

/* Returns the protocol_whitelist for input through a pipe. */
const char *protocols_for_pipe(void);

/* Returns the path that a URL "file:PATH" names; a path is returned as it is. */
const char *file_path(const char *url);

/* True if the URL is the path of a local file. */
bool protocols_is_file(const char *url);

/* True if the URL is read over a network, so that opening it may work later, or again, after a failure. */
bool protocols_is_network(const char *url);

/* True if the URL is an address of this machine at which the program waits for a sender, instead of one that it
 * connects to. */
bool protocols_listens(const char *url);

/* The function for AVFormatContext.io_open of a local file, such as a playlist. Of local files it opens, besides the
 * input itself, only regular ones in the same folder or below (after following links); others give AVERROR(EACCES). It
 * opens other URLs if the input's protocol_whitelist allows them. */
int protocols_open_below(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);

/* Counts the URLs that FFmpeg opens for an input, and refuses further ones beyond a limit. Without it, a playlist that
 * names itself, or an endless list, would make FFmpeg open files for ever. */
struct openings {
  int (*open)(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options);
  uint64_t seen[OPENINGS_MAX]; /* for each URL that was opened: hash of the URL */
  int count;
  bool exceeded; /* true: a URL was refused, because OPENINGS_MAX were opened before */
};

/* Replaces the input's function io_open, which openings_end restores. The struct must not move until then. */
void openings_begin(struct openings *openings, AVFormatContext *input);
/* Restores the input's function io_open, which openings_begin has replaced by another. `input` NULL: opening has failed
 * and the input is freed; does nothing. */
void openings_end(const struct openings *openings, AVFormatContext *input);

/* Returns FFmpeg's format_whitelist for an input that lists files: its own format and all others, except playlists and
 * devices. FFmpeg opens the listed files without protocols_open_below, so this is needed. NULL: out of memory. The
 * caller frees it with av_free. */
char *protocols_formats_within(const AVInputFormat *format);

/* True if inputs of this format name other files or servers. `format` may be NULL. */
bool protocols_is_playlist(const AVInputFormat *format);

/* Returns words to append to an error message about an input of this format: why a file that it refers to may not be
 * opened; "": the format refers to no files. `format` may be NULL. */
const char *protocols_hint(const AVInputFormat *format);

#endif
