/* Address patterns of OSC 1.0: an address with wildcards, which stands for every address that it matches.
 *
 *   ?          any character
 *   *          any characters, or none
 *   [abc] [a-c] [!a-c]
 *              one of these characters, one of this range, one that is neither
 *   {one,two}  one of these words
 *
 * None of them matches "/", so that a pattern has as many parts as the addresses that it matches. "_" matches "-", as
 * in plain addresses. Matching does not go back: its work grows with the length of the pattern times the length of the
 * address, whatever the pattern is. */
#ifndef APP_REMOTE_OSC_PATTERN_H
#define APP_REMOTE_OSC_PATTERN_H

#include "app/remote/osc_names.h"

enum { OSC_PATTERN_MAX = 255 }; /* largest number of bytes of a pattern */

/* A pattern that was parsed: an element for each byte of its text. Its text is borrowed. */
struct osc_pattern {
  const char *text;
  int length;
  struct {
    unsigned char kind; /* what the element matches: a value of enum pattern_kind (osc_pattern.c) */
    int next;           /* index of the element to be matched next if this one matches */
  } element[OSC_PATTERN_MAX + 1];
  int literal; /* number of bytes of the pattern's text before its first wildcard */
};

/* True if the address has a wildcard, so that it is a pattern. */
bool osc_is_pattern(const char *address);
/* Parses a pattern, whose text must outlive *pattern. Returns 0, or -1 with err set: a bracket does not end before the
 * next "/", or the pattern is longer than OSC_PATTERN_MAX. */
int osc_pattern_read(struct osc_pattern *pattern, const char *text, struct error *err);
/* True if the pattern matches the whole address. *work is reduced by the number of elements that were looked at and a
 * few more; once it is negative, the answer is false. */
bool osc_pattern_matches(const struct osc_pattern *pattern, const char *address, long *work);

/* Calls `visit` for each parameter's or command's address that the pattern matches. If the pattern ends in /get or
 * /range, only parameters are compared, with the part before that ending. *work limits the work: it is reduced by the
 * number of elements looked at, and by a few more per address; once it is negative, nothing matches any more. Returns
 * the number of matching addresses. */
int osc_pattern_each(const struct osc_pattern *pattern, long *work, void (*visit)(void *opaque, const char *address),
                     void *opaque);

#endif
