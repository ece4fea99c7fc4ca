#include "app/control/usual_prompts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const usual[SLOT_PRESETS] = {
    PARAMETER_PROMPT_DEFAULT, "oil painting", "watercolor", "pencil sketch", "ink drawing", "cartoon", "mosaic",
    "vintage film",           "pop art"};

static size_t word_length(const char *at) {
  size_t length = 0;
  while (isalnum((unsigned char)at[length]) || (at[length] & 0x80))
    length++;
  return length;
}

/* Returns the first word of the text at or after `at`. *length gets its length in bytes; 0: there is no further
 * word. */
static const char *next_word(const char *at, size_t *length) {
  while (*at && !word_length(at))
    at++;
  *length = word_length(at);
  return at;
}

static bool has_word(const char *text, const char *word, size_t length) {
  size_t other;
  for (const char *at = next_word(text, &other); other; at = next_word(at + other, &other))
    if (other == length && !strncasecmp(at, word, length))
      return true;
  return false;
}

/* Returns true if text contains every word of `other`, in any order. `other` has at least one word. */
static bool has_words_of(const char *text, const char *other) {
  size_t length;
  const char *at = next_word(other, &length);
  bool all = length > 0;
  for (; all && length; at = next_word(at + length, &length))
    all = has_word(text, at, length);
  return all;
}

/* Returns true if one of the first `count` prompts already asks for the style: the prompt contains all words of the
 * style, or the style contains all words of the prompt. For example, the prompts "oil" and "an oil painting" ask for
 * the style "oil painting". */
static bool is_asked_for(const struct parameters *values, int count, const char *style) {
  for (int i = 1; i <= count; i++) {
    const char *prompt = parameters_text(values, PARAMETER_PROMPT, i);
    if (has_words_of(prompt, style) || has_words_of(style, prompt))
      return true;
  }
  return false;
}

static int count_given(const struct parameters *values) {
  int count = 0;
  while (count < SLOT_PRESETS && parameters_text(values, PARAMETER_PROMPT, count + 1))
    count++;
  return count;
}

static bool is_there(const struct parameters *values, int count, const char *style) {
  for (int i = 1; i <= count; i++)
    if (!strcmp(parameters_text(values, PARAMETER_PROMPT, i), style))
      return true;
  return false;
}

int usual_prompts_add(struct parameters *values, struct error *err) {
  int given = count_given(values), count = given;
  for (int again = 0; again < 2; again++)
    for (int i = 0; i < SLOT_PRESETS && count < SLOT_PRESETS; i++) {
      bool wanted = again ? !is_there(values, count, usual[i]) : !is_asked_for(values, given, usual[i]);
      if (wanted && parameters_set_text(values, PARAMETER_PROMPT, ++count, usual[i], err))
        return -1;
    }
  return 0;
}
