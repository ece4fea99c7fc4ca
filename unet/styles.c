#include "styles.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "text.h"

#define STYLES_LIMIT ((size_t)1 << 20)

/* The parsed file; styles and moods (NULL: none) are its objects of lists. */
struct styles {
  cJSON *root;
  const cJSON *styles, *moods;
  int count;
};

static bool is_phrases(const cJSON *list) {
  const cJSON *phrase;
  cJSON_ArrayForEach(phrase, list) {
    if (!cJSON_IsString(phrase) || !*phrase->valuestring)
      return false;
  }
  return cJSON_IsArray(list);
}

/* A name that is fit to be printed. */
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

int styles_open(struct styles **result, const char *path, struct error *err) {
  *result = NULL;
  if (access(path, F_OK) && errno == ENOENT)
    return 0;
  char *text;
  if (text_read(path, STYLES_LIMIT, &text, NULL, err))
    return -1;
  cJSON *root = cJSON_Parse(text);
  free(text);
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "styles");
  const cJSON *moods = cJSON_GetObjectItemCaseSensitive(root, "moods");
  struct styles *styles = is_styles(list) && (!moods || is_styles(moods)) ? malloc(sizeof *styles) : NULL;
  if (!styles) {
    cJSON_Delete(root);
    return error_set(err, STATUS_MODEL, "%s: \"styles\" or \"moods\" is not of the form {\"name\": [\"phrase\", ...]}",
                     path);
  }
  *styles = (struct styles){root, list, moods, cJSON_GetArraySize(list)};
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

/* Bytes of words: letters, digits and everything outside ASCII. */
static bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool has_phrase(const char *text, const char *phrase) {
  size_t length = strlen(phrase);
  for (const char *at = text; (at = strcasestr(at, phrase)); at++)
    if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
      return true;
  return false;
}

static bool matches(const cJSON *styles, const char *text) {
  const cJSON *style, *phrase;
  cJSON_ArrayForEach(style, styles) {
    cJSON_ArrayForEach(phrase, style) {
      if (has_phrase(text, phrase->valuestring))
        return true;
    }
  }
  return false;
}

bool styles_match(const struct styles *styles, const char *text) {
  return !styles || matches(styles->styles, text) || matches(styles->moods, text);
}
