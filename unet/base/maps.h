/* The maps (edges, depth and others): pictures made from a frame, for control networks and for people. A new map needs
 * a row here and its parameters in maps.c; OP_MAP (unet/plan/op_pixels.h) defines how each is computed. */
#ifndef UNET_BASE_MAPS_H
#define UNET_BASE_MAPS_H

#include <stddef.h>

#define MAP_TABLE(S)                                                                                                   \
  S(CANNY, "canny", "thin white edges, as OpenCV's Canny finds them")                                                  \
  S(LINEART, "lineart", "what is darker than its surroundings, as white lines")                                        \
  S(SOFTEDGE, "softedge", "broad grey edges")                                                                          \
  S(DEPTH, "depth", "near is bright, far is dark, by a network")                                                       \
  S(COLOR, "color", "a coarse grid of colours")                                                                        \
  S(TILE, "tile", "the frame itself, or a coarser one, smoothly enlarged")                                             \
  S(BLUR, "blur", "the frame without its details")                                                                     \
  S(GRAY, "gray", "the frame without its colours")                                                                     \
  S(MASK, "mask", "white where the frame's brightness lies between two thresholds")                                    \
  S(PICTURE, "map", "the picture as it comes: it is a map already")

#define MAP_ID(ID, ...) MAP_##ID,
enum map_kind { MAP_TABLE(MAP_ID) MAP_KINDS };
#undef MAP_ID

/* the text "none|canny|...": all words, in the order of the enum */
#define MAP_WORD(ID, word, ...) "|" word
#define MAP_WORDS "none" MAP_TABLE(MAP_WORD)

/* The parameters of maps (such as thresholds of an edge detector), which may change from frame to frame. Each kind of
 * map has some of them. An option for a parameter ends with its name here, as in "control1.low". */
#define MAP_VALUE_TABLE(S)                                                                                             \
  S(LOW, "low")                                                                                                        \
  S(HIGH, "high")                                                                                                      \
  S(RADIUS, "radius")                                                                                                  \
  S(GAIN, "gain")                                                                                                      \
  S(HALF, "half")                                                                                                      \
  S(CELL, "cell")                                                                                                      \
  S(SPEED, "speed")                                                                                                    \
  S(EVERY, "every")

#define MAP_VALUE_ID(ID, ...) MAP_VALUE_##ID,
enum map_value { MAP_VALUE_TABLE(MAP_VALUE_ID) MAP_VALUES };
#undef MAP_VALUE_ID

const char *map_value_name(enum map_value value);

enum { MAP_PARAMS = 4 }; /* largest number of parameters that a kind of map has */

struct map_parameter {
  enum map_value value;
  /* smallest and largest value, default, and the amount by which one press of a key changes the value */
  float least, most, standard, step;
};

const char *map_word(enum map_kind kind);
const char *map_about(enum map_kind kind); /* Returns a short description of this kind of map, for people. */
/* Returns the kind of map with this name, or MAP_KINDS if there is none. The name need not end with a zero byte. */
enum map_kind map_find(const char *word, size_t length);
/* Stores the list of a map's parameters, in the order in which OP_MAP (the op that makes maps) reads them. Returns
 * their number. */
int map_parameters(enum map_kind kind, const struct map_parameter **list);
/* Sets the parameters of a map to their defaults, and the unused ones at the end of the array to 0. */
void map_standard(enum map_kind kind, float parameters[MAP_PARAMS]);
/* Clamps each parameter to its bounds; NaN becomes the default. */
void map_clamp(enum map_kind kind, float parameters[MAP_PARAMS]);

#endif
