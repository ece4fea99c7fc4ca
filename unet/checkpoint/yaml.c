#include "unet/checkpoint/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"

char *yaml_beside(const char *path) {
  static const char *const endings[] = {".yaml", ".yml", ".YAML", ".YML"};
  static const char own[] = ".safetensors";
  size_t whole = strlen(path), stem = whole - (text_ends(path, own) ? strlen(own) : 0);
  for (int i = 0; i < 8; i++) { /* first the names without .safetensors, such as NAME.yaml, then those with it, such as
                                 * NAME.safetensors.yaml */
    char *yaml;
    if (asprintf(&yaml, "%.*s%s", (int)(i < 4 ? stem : whole), path, endings[i % 4]) < 0)
      return NULL;
    if (platform_can_read_file(yaml))
      return yaml;
    free(yaml);
  }
  return NULL;
}

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Returns the beginning of a value, after spaces, quotes, and a tag or an anchor (YAML's marks "!!str", "&name"). */
static const char *skip_marks(const char *value, const char *end) {
  value += strspn(value, "\"' \t");
  while (value < end && (*value == '!' || *value == '&')) {
    value += strcspn(value, " \t\r\n");
    value += strspn(value, "\"' \t");
  }
  return value < end ? value : end;
}

const char *yaml_find(const char *line, const char *end, const char *key, size_t *length) {
  size_t size = strlen(key);
  for (const char *at = line; at + size < end; at++) {
    if (strncasecmp(at, key, size) || (at > line && is_name(at[-1])) || is_name(at[size]))
      continue;
    const char *value = at + size;
    value += strspn(value, "\"' \t");
    if (value >= end || *value != ':')
      continue;
    value = skip_marks(value + 1, end);
    for (*length = 0; value + *length < end && is_name(value[*length]);)
      ++*length;
    return value;
  }
  return NULL;
}

const char *yaml_find_below(const char *line, const char *key, size_t *length) {
  const char *end = yaml_line_end(line), *value = yaml_find(line, end, key, length), *next = yaml_next_line(line);
  if (!value || *length || value < end)
    return value;
  end = yaml_line_end(next);
  const char *below = skip_marks(next, end);
  for (*length = 0; below + *length < end && is_name(below[*length]);)
    ++*length;
  if (memchr(below, ':', (size_t)(end - below))) /* the next line has another key, so this key has no value */
    *length = 0;
  return below;
}

bool yaml_is_true(const char *value, size_t length) {
  return (length == 4 && !strncasecmp(value, "true", 4)) || (length == 3 && !strncasecmp(value, "yes", 3)) ||
         (length == 1 && *value == '1');
}

const char *yaml_line_end(const char *line) {
  size_t length = strcspn(line, "\r\n");
  const char *comment = memchr(line, '#', length);
  return comment ? comment : line + length;
}

const char *yaml_next_line(const char *line) {
  line += strcspn(line, "\r\n");
  return line + strspn(line, "\r\n");
}

bool yaml_bool(const char *text, const char *key, bool *value) {
  for (const char *line = text; *line; line = yaml_next_line(line)) {
    size_t length;
    const char *found = yaml_find(line, yaml_line_end(line), key, &length);
    if (found) {
      *value = yaml_is_true(found, length);
      return true;
    }
  }
  return false;
}
