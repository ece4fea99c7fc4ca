/* The syntax of prompts, as in AUTOMATIC1111's web interface: (words) and (words:1.2) weigh more or less, [words] weigh
 * less, \( is a bracket as text, and BREAK begins a new chunk. */
#ifndef UNET_TEXT_SYNTAX_H
#define UNET_TEXT_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

/* The largest weight, positive or negative; larger ones are limited to it. */
enum { SYNTAX_WEIGHT_MAX = 10 };

/* A part of the prompt's text whose words have one weight. Spans are tokenized separately. */
struct span {
  size_t start, length; /* position and length of the span in spans.text, in bytes */
  double weight;
  bool ends_chunk; /* true: the span has no text, and stands for BREAK: the next span begins a new chunk of tokens */
};

/* Parts of a prompt that are read differently than in AUTOMATIC1111, or than the user may expect, one bit each. */
enum syntax_note {
  NOTE_SCHEDULE = 1,    /* the text has a schedule, [a:b:0.5], which is read as plain text */
  NOTE_ALTERNATION = 2, /* the text has an alternation, [a|b], which is read as plain text */
  NOTE_AND = 4,         /* the text has AND, which is read as a plain word */
  /* the text has a weight that is not a number, as in (a:1e3), (a:nan), (a:1.2.3); it is read as text */
  NOTE_NUMBER = 8,
  NOTE_RANGE = 16, /* a weight was limited to SYNTAX_WEIGHT_MAX */
  NOTES = 5
};

struct spans {
  char *text; /* the text without brackets and weights */
  struct span *list;
  int count, room; /* count: number of spans, at least one; room: number of spans for which memory is allocated */
  unsigned notes;
};

/* Reads a text of at most INT_MAX / 2 bytes; any text is accepted. An unclosed bracket reaches to the end, and a
 * closing bracket without an opening one is text. Neighbouring spans of the same weight are joined. Returns -1 if
 * memory is missing; otherwise the caller calls spans_free. */
int spans_read(struct spans *spans, const char *text);
void spans_free(struct spans *spans);

/* Returns the sentence that tells a user what this note means, such as that a part of the prompt is read as plain
 * text. */
const char *syntax_note_text(enum syntax_note note);

#endif
