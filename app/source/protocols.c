#include "app/source/protocols.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/bprint.h>

#include "app/platform/app_platform.h"
#include "app/source/device_wishes.h"

#define INSIDE "crypto,data" /* FFmpeg's protocols whose URLs contain another URL, or the data instead of an address */
#define WEB "http,https,httpproxy,tls,tcp," INSIDE

/* URL schemes whose inputs need further FFmpeg protocols besides their own. */
static const struct {
  const char *scheme, *needs;
} needs[] = {
    {"file", INSIDE},
    {"concat", "file,subfile," INSIDE},
    {"concatf", "concat,file,subfile," INSIDE},
    {"subfile", "file," INSIDE},
    {"http", WEB},
    {"https", WEB},
    {"hls", WEB},
    {"dash", WEB},
    {"httpproxy", WEB},
    {"mmsh", WEB},
    {"ipfs", "ipns," WEB},
    {"ipns", "ipfs," WEB},
    {"mmst", "tcp"},
    {"ftp", "tcp"},
    {"gopher", "tcp"},
    {"gophers", "tls,tcp"},
    {"tls", "tcp"},
    {"rtp", "udp"},
    {"srtp", "rtp,udp"},
    {"sdp", "rtp,srtp,udp"},
    {"rtsp", "rtp,srtp,udp," WEB},
    {"rtsps", "rtp,srtp,udp," WEB},
    {"satip", "rtp,srtp,udp," WEB},
    {"rtmp", "tcp"},
    {"rtmpe", "ffrtmpcrypt,tcp"},
    {"rtmps", "tls,tcp"},
    {"rtmpt", "ffrtmphttp," WEB},
    {"rtmpte", "ffrtmpcrypt,ffrtmphttp," WEB},
    {"rtmpts", "ffrtmphttp," WEB},
};

/* Protocols whose URLs contain another URL, so that the user has typed both schemes: "cache:http://...",
 * "crypto+file:...". */
static const char *const wrappers[] = {"async", "cache", "crypto"};

static bool is_wrapper(const char *scheme) {
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
    if (!strcmp(wrappers[i], scheme))
      return true;
  return false;
}

/* Stores the URL's scheme, and returns the rest of the URL. If the URL does not begin with letters or digits and a ':',
 * it is a path: the scheme is "file", and the rest is the whole URL. */
static const char *split(const char *url, char scheme[32]) {
  size_t length = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
  bool named = url[length] == ':' || (url[length] == ',' && !strncmp(url, "subfile", length)) ||
               (url[length] == '+' && strchr(url + length, ':'));
  if (!length || length >= 32 || !named) {
    strcpy(scheme, "file");
    return url;
  }
  snprintf(scheme, 32, "%.*s", (int)length, url);
  return url + length + 1;
}

static const char *needs_of(const char *scheme) {
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (!strcmp(needs[i].scheme, scheme))
      return needs[i].needs;
  return INSIDE;
}

const char *protocols_for(const char *url, char *buffer) {
  char scheme[32];
  const char *rest = split(url, scheme);
  size_t used = 0;
  while (is_wrapper(scheme) && used < PROTOCOLS_MAX / 2) {
    used += (size_t)snprintf(buffer + used, PROTOCOLS_MAX - used, "%s,", scheme);
    rest = split(rest, scheme);
  }
  snprintf(buffer + used, PROTOCOLS_MAX - used, "%s,%s", scheme, needs_of(scheme));
  return buffer;
}

const char *protocols_for_pipe(void) {
  return INSIDE;
}

/* Returns the path in a URL of a local file; NULL: the URL names no local file. */
static const char *path_of(const char *url) {
  char scheme[32];
  const char *rest = split(url, scheme);
  while (!strcmp(scheme, "crypto")) {
    url = rest;
    rest = split(url, scheme);
  }
  return strcmp(scheme, "file") ? NULL : file_path(url);
}

const char *file_path(const char *url) {
  return strncmp(url, "file:", 5) ? url : url + 5;
}

bool protocols_is_file(const char *url) {
  return path_of(url) != NULL;
}

bool protocols_listens(const char *url) {
  static const char *const schemes[] = {"udp", "udplite", "rtp", "rist"};
  char scheme[32];
  const char *asked = strchr(url, '?');
  split(url, scheme);
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (!strcmp(scheme, schemes[i]))
      return true;
  return asked && protocols_is_network(url) && strstr(asked, "listen");
}

bool protocols_is_network(const char *url) {
  static const char *const alone[] = {"tcp", "udp", "udplite", "srt", "sctp", "unix", "rist", "zmq"};
  char scheme[32];
  const char *rest = split(url, scheme);
  while (is_wrapper(scheme))
    rest = split(rest, scheme);
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    if (!strcmp(scheme, alone[i]))
      return true;
  const char *needed = needs_of(scheme);
  return strstr(needed, "tcp") || strstr(needed, "udp");
}

static bool lies_below(const char *path, const char *playlist) {
  char named[PATH_MAX];
  const char *slash = strrchr(playlist, '/');
  snprintf(named, sizeof named, "%.*s", slash ? (int)(slash + 1 - playlist) : 1, slash ? playlist : ".");
  char *folder = platform_real_path(named), *whole = platform_real_path(path);
  size_t length = folder && strcmp(folder, "/") ? strlen(folder) : 0;
  bool below = folder && whole && platform_is_file(whole) && !strncmp(whole, folder, length) && whole[length] == '/';
  free(folder);
  free(whole);
  return below;
}

int protocols_open_below(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
  AVDictionary *own = NULL, **all = options ? options : &own;
  const char *path = path_of(url);
  if (strcmp(url, input->url) && path && !lies_below(path, file_path(input->url)))
    return AVERROR(EACCES);
  av_dict_set(all, "protocol_whitelist", input->protocol_whitelist, 0);
  int code = avio_open2(io, url, flags, &input->interrupt_callback, all);
  av_dict_free(&own);
  return code;
}

static uint64_t number_of(const char *url) {
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, a hash of the URL */
  for (; *url; url++)
    hash = (hash ^ (unsigned char)*url) * UINT64_C(1099511628211);
  return hash;
}

/* True if this URL may be opened, and counts the opening. At most OPENINGS_MAX openings are allowed in all, and at
 * most OPENINGS_SAME_MAX of one URL, which a playlist may name again for each sound track. */
static bool may_open(struct openings *openings, const char *url) {
  uint64_t number = number_of(url);
  int same = 0;
  for (int i = 0; i < openings->count; i++)
    same += openings->seen[i] == number;
  openings->exceeded |= same >= OPENINGS_SAME_MAX || openings->count == OPENINGS_MAX;
  if (same >= OPENINGS_SAME_MAX || openings->count == OPENINGS_MAX)
    return false;
  openings->seen[openings->count++] = number;
  return true;
}

static int open_counted(AVFormatContext *input, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
  struct openings *openings = input->opaque;
  return may_open(openings, url) ? openings->open(input, io, url, flags, options) : AVERROR_INVALIDDATA;
}

void openings_begin(struct openings *openings, AVFormatContext *input) {
  *openings = (struct openings){.open = input->io_open};
  input->opaque = openings;
  input->io_open = open_counted;
}

void openings_end(const struct openings *openings, AVFormatContext *input) {
  if (!input)
    return;
  input->opaque = NULL;
  input->io_open = openings->open;
}

bool protocols_is_playlist(const AVInputFormat *format) {
  static const char *const playlists[] = {"hls", "dash", "concat", "sdp", "imf"};
  for (size_t i = 0; format && i < sizeof playlists / sizeof *playlists; i++)
    if (!strcmp(format->name, playlists[i]))
      return true;
  return false;
}

char *protocols_formats_within(const AVInputFormat *format) {
  AVBPrint list;
  char *names = NULL;
  void *state = NULL;
  const AVInputFormat *other;
  av_bprint_init(&list, 0, AV_BPRINT_SIZE_UNLIMITED);
  av_bprintf(&list, "%s", format->name);
  while ((other = av_demuxer_iterate(&state)))
    if (!protocols_is_playlist(other) && !device_is_input(other))
      av_bprintf(&list, ",%s", other->name);
  return av_bprint_finalize(&list, &names) < 0 ? NULL : names;
}

const char *protocols_hint(const AVInputFormat *format) {
  if (protocols_is_playlist(format))
    return "; a playlist in a file may only name files beside it, one from a pipe nothing, unless --input-options "
           "protocol_whitelist=... allows it";
  return "";
}
