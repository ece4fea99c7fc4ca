/* The maps: pictures that are made from a frame, which a control network reads, or people look at.
 *
 * To add one, add a row here and its parameters in maps.c; OP_MAP (unet/plan/op.h) says what each is made of. */
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

/* "none|canny|...": every word, in the order of the enum. */
#define MAP_WORD(ID, word, ...) "|" word
#define MAP_WORDS "none" MAP_TABLE(MAP_WORD)

/* What may change from frame to frame; each is a parameter of some maps. Names are those of a command's line
 * ("control1.low"). */
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

enum { MAP_PARAMS = 4 }; /* of one map, at most */

struct map_parameter {
  enum map_value value;
  float least, most, standard, step; /* step: that a key changes it by */
};

const char *map_word(enum map_kind kind);
const char *map_about(enum map_kind kind); /* in a few words, for people */
/* The kind of this name; MAP_KINDS: there is none. The name need not end in 0. */
enum map_kind map_find(const char *word, size_t length);
/* Its parameters, in the order in which OP_MAP reads them. Returns how many there are. */
int map_parameters(enum map_kind kind, const struct map_parameter **list);
/* Fills in what each parameter is where nobody says otherwise, and 0 behind them. */
void map_standard(enum map_kind kind, float parameters[MAP_PARAMS]);
/* Brings each into its bounds; what is no number becomes the standard. */
void map_clamp(enum map_kind kind, float parameters[MAP_PARAMS]);

#endif
