/* Reads styles.json, finds its phrases in a text, and makes the prompt that is encoded instead of a text. */
#include "unet/text/styles.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <utf8proc.h>

#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

#define STYLES_LIMIT ((size_t)1 << 20)

/* The parsed file. styles and moods (NULL: none) are JSON objects with lists of phrases; standard is the name of the
 * style that is used for prompts which name none (NULL: none). detail (NULL: none) is a JSON object with a number for
 * each of some styles. */
struct styles {
  cJSON *root;
  const cJSON *styles, *moods, *standard, *detail;
  int count;
  bool blends, refuses_guidance;
  int lattice;
};

static bool is_phrases(const cJSON *list) {
  const cJSON *phrase;
  cJSON_ArrayForEach(phrase, list) {
    if (!cJSON_IsString(phrase) || !*phrase->valuestring)
      return false;
  }
  return cJSON_IsArray(list);
}

/* Returns true if a name has no control characters, so that it can be printed. */
static bool is_name(const char *name) {
  for (; *name; name++)
    if ((unsigned char)*name < 0x20 || *name == 0x7f)
      return false;
  return true;
}

static bool is_styles(const cJSON *styles) {
  if (!cJSON_IsObject(styles))
    return false;
  const cJSON *style;
  cJSON_ArrayForEach(style, styles) {
    if (!is_name(style->string) || !is_phrases(style))
      return false;
  }
  return true;
}

static int read_phrases(struct styles *styles, const char *path, struct error *err) {
  styles->styles = cJSON_GetObjectItemCaseSensitive(styles->root, "styles");
  styles->moods = cJSON_GetObjectItemCaseSensitive(styles->root, "moods");
  if (!is_styles(styles->styles) || (styles->moods && !is_styles(styles->moods)))
    return error_set(err, STATUS_MODEL, "%s: \"styles\" or \"moods\" is not of the form {\"name\": [\"phrase\", ...]}",
                     path);
  styles->count = cJSON_GetArraySize(styles->styles);
  return 0;
}

/* Returns true if the number is a valid "lattice" (side in pixels of the cells by which frames may be shifted): a
 * multiple of the 8 pixels that a latent's sample covers, up to 64. */
static bool is_lattice(const cJSON *value) {
  int side = cJSON_IsNumber(value) ? value->valueint : 0;
  return value->valuedouble == side && (side == 8 || side == 16 || side == 32 || side == 64);
}

/* Returns true if `detail` is missing, or an object with numbers from 0 to 1 whose names are those of styles. */
static bool is_detail(const cJSON *detail, const cJSON *styles) {
  const cJSON *share;
  cJSON_ArrayForEach(share, detail) {
    if (!cJSON_IsNumber(share) || !(share->valuedouble >= 0 && share->valuedouble <= 1) ||
        !cJSON_GetObjectItemCaseSensitive(styles, share->string))
      return false;
  }
  return !detail || cJSON_IsObject(detail);
}

static int read_training(struct styles *styles, const char *path, struct error *err) {
  const cJSON *standard = cJSON_GetObjectItemCaseSensitive(styles->root, "default");
  const cJSON *strength = cJSON_GetObjectItemCaseSensitive(styles->root, "strength");
  const cJSON *guidance = cJSON_GetObjectItemCaseSensitive(styles->root, "guidance");
  const cJSON *lattice = cJSON_GetObjectItemCaseSensitive(styles->root, "lattice");
  styles->detail = cJSON_GetObjectItemCaseSensitive(styles->root, "detail");
  if (cJSON_IsString(standard))
    styles->standard = cJSON_GetObjectItemCaseSensitive(styles->styles, standard->valuestring);
  if (standard && !cJSON_GetArraySize(styles->standard))
    return error_set(err, STATUS_MODEL, "%s: \"default\" is not the name of a style with phrases", path);
  if (strength && (!cJSON_IsString(strength) || strcmp(strength->valuestring, "blend") != 0))
    return error_set(err, STATUS_MODEL, "%s: \"strength\" is not \"blend\", the only value that is supported", path);
  if (guidance && !cJSON_IsBool(guidance))
    return error_set(err, STATUS_MODEL, "%s: \"guidance\" is not true or false", path);
  if (lattice && !is_lattice(lattice))
    return error_set(err, STATUS_MODEL, "%s: \"lattice\" is not 8, 16, 32 or 64 pixels", path);
  if (!is_detail(styles->detail, styles->styles))
    return error_set(err, STATUS_MODEL, "%s: \"detail\" is not of the form {\"name of a style\": 0 to 1, ...}", path);
  styles->lattice = lattice ? lattice->valueint : 0;
  styles->blends = strength != NULL;
  styles->refuses_guidance = cJSON_IsFalse(guidance);
  return 0;
}

int styles_open(struct styles **result, const char *path, struct error *err) {
  *result = NULL;
  if (!platform_exists(path) && errno == ENOENT)
    return 0;
  char *text;
  if (text_read(path, STYLES_LIMIT, &text, NULL, err))
    return -1;
  cJSON *root;
  int failed = json_parse(&root, text, NULL, path, err);
  free(text);
  if (failed)
    return -1;
  struct styles *styles = calloc(1, sizeof *styles);
  if (!styles) {
    cJSON_Delete(root);
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  }
  styles->root = root;
  if (read_phrases(styles, path, err) || read_training(styles, path, err)) {
    styles_close(&styles);
    return -1;
  }
  *result = styles;
  return 0;
}

void styles_close(struct styles **styles) {
  if (*styles)
    cJSON_Delete((*styles)->root);
  free(*styles);
  *styles = NULL;
}

int styles_count(const struct styles *styles) {
  return styles ? styles->count : 0;
}

const char *styles_name(const struct styles *styles, int index) {
  return cJSON_GetArrayItem(styles->styles, index)->string;
}

/* Returns true if the character at `at` is part of a word: a letter, a digit, an accent on one, or a byte that is not
 * UTF-8. */
static bool is_word(const char *at) {
  utf8proc_int32_t character;
  if (utf8proc_iterate((const utf8proc_uint8_t *)at, -1, &character) <= 0)
    return true;
  utf8proc_category_t category = utf8proc_category(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

static bool is_inside(const char *at) {
  return ((unsigned char)*at & 0xc0) == 0x80;
}

/* Returns the address of the UTF-8 character of `text` that comes before address `at`. */
static const char *before(const char *text, const char *at) {
  do
    at--;
  while (at > text && is_inside(at));
  return at;
}

static bool has_phrase(const char *text, const char *phrase) {
  size_t length = strlen(phrase);
  for (const char *at = text; *at; at++)
    if (!strncasecmp(at, phrase, length) && (at == text || !is_word(before(text, at))) && !is_word(at + length))
      return true;
  return false;
}

/* Returns true if the text has a phrase of this style or mood. */
static bool names(const char *text, const cJSON *style) {
  const cJSON *phrase;
  cJSON_ArrayForEach(phrase, style) {
    if (has_phrase(text, phrase->valuestring))
      return true;
  }
  return false;
}

static bool matches(const cJSON *styles, const char *text) {
  const cJSON *style;
  cJSON_ArrayForEach(style, styles) {
    if (names(text, style))
      return true;
  }
  return false;
}

bool styles_match(const struct styles *styles, const char *text) {
  return !styles || matches(styles->styles, text) || matches(styles->moods, text);
}

const char *styles_default(const struct styles *styles) {
  return styles && styles->standard ? styles->standard->string : NULL;
}

/* Returns the longest phrase of a mood (a list of phrases such as "at night") that the text contains; NULL: none. */
static const char *find_mood(const cJSON *mood, const char *text) {
  const char *found = NULL;
  const cJSON *phrase;
  cJSON_ArrayForEach(phrase, mood) {
    if (has_phrase(text, phrase->valuestring) && (!found || strlen(phrase->valuestring) > strlen(found)))
      found = phrase->valuestring;
  }
  return found;
}

/* Returns true if the text has no words, or if its words are one phrase of a mood, such as "at night", and no
 * others. */
static bool is_mood(const cJSON *moods, const char *text) {
  const char *end = text + strlen(text);
  while (*text && (is_inside(text) || !is_word(text)))
    text++;
  while (end > text && !is_word(before(text, end)))
    end = before(text, end);
  size_t length = (size_t)(end - text);
  const cJSON *mood;
  cJSON_ArrayForEach(mood, moods) {
    const char *phrase = find_mood(mood, text);
    if (phrase && strlen(phrase) == length)
      return true;
  }
  return length == 0;
}

static char *standard_prompt(const struct styles *styles, const char *text) {
  char *prompt = strdup(styles->standard->child->valuestring);
  const cJSON *mood;
  cJSON_ArrayForEach(mood, styles->moods) {
    const char *phrase = find_mood(mood, text);
    char *longer = NULL;
    if (!phrase)
      continue;
    if (!prompt || asprintf(&longer, "%s, %s", prompt, phrase) < 0)
      longer = NULL;
    free(prompt);
    prompt = longer;
  }
  return prompt;
}

char *styles_prompt(const struct styles *styles, const char *text) {
  if (!styles_default(styles) || matches(styles->styles, text) || is_mood(styles->moods, text))
    return strdup(text);
  return standard_prompt(styles, text);
}

static float detail_of(const struct styles *styles, const cJSON *style) {
  const cJSON *share = style ? cJSON_GetObjectItemCaseSensitive(styles->detail, style->string) : NULL;
  return share ? (float)share->valuedouble : 0;
}

float styles_detail_of(const struct styles *styles, int index) {
  return detail_of(styles, cJSON_GetArrayItem(styles->styles, index));
}

float styles_detail(const struct styles *styles, const char *prompt) {
  const cJSON *style, *named = NULL;
  if (!styles || !styles->detail)
    return 0;
  cJSON_ArrayForEach(style, styles->styles) {
    if (names(prompt, style) && (!named || detail_of(styles, style) < detail_of(styles, named)))
      named = style;
  }
  return detail_of(styles, named ? named : styles->standard);
}

int styles_lattice(const struct styles *styles) {
  return styles ? styles->lattice : 0;
}

bool styles_blends(const struct styles *styles) {
  return styles && styles->blends;
}

bool styles_refuses_guidance(const struct styles *styles) {
  return styles && styles->refuses_guidance;
}
