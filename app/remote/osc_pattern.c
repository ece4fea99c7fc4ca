#include "app/remote/osc_pattern.h"

#include <stdio.h>
#include <string.h>

#include "app/control/keys.h"

enum pattern_kind {
  LITERAL, /* matches one byte: the one that the pattern's text has at this index */
  ANY,     /* "?": matches one character other than "/" */
  SPAN,    /* "*": matches any number of characters other than "/", or none */
  CLASS,   /* "[": matches a character that the brackets name; `next`: the element after "]" */
  /* "{": matches no character. The elements of the first word in the braces follow, one word of which must match.
   * `next`: the element after "}" */
  OPEN,
  LEAVE, /* "," or "}" after a word in braces: matches no character; `next`: the element after "}" */
};

/* The work of matching patterns is limited, so it is counted: ADDRESS_WORK for each address compared with a pattern,
 * and 1 for each comparison of a character with an element of the pattern. */
enum { ADDRESS_WORK = 8 };

/* The elements of a pattern that may match the next character, as a list without repetitions. */
struct places {
  int count;
  short at[OSC_PATTERN_MAX + 1];
  bool has[OSC_PATTERN_MAX + 1];
};

bool osc_is_pattern(const char *address) {
  return strpbrk(address, "?*[{") != NULL;
}

/* --- parsing a pattern --- */

/* Returns the index of the byte that closes the bracket at index `at`; -1: this part of the pattern has no such
 * byte. */
static int find_end(const char *text, int at) {
  const char closing = text[at] == '[' ? ']' : '}';
  for (int i = at + 1; text[i] && text[i] != '/'; i++)
    if (text[i] == closing)
      return i;
  return -1;
}

static void put(struct osc_pattern *pattern, int at, enum pattern_kind kind, int next) {
  pattern->element[at].kind = (unsigned char)kind;
  pattern->element[at].next = next;
}

/* Parses the words in braces, from "{" at index `at` to "}" at index `end`. */
static void read_words(struct osc_pattern *pattern, int at, int end) {
  put(pattern, at, OPEN, end + 1);
  for (int i = at + 1; i < end; i++)
    if (pattern->text[i] == ',')
      put(pattern, i, LEAVE, end + 1);
    else
      put(pattern, i, LITERAL, i + 1);
  put(pattern, end, LEAVE, end + 1);
}

int osc_pattern_read(struct osc_pattern *pattern, const char *text, struct error *err) {
  size_t length = strlen(text);
  if (length > OSC_PATTERN_MAX)
    return error_set(err, STATUS_USAGE, "a pattern of at most %d bytes is needed", OSC_PATTERN_MAX);
  *pattern = (struct osc_pattern){.text = text, .length = (int)length, .literal = (int)strcspn(text, "?*[{")};
  for (int i = 0; i < pattern->length; i++) {
    bool brackets = text[i] == '[' || text[i] == '{';
    int end = brackets ? find_end(text, i) : i;
    if (end < 0)
      return error_set(err, STATUS_USAGE, "the pattern has a %c without a %c before the next /", text[i],
                       text[i] == '[' ? ']' : '}');
    if (text[i] == '{')
      read_words(pattern, i, end);
    else
      put(pattern, i, text[i] == '[' ? CLASS : text[i] == '*' ? SPAN : text[i] == '?' ? ANY : LITERAL, end + 1);
    i = end;
  }
  return 0;
}

/* --- matching --- */

static bool same(char pattern, char character) {
  return pattern == character || (pattern == '_' && character == '-');
}

/* True if a class of the pattern, such as "[a-z]", names the character. at: index of the class's opening bracket. A "-"
 * at an end of the brackets stands for itself. */
static bool is_named(const struct osc_pattern *pattern, int at, char character) {
  const char *text = pattern->text, *end = text + pattern->element[at].next - 1, *i = text + at + 1;
  bool others = *i == '!', named = false;
  for (i += others; i < end; i++)
    if (i + 2 < end && i[1] == '-') {
      named |= character >= i[0] && character <= i[2];
      i += 2;
    } else {
      named |= same(*i, character);
    }
  return named != others;
}

/* Adds element number `at` of the pattern to `places`, the elements that the next character may match. If the element
 * can match the empty text, also adds the elements after it. Each element is added once, which limits the recursion to
 * the pattern's length. */
static void add(const struct osc_pattern *pattern, struct places *places, int at) {
  if (places->has[at])
    return;
  places->has[at] = true;
  places->at[places->count++] = (short)at;
  if (at == pattern->length)
    return;
  int next = pattern->element[at].next;
  switch ((enum pattern_kind)pattern->element[at].kind) {
  case SPAN:
  case LEAVE:
    add(pattern, places, next);
    break;
  case OPEN:
    add(pattern, places, at + 1);
    for (int i = at + 1; i < next - 1; i++)
      if (pattern->element[i].kind == LEAVE)
        add(pattern, places, i + 1);
    break;
  case LITERAL:
  case ANY:
  case CLASS:
    break;
  }
}

static void clear(struct places *places) {
  for (int i = 0; i < places->count; i++)
    places->has[places->at[i]] = false;
  places->count = 0;
}

/* Compares the pattern's element at index `at` with a character of the address. If it matches, adds to `after` the
 * indices of the elements that may match the next character. */
static void step(const struct osc_pattern *pattern, int at, char character, struct places *after) {
  int next = pattern->element[at].next;
  switch ((enum pattern_kind)pattern->element[at].kind) {
  case LITERAL:
    if (same(pattern->text[at], character))
      add(pattern, after, next);
    break;
  case ANY:
    if (character != '/')
      add(pattern, after, next);
    break;
  case SPAN:
    if (character != '/')
      add(pattern, after, at);
    break;
  case CLASS:
    if (character != '/' && is_named(pattern, at, character))
      add(pattern, after, next);
    break;
  case OPEN:
  case LEAVE:
    break;
  }
}

bool osc_pattern_matches(const struct osc_pattern *pattern, const char *address, long *work) {
  int now = 0;
  *work -= ADDRESS_WORK;
  for (int i = 0; i < pattern->literal; i++)
    if (!same(pattern->text[i], address[i]))
      return false;
  struct places places[2] = {{.count = 0}};
  add(pattern, &places[now], pattern->literal);
  for (const char *at = address + pattern->literal; *at && places[now].count; at++, now = !now) {
    struct places *before = &places[now], *after = &places[!now];
    clear(after);
    if ((*work -= before->count) < 0)
      return false;
    for (int i = 0; i < before->count; i++)
      if (before->at[i] < pattern->length)
        step(pattern, before->at[i], *at, after);
  }
  return places[now].has[pattern->length];
}

/* --- trying a pattern on all OSC addresses that this program has --- */

/* Tries a pattern on addresses: `visit` is called for each address that matches. `suffix` is appended to the addresses
 * of parameters. */
struct visitor {
  const struct osc_pattern *pattern;
  const char *suffix;
  long *work;
  void (*visit)(void *opaque, const char *address);
  void *opaque;
  int count;
};

static void try_address(struct visitor *visitor, const char *address) {
  char whole[OSC_ADDRESS_MAX + 8];
  snprintf(whole, sizeof whole, "%s%s", address, visitor->suffix);
  if (!osc_pattern_matches(visitor->pattern, whole, visitor->work))
    return;
  visitor->visit(visitor->opaque, whole);
  visitor->count++;
}

static const char *find_suffix(const struct osc_pattern *pattern) {
  static const char *const suffixes[] = {"/get", "/range"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    int length = (int)strlen(suffixes[i]);
    if (pattern->length > length && !strcmp(pattern->text + pattern->length - length, suffixes[i]))
      return suffixes[i];
  }
  return "";
}

int osc_pattern_each(const struct osc_pattern *pattern, long *work, void (*visit)(void *opaque, const char *address),
                     void *opaque) {
  char address[OSC_ADDRESS_MAX];
  struct visitor visitor = {pattern, find_suffix(pattern), work, visit, opaque, 0};
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id) && *work >= 0; i++)
      try_address(&visitor, osc_address(id, parameter_row(id)->first + i, address));
  int count;
  const struct command_entry *commands = commands_table(&count);
  for (int i = 0; i < count && !*visitor.suffix && *work >= 0; i++)
    if (!commands[i].here) {
      snprintf(address, sizeof address, OSC_ROOT "command/%s", commands[i].name);
      try_address(&visitor, address);
    }
  return visitor.count;
}
