/* Reads weights and BREAK in a prompt. Spans are added from left to right; a closing bracket multiplies the weights of
 * all spans since its opening bracket. */
#include "unet/text/syntax.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static const double round_weight = 1.1, square_weight = 1 / 1.1;

struct reader {
  const char *text;
  size_t length, at;
  struct spans *spans;
  bool *plain; /* for each byte of the text: true if it is a bracket that is read as text, not as syntax */
  /* For each open round or square bracket: index of the first span inside it. */
  int *round, *square;
  int rounds, squares;
  bool failed;
};

static bool is_special(char c) {
  return c && strchr("\\()[]:", c);
}

/* --- finding keywords such as BREAK in the prompt --- */

static bool is_word(const char *at, size_t length) {
  utf8proc_int32_t c;
  if (!length || (unsigned char)*at < 0x80)
    return length && (isalnum((unsigned char)*at) || *at == '_');
  if (utf8proc_iterate((const utf8proc_uint8_t *)at, (utf8proc_ssize_t)length, &c) < 0)
    return false;
  utf8proc_category_t category = utf8proc_category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/* Returns true if the character before `at` is a letter, a digit or an underscore. */
static bool is_word_before(const char *text, size_t at) {
  size_t from = at;
  while (from && at - from < 4) {
    from--;
    if (((unsigned char)text[from] & 0xC0) != 0x80)
      break;
  }
  return at && is_word(text + from, at - from);
}

/* Returns the position of the next `word` that stands alone, without letters, digits or underscores next to it, from
 * `at` on. Returns `length` if there is none. */
static size_t find_word(const char *text, size_t length, size_t at, const char *word) {
  size_t size = strlen(word);
  for (; at + size <= length; at++)
    if (!memcmp(text + at, word, size) && !is_word_before(text, at) && !is_word(text + at + size, length - at - size))
      return at;
  return length;
}

/* --- adding spans (text with one weight) to the result --- */

static void add_span(struct reader *r, const char *text, size_t length, bool ends_chunk) {
  struct spans *s = r->spans;
  if (s->count == s->room) {
    int room = 2 * s->room + 16;
    struct span *list = realloc(s->list, (size_t)room * sizeof *list);
    r->failed |= !list;
    if (!list)
      return;
    s->list = list;
    s->room = room;
  }
  size_t start = s->count ? s->list[s->count - 1].start + s->list[s->count - 1].length : 0;
  memcpy(s->text + start, text, length);
  s->list[s->count++] = (struct span){start, length, 1, ends_chunk};
}

static void add_text(struct reader *r, size_t from, size_t to) {
  add_span(r, r->text + from, to - from, false);
}

static void weigh(struct reader *r, int first, double weight) {
  for (int i = first; i < r->spans->count; i++)
    r->spans->list[i].weight *= weight;
}

/* Adds text without brackets, which may contain BREAK. */
static void add_words(struct reader *r, size_t from, size_t to) {
  for (;;) {
    size_t found = find_word(r->text, to, from, "BREAK"), end = found, next = found + strlen("BREAK");
    if (found == to)
      break;
    while (end > from && isspace((unsigned char)r->text[end - 1]))
      end--;
    while (next < to && isspace((unsigned char)r->text[next]))
      next++;
    add_text(r, from, end);
    add_span(r, "", 0, true);
    from = next;
  }
  add_text(r, from, to);
}

/* --- square brackets that have a meaning in AUTOMATIC1111, and are plain text here --- */

/* An open square bracket that may be a schedule, [a:b:0.5], or an alternation, [a|b], as in AUTOMATIC1111's
 * interface. */
struct editing {
  /* at: position of the bracket; colon: position of the last colon directly inside it, or `at` if there is none */
  size_t at, colon;
  int depth; /* number of round brackets that are open around this square bracket */
  bool bar;  /* true: there is a | directly inside the bracket */
};

static bool is_number(const char *text, size_t length) {
  size_t digits = 0, dots = 0, at = length && strchr("+-", *text) ? 1 : 0;
  for (; at < length; at++) {
    digits += isdigit((unsigned char)text[at]) != 0;
    dots += text[at] == '.';
    if (!isdigit((unsigned char)text[at]) && text[at] != '.')
      return false;
  }
  return digits && dots < 2;
}

/* Returns true if the text consists of one number, with or without spaces around it. */
static bool is_lone_number(const char *text, size_t length) {
  while (length && isspace((unsigned char)*text))
    text++, length--;
  while (length && isspace((unsigned char)text[length - 1]))
    length--;
  return is_number(text, length);
}

static void close_editing(struct reader *r, const struct editing *e, size_t at) {
  bool schedule = e->colon > e->at && is_lone_number(r->text + e->colon + 1, at - e->colon - 1);
  if (!schedule && !e->bar)
    return;
  r->plain[e->at] = r->plain[at] = true;
  r->spans->notes |= e->bar ? NOTE_ALTERNATION : NOTE_SCHEDULE;
}

static void look_at(struct editing *top, size_t at, char c, int depth) {
  if (top->depth != depth)
    return;
  if (c == ':')
    top->colon = at;
  top->bar |= c == '|';
}

/* Marks the brackets of schedules, [a:b:0.5], and of alternations, [a|b], so that they are read as text. */
static void find_editing(struct reader *r, struct editing *open) {
  int count = 0, depth = 0;
  for (size_t at = 0; at < r->length; at++) {
    char c = r->text[at];
    if (c == '\\' && at + 1 < r->length && is_special(r->text[at + 1]) && r->text[at + 1] != ':')
      at++;
    else if (c == '[')
      open[count++] = (struct editing){at, at, depth, false};
    else if (c == ']' && count)
      close_editing(r, &open[--count], at);
    else if (c == '(' || c == ')')
      depth += c == '(' ? 1 : -1;
    else if (count)
      look_at(&open[count - 1], at, c, depth);
  }
}

/* --- reading the prompt from left to right --- */

/* Matches ": number )", beginning at a colon, and returns its length in bytes; 0: the text does not match. The number
 * is at [*from, *to). */
static size_t match_weight(const char *text, size_t *from, size_t *to) {
  size_t at = 1;
  while (isspace((unsigned char)text[at]))
    at++;
  *from = at;
  at += text[at] == '+' || text[at] == '-';
  size_t digits = strspn(text + at, ".0123456789");
  *to = at += digits;
  while (isspace((unsigned char)text[at]))
    at++;
  return digits && text[at] == ')' ? at + 1 : 0;
}

/* Returns true if the text between a colon and a closing bracket begins like a number. */
static bool is_near_number(const char *text) {
  char *end;
  while (isspace((unsigned char)*text))
    text++;
  if (text[strcspn(text, "\\()[]: ")] != ')')
    return false;
  strtod(text, &end);
  return end > text;
}

static void read_colon(struct reader *r) {
  size_t from, to;
  const char *text = r->text + r->at;
  size_t matched = match_weight(text, &from, &to);
  bool number = matched && is_number(text + from, to - from);
  if (number && r->rounds) {
    weigh(r, r->round[--r->rounds], strtod(text + from, NULL));
  } else if (number) {
    add_text(r, r->at, r->at + matched);
  } else {
    if (r->rounds && (matched || is_near_number(text + 1)))
      r->spans->notes |= NOTE_NUMBER;
    add_text(r, r->at, r->at + 1);
    matched = 1;
  }
  r->at += matched;
}

static void read_backslash(struct reader *r) {
  char next = r->text[r->at + 1];
  bool escapes = is_special(next) && next != ':';
  add_text(r, r->at + 1, r->at + 1 + escapes);
  r->at += 1 + (size_t)escapes;
}

static void read_bracket(struct reader *r) {
  char c = r->text[r->at];
  if (r->plain[r->at])
    add_text(r, r->at, r->at + 1);
  else if (c == '(')
    r->round[r->rounds++] = r->spans->count;
  else if (c == '[')
    r->square[r->squares++] = r->spans->count;
  else if (c == ')' && r->rounds)
    weigh(r, r->round[--r->rounds], round_weight);
  else if (c == ']' && r->squares)
    weigh(r, r->square[--r->squares], square_weight);
  else
    add_text(r, r->at, r->at + 1);
  r->at++;
}

static void read_words(struct reader *r) {
  size_t end = r->at + strcspn(r->text + r->at, "\\()[]:");
  add_words(r, r->at, end);
  r->at = end;
}

static void read_all(struct reader *r) {
  while (r->at < r->length && !r->failed) {
    char c = r->text[r->at];
    if (c == '\\')
      read_backslash(r);
    else if (c == ':')
      read_colon(r);
    else if (is_special(c))
      read_bracket(r);
    else
      read_words(r);
  }
  for (int i = 0; i < r->rounds; i++)
    weigh(r, r->round[i], round_weight);
  for (int i = 0; i < r->squares; i++)
    weigh(r, r->square[i], square_weight);
}

/* --- finishing the list of spans (pieces of the prompt with one weight each) --- */

static double within_range(double weight, unsigned *notes) {
  if (fabs(weight) <= SYNTAX_WEIGHT_MAX)
    return weight;
  *notes |= NOTE_RANGE;
  return isnan(weight) ? 1 : copysign(SYNTAX_WEIGHT_MAX, weight);
}

static void merge(struct spans *s) {
  int count = 0;
  for (int i = 0; i < s->count; i++) {
    struct span *last = &s->list[count ? count - 1 : 0], *span = &s->list[i];
    if (count && !last->ends_chunk && !span->ends_chunk && last->weight == span->weight)
      last->length += span->length;
    else
      s->list[count++] = *span;
  }
  s->count = count;
}

static void finish(struct reader *r) {
  struct spans *s = r->spans;
  if (!s->count)
    add_span(r, "", 0, false);
  for (int i = 0; i < s->count; i++)
    s->list[i].weight = s->list[i].ends_chunk ? 1 : within_range(s->list[i].weight, &s->notes);
  merge(s);
  if (find_word(r->text, r->length, 0, "AND") < r->length)
    s->notes |= NOTE_AND;
}

int spans_read(struct spans *spans, const char *text) {
  struct reader r = {.text = text, .length = strlen(text), .spans = spans};
  struct editing *open = malloc((r.length + 1) * sizeof *open);
  *spans = (struct spans){.text = malloc(r.length + 1)};
  r.plain = calloc(r.length + 1, sizeof *r.plain);
  r.round = malloc((r.length + 1) * sizeof *r.round);
  r.square = malloc((r.length + 1) * sizeof *r.square);
  r.failed = !open || !spans->text || !r.plain || !r.round || !r.square;
  if (!r.failed) {
    find_editing(&r, open);
    read_all(&r);
    finish(&r);
  }
  free(open);
  free(r.plain);
  free(r.round);
  free(r.square);
  if (r.failed)
    spans_free(spans);
  return r.failed ? -1 : 0;
}

void spans_free(struct spans *spans) {
  free(spans->text);
  free(spans->list);
  *spans = (struct spans){0};
}

const char *syntax_note_text(enum syntax_note note) {
  switch (note) {
  case NOTE_SCHEDULE:
    return "[a:b:0.5] is plain text here: prompts do not change from step to step";
  case NOTE_ALTERNATION:
    return "[a|b] is plain text here: prompts do not change from step to step";
  case NOTE_AND:
    return "AND is a word here: it does not combine prompts";
  case NOTE_NUMBER:
    return "what stands for a weight is no plain decimal number, as in (word:1.2), and is read as text";
  default:
    return "a weight is beyond -10 to 10, and is taken as the end of that range";
  }
}
