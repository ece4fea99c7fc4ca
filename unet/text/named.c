#include "unet/text/named.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct word {
  const char *text;
  enum named_kind kind;
} words[] = {{"lora:", NAMED_LORA}, {"lyco:", NAMED_LORA}, {"lycoris:", NAMED_LORA}, {"hypernet:", NAMED_NETWORK}};

/* Returns true if the text begins with the word, which is in small letters. Case is ignored. */
static bool begins(const char *text, const char *word) {
  for (; *word; word++, text++)
    if (tolower((unsigned char)*text) != *word)
      return false;
  return true;
}

static size_t skip_spaces(const char *text, size_t at) {
  while (isspace((unsigned char)text[at]))
    at++;
  return at;
}

/* Reads NAME:WEIGHT up to the closing bracket. A third field, such as ComfyUI's weight of the text encoder, is
 * skipped. */
static void read_network(const char *text, size_t at, struct named *named) {
  size_t end = named->start + named->length - 1;
  named->name = at = skip_spaces(text, at);
  named->name_length = strcspn(text + at, ":>");
  at += named->name_length;
  while (named->name_length && isspace((unsigned char)text[named->name + named->name_length - 1]))
    named->name_length--;
  if (at >= end)
    return;
  named->weight = at = skip_spaces(text, at + 1);
  named->weight_length = strspn(text + at, "+-.0123456789");
}

/* If the text begins with a word by which prompts name a network's file, such as "lora:", returns this word; otherwise
 * NULL. */
static const struct word *find_word(const char *text) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (begins(text, words[i].text))
      return &words[i];
  return NULL;
}

/* Reads a network's name from an expression whose bracket is never closed, such as "<lora:NAME". at: position of
 * the "<" in the text; name: position at which NAME begins. Returns false if NAME is empty. */
static bool read_open(const char *text, size_t at, size_t name, struct named *named) {
  size_t size = strcspn(text + name, " \t\r\n,<>"), length = name + size - at;
  *named = (struct named){.kind = NAMED_OPEN, .start = at, .length = length, .name = at, .name_length = length};
  return size > 0;
}

/* Reads a file's name in angle brackets, such as <lora:NAME:0.8>. at: position of the "<" in the text. Returns false
 * if the brackets name no file. */
static bool read_bracket(const char *text, size_t at, struct named *named) {
  size_t inside = skip_spaces(text, at + 1), length = strcspn(text + at + 1, "<>");
  const struct word *word = find_word(text + inside);
  if (text[at + 1 + length] != '>')
    return word && read_open(text, at, skip_spaces(text, inside + strlen(word->text)), named);
  *named = (struct named){.kind = NAMED_TOKEN, .start = at, .length = length + 2};
  if (word) {
    named->kind = word->kind;
    read_network(text, inside + strlen(word->text), named);
    return named->name_length > 0;
  }
  named->name = at;
  named->name_length = named->length;
  return length > 0 && strcspn(text + at + 1, " \t\n,:") >= length;
}

static bool read_embedding(const char *text, size_t at, struct named *named) {
  static const char word[] = "embedding:";
  if (!begins(text + at, word) || (at && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')))
    return false;
  size_t name = at + strlen(word), length = strcspn(text + name, " \t\n,:()[]<>");
  *named = (struct named){
      .kind = NAMED_EMBEDDING, .start = at, .length = name + length - at, .name = name, .name_length = length};
  return length > 0;
}

bool named_find(const char *text, size_t from, struct named *named) {
  for (size_t at = from; text[at]; at++)
    if (text[at] == '<' ? read_bracket(text, at, named) : read_embedding(text, at, named))
      return true;
  return false;
}

char *named_take_out(const char *text) {
  char *rest = strdup(text);
  struct named named;
  size_t at = 0;
  while (rest && named_find(rest, at, &named)) {
    bool out = named.kind == NAMED_LORA || named.kind == NAMED_NETWORK;
    at = named.start + (out ? 0 : named.length);
    if (out)
      memmove(rest + named.start, rest + named.start + named.length, strlen(rest + named.start + named.length) + 1);
  }
  return rest;
}
