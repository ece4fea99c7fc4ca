#include "unet/base/maps.h"

#include <string.h>

static const struct map {
  const char *word, *about;
} maps[MAP_KINDS] = {
#define MAP_ROW(ID, word, about) [MAP_##ID] = {word, about},
    MAP_TABLE(MAP_ROW)};

static const struct map_parameter parameters[MAP_KINDS][MAP_PARAMS] = {
    [MAP_CANNY] = {{MAP_VALUE_LOW, 0, 2040, 100, 10}, {MAP_VALUE_HIGH, 0, 2040, 200, 10}},
    [MAP_LINEART] = {{MAP_VALUE_RADIUS, 1, 16, 2, 1}, {MAP_VALUE_LOW, 0, 255, 4, 1}, {MAP_VALUE_GAIN, 0, 64, 10, 0.5f}},
    [MAP_SOFTEDGE] = {{MAP_VALUE_RADIUS, 1, 16, 2, 1}, {MAP_VALUE_LOW, 0, 255, 6, 1}, {MAP_VALUE_HALF, 1, 1000, 60, 5}},
    [MAP_DEPTH] = {{MAP_VALUE_SPEED, 0, 1, 0.05f, 0.01f}, {MAP_VALUE_EVERY, 1, 60, 1, 1}},
    [MAP_COLOR] = {{MAP_VALUE_CELL, 8, 256, 64, 8}},
    [MAP_TILE] = {{MAP_VALUE_CELL, 1, 64, 1, 1}},
    [MAP_BLUR] = {{MAP_VALUE_RADIUS, 1, 16, 8, 1}},
    [MAP_MASK] = {{MAP_VALUE_LOW, 0, 255, 128, 4}, {MAP_VALUE_HIGH, 0, 255, 255, 4}},
};

const char *map_value_name(enum map_value value) {
#define NAME(ID, name) [MAP_VALUE_##ID] = name,
  static const char *const names[MAP_VALUES] = {MAP_VALUE_TABLE(NAME)};
#undef NAME
  return (size_t)value < MAP_VALUES ? names[value] : "unknown";
}

const char *map_word(enum map_kind kind) {
  return (size_t)kind < MAP_KINDS ? maps[kind].word : "unknown";
}

const char *map_about(enum map_kind kind) {
  return (size_t)kind < MAP_KINDS ? maps[kind].about : "";
}

enum map_kind map_find(const char *word, size_t length) {
  int kind = 0;
  while (kind < MAP_KINDS && (strlen(maps[kind].word) != length || memcmp(maps[kind].word, word, length) != 0))
    kind++;
  return (enum map_kind)kind;
}

int map_parameters(enum map_kind kind, const struct map_parameter **list) {
  int count = 0;
  *list = NULL;
  if ((size_t)kind >= MAP_KINDS)
    return 0;
  *list = parameters[kind];
  while (count < MAP_PARAMS && parameters[kind][count].step > 0)
    count++;
  return count;
}

void map_standard(enum map_kind kind, float values[MAP_PARAMS]) {
  const struct map_parameter *list;
  int count = map_parameters(kind, &list);
  for (int i = 0; i < MAP_PARAMS; i++)
    values[i] = i < count ? list[i].standard : 0;
}

void map_clamp(enum map_kind kind, float values[MAP_PARAMS]) {
  const struct map_parameter *list;
  int count = map_parameters(kind, &list);
  for (int i = 0; i < count; i++) {
    if (values[i] < list[i].least)
      values[i] = list[i].least;
    else if (values[i] > list[i].most)
      values[i] = list[i].most;
    else if (!(values[i] >= list[i].least))
      values[i] = list[i].standard;
  }
}
