#include "unet/base/address.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "unet/base/text.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char scheme_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
static const char digits[] = "0123456789", blanks[] = " \t\r\n";
/* The text that is shown in place of a secret part of a path. */
static const char dots[] = "...";

/* Schemes that FFmpeg accepts without "//" after the colon. */
static const char *const networks[] = {"amqp",   "ftp",  "gopher", "gophers", "http",  "httpproxy", "https", "icecast",
                                       "mmsh",   "mmst", "rist",   "rtmp",    "rtmpe", "rtmps",     "rtmpt", "rtmpte",
                                       "rtmpts", "rtp",  "rtsp",   "rtsps",   "satip", "sctp",      "sftp",  "smb",
                                       "srt",    "srtp", "tcp",    "tls",     "udp",   "udplite"};

/* Schemes of files and devices, which need no "//". */
static const char *const local[] = {"av", "file", "tv"};

/* Schemes whose options follow '?' directly after the port, without a path. */
static const char *const bare[] = {"amqp", "rist", "rtp", "sctp", "srt", "srtp", "tcp", "tls", "udp", "udplite"};

/* A part of a longer text, given by its first character and its length in bytes. */
struct piece {
  const char *at;
  size_t length;
};

/* The parts of an address as the user typed it; they may contain passwords. */
struct address {
  struct piece scheme, host, path;
  /* true: text before the host was taken for a password and left out of `host`, although FFmpeg would have read it as
   * the host */
  bool guessed;
};

struct writer {
  char *at;
  size_t used, size;
};

static void put(struct writer *out, const char *bytes, size_t length) {
  size_t room = out->size - 1 - out->used;
  length = length < room ? length : room;
  memcpy(out->at + out->used, bytes, length);
  out->used += length;
  out->at[out->used] = 0;
}

static const char *until(const char *from, const char *end, const char *set) {
  while (from < end && !strchr(set, *from))
    from++;
  return from;
}

/* --- finding where an address begins in a text --- */

static bool is_listed(const char *const *names, size_t count, struct piece scheme) {
  for (size_t i = 0; i < count; i++)
    if (strlen(names[i]) == scheme.length && !strncasecmp(names[i], scheme.at, scheme.length))
      return true;
  return false;
}

static bool is_network(struct piece scheme) {
  return is_listed(networks, sizeof networks / sizeof *networks, scheme);
}

static bool is_local(struct piece scheme) {
  return is_listed(local, sizeof local / sizeof *local, scheme);
}

static bool is_bare(struct piece scheme) {
  return is_listed(bare, sizeof bare / sizeof *bare, scheme);
}

static bool is_rtmp(struct piece scheme) {
  return scheme.length >= 4 && !strncasecmp(scheme.at, "rtmp", 4);
}

/* Skips backslashes, which precede special characters in a filter graph. */
static const char *skip_backslashes(const char *at) {
  return at + strspn(at, "\\");
}

/* Returns the text after the scheme's colon and slashes; NULL if no address begins at `word`. *scheme becomes the part
 * of `word` that may be a scheme. */
static const char *begin_address(const char *word, struct piece *scheme) {
  size_t length = strspn(word, scheme_characters);
  *scheme = (struct piece){word, length};
  const char *colon = skip_backslashes(word + length);
  if (!length || !strchr(letters, *word) || *colon != ':' || is_local(*scheme))
    return NULL;
  const char *one = skip_backslashes(colon + 1), *two = skip_backslashes(one + (*one == '/'));
  if (*one == '/' && *two == '/')
    return two + 1;
  bool follows = *one && !strchr(blanks, *one);
  return is_network(*scheme) && follows ? one + (*one == '/') : NULL;
}

/* Finds the next word at which an address begins, from `from` on and before `end`. Returns its beginning, or NULL if
 * there is none. *behind becomes the text after the address's scheme, colon and slashes. */
static const char *find_address(const char *from, const char *end, struct piece *scheme, const char **behind) {
  for (const char *at = from; at < end;) {
    size_t length = strspn(at, scheme_characters);
    if ((*behind = begin_address(at, scheme)) && *behind <= end)
      return at;
    at += length ? length : 1;
  }
  return NULL;
}

/* --- finding where an address ends --- */

/* Returns true if the text is a host with or without a port, as FFmpeg reads them. */
static bool is_place(const char *at, size_t length) {
  const char *bracket = *at == '[' ? memchr(at, ']', length) : NULL;
  const char *from = bracket ? bracket : at;
  const char *colon = memchr(from, ':', length - (size_t)(from - at));
  return !colon || strspn(colon + 1, digits) >= (size_t)(at + length - colon - 1);
}

/* Returns the end of a word; the search begins at `from`. before: the character that precedes the word. If it is a
 * quote character, the word ends at the next such quote that no letter or digit follows. Otherwise, or if there is no
 * such quote, the word ends at the next blank, without punctuation marks that directly precede the blank. */
static const char *end_of_word(const char *from, char before) {
  const char *end = from + strcspn(from, blanks);
  const char *quote = before == '\'' || before == '"' ? strchr(from, before) : NULL;
  for (const char *next = quote; next && isalnum((unsigned char)next[1]); next = strchr(next + 1, before))
    quote = strchr(next + 1, before); /* a letter or digit follows the quote, so that the quote does not end the word
                                       * but is part of a password */
  if (quote)
    return quote;
  while (end > from && strchr(":,.;)", end[-1]) && !(end - from > 3 && !memcmp(end - 3, dots, 3)))
    end--;
  return end;
}

/* Returns the quote character before the word that contains the position `at`, or 0 if the word is not quoted. */
static char quote_before(const char *begin, const char *at) {
  while (at > begin && !strchr(blanks, at[-1]))
    if (*--at == '\'' || *at == '"')
      return *at;
  return 0;
}

/* Returns the end of an address within a line. A password may contain blanks: if the text cannot be a host on its own,
 * the address extends to the last '@' before the next address. */
static const char *end_in_line(const char *behind, char before) {
  const char *end = end_of_word(behind, before), *at = NULL, *next, *last = behind + strlen(behind);
  struct piece ignored;
  size_t place = strcspn(behind, "/?#");
  if (place < (size_t)(end - behind) && is_place(behind, place))
    return end;
  const char *after = find_address(end, last, &ignored, &next);
  for (const char *c = end; c < (after ? after : last); c++)
    at = *c == '@' ? c : at;
  return at && !memchr(behind, '@', (size_t)(end - behind)) ? end_of_word(at, 0) : end;
}

/* Returns the end of librtmp's options after the address, which may contain a password: " pubUser=me
 * pubPasswd=secret". */
static const char *skip_options(const char *end) {
  for (;;) {
    const char *word = end + strspn(end, " ");
    size_t name = strspn(word, letters);
    if (word == end || !name || word[name] != '=')
      return end;
    end = word + strcspn(word, blanks);
  }
}

/* --- splitting an address into its parts --- */

static const char *last_of(const char *from, const char *end, char wanted) {
  while (end > from)
    if (*--end == wanted)
      return end;
  return NULL;
}

/* Returns the '@' that ends user and password; NULL: the address has none. place_end and path_end are the ends of host
 * and path, found as if the address were well-formed. They lie inside the password if it contains '/', '?' or '#'; the
 * port is then no number, by which this case is recognised. In doubtful cases more text counts as password. */
static const char *find_login_end(struct piece scheme, const char *from, const char *place_end, const char *path_end,
                                  const char *end) {
  const char *in_place = last_of(from, place_end, '@'), *in_path = last_of(place_end, path_end, '@');
  const char *colon = *from == '[' ? NULL : memchr(from, ':', (size_t)(place_end - from));
  if (in_path && (in_place || colon))
    return in_path;
  if (in_place || in_path)
    return in_place;
  bool may_be_login = colon && path_end == place_end && !is_bare(scheme);
  bool is_login = !is_place(from, (size_t)(place_end - from));
  return is_login || may_be_login ? last_of(path_end, end, '@') : NULL;
}

/* Returns true if the host is an IPv6 address without its brackets. */
static bool is_bare_v6(struct piece host) {
  size_t colons = 0;
  for (size_t i = 0; i < host.length; i++) {
    colons += host.at[i] == ':';
    if (!isxdigit((unsigned char)host.at[i]) && !strchr(":.", host.at[i]))
      return false;
  }
  return colons > 1;
}

/* Removes a port that is no number, because it may be a password. */
static struct piece drop_wrong_port(struct piece host) {
  const char *colon = host.length ? memchr(host.at, ':', host.length) : NULL;
  if (colon && !is_place(host.at, host.length) && !is_bare_v6(host))
    host.length = (size_t)(colon - host.at);
  return host;
}

static struct address read_address(struct piece scheme, const char *from, const char *end) {
  const char *place_end = until(from, end, "/?#"), *path_end = until(place_end, end, "?#");
  const char *login = find_login_end(scheme, from, place_end, path_end, end);
  bool shown_so = login && login - from == 3 && !memcmp(from, dots, 3);
  bool guessed = shown_so || (login && login >= place_end);
  if (login) {
    from = login + 1;
    place_end = until(from, end, "/?#");
    path_end = until(place_end, end, "?#");
  }
  return (struct address){.scheme = scheme,
                          .host = drop_wrong_port((struct piece){from, (size_t)(place_end - from)}),
                          .path = {place_end, (size_t)(path_end - place_end)},
                          .guessed = guessed};
}

/* --- writing a text with its addresses' passwords left out --- */

/* Writes an RTMP path without its last part, which is a secret stream key, and without the slashes after it. */
static void put_rtmp_path(struct writer *out, struct piece path) {
  size_t length = path.length;
  while (length && path.at[length - 1] == '/')
    length--;
  const char *slash = last_of(path.at, path.at + length, '/');
  if (!slash) {
    put(out, path.at, path.length);
    return;
  }
  put(out, path.at, (size_t)(slash + 1 - path.at));
  put(out, dots, strlen(dots));
}

static void put_address(struct writer *out, const struct address *address) {
  put(out, address->scheme.at, address->scheme.length);
  put(out, "://", 3);
  if (address->guessed)
    put(out, "...@", 4);
  put(out, address->host.at, address->host.length);
  if (is_rtmp(address->scheme))
    put_rtmp_path(out, address->path);
  else
    put(out, address->path.at, address->path.length);
}

/* Returns the end of an address in a text, at most `end`. behind: first byte after the "://" of the address. If the
 * path contains a second address, the first one ends there, because each address is shown on its own. The text after
 * '?' or '#' is not searched for a second address. */
static const char *end_before_next(const char *behind, const char *end) {
  struct piece scheme;
  const char *ignored, *place_end = until(behind, end, "/?#"), *path_end = until(place_end, end, "?#");
  const char *next = find_address(place_end, path_end, &scheme, &ignored);
  return next ? next : end;
}

/* Copies an address from a filter graph to `buffer` without its backslashes. */
static struct piece without_backslashes(char *buffer, size_t size, const char *from, const char *end) {
  size_t length = 0;
  for (; from < end && length + 1 < size; from++)
    if (*from != '\\')
      buffer[length++] = *from;
  buffer[length] = 0;
  return (struct piece){buffer, length};
}

static void put_shown(struct writer *out, struct piece scheme, const char *behind, const char *end) {
  char plain[4096];
  bool escaped = scheme.at[scheme.length] == '\\';
  struct piece rest = {behind, (size_t)(end - behind)};
  if (escaped)
    rest = without_backslashes(plain, sizeof plain, behind, end);
  const struct address address = read_address(scheme, rest.at, rest.at + rest.length);
  put_address(out, &address);
}

/* Writes `text` to `out` without its secrets. line: true if other words may follow an address in the text; false if an
 * address extends to the end of the text. */
static void conceal(struct writer *out, const char *text, bool line) {
  const char *begin = text, *end = text + strlen(text), *at, *behind;
  struct piece scheme;
  while ((at = find_address(text, end, &scheme, &behind))) {
    put(out, text, (size_t)(at - text));
    const char *whole = line ? end_in_line(behind, quote_before(begin, at)) : end;
    const char *stop = end_before_next(behind, whole);
    put_shown(out, scheme, behind, stop);
    text = line && stop == whole && is_rtmp(scheme) ? skip_options(stop) : stop;
  }
  put(out, text, strlen(text));
}

struct shown address_shown(const char *spec) {
  struct shown shown = {""};
  struct writer out = {shown.text, 0, sizeof shown.text};
  conceal(&out, spec, false);
  return shown;
}

struct shown address_name(const char *spec) {
  struct shown shown = address_shown(spec), part = {""};
  struct piece ignored;
  const char *behind, *from = shown.text;
  if (find_address(from, from + strlen(from), &ignored, &behind))
    return shown;
  snprintf(part.text, sizeof part.text, "%s", text_last_part(spec));
  return part;
}

char *address_conceal(char *text, size_t size) {
  char line[4096];
  struct writer out = {line, 0, sizeof line};
  struct piece ignored;
  const char *behind;
  if (!find_address(text, text + strlen(text), &ignored, &behind))
    return text;
  line[0] = 0;
  conceal(&out, text, true);
  snprintf(text, size, "%s", line);
  return text;
}

bool address_is(const char *text) {
  struct piece ignored;
  return begin_address(text, &ignored) != NULL;
}
