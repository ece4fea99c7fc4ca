/* How people write prompts: (words) and (words:1.2) weigh more or less, [words] less, \( is a bracket itself, and BREAK
 * begins another chunk, as AUTOMATIC1111's web interface has them. */
#ifndef UNET_TEXT_SYNTAX_H
#define UNET_TEXT_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

/* Whatever is written, a weight is within this either way. */
enum { SYNTAX_WEIGHT_MAX = 10 };

/* A stretch of one weight. Each is tokenized by itself. */
struct span {
  size_t start, length; /* in the spans' text */
  double weight;
  bool ends_chunk; /* no text: what follows begins another chunk */
};

/* What is read otherwise than elsewhere, or than its writer may expect: one bit each. */
enum syntax_note {
  NOTE_SCHEDULE = 1,    /* [a:b:0.5] is plain text */
  NOTE_ALTERNATION = 2, /* [a|b] likewise */
  NOTE_AND = 4,         /* AND is a word */
  NOTE_NUMBER = 8,      /* (a:1e3), (a:nan), (a:1.2.3): what stands there for a weight is plain text */
  NOTE_RANGE = 16,      /* a weight was beyond SYNTAX_WEIGHT_MAX, and is that */
  NOTES = 5
};

struct spans {
  char *text; /* without what only marks weights */
  struct span *list;
  int count, room; /* at least one */
  unsigned notes;
};

/* Brackets that nothing closes reach to the end, those that nothing opened are text. Neighbours of one weight are one
 * span. Any text will do, at most INT_MAX / 2 bytes. Returns -1 when memory is short. spans_free must follow a
 * success. */
int spans_read(struct spans *spans, const char *text);
void spans_free(struct spans *spans);

/* A note as a sentence for people. */
const char *syntax_note_text(enum syntax_note note);

#endif
