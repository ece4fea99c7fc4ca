/* Facts that only the operator's window shows, and which say what its buttons and bars do (face.h, face_input.h). */
#ifndef APP_WINDOW_FACE_CONTENT_H
#define APP_WINDOW_FACE_CONTENT_H

#include "app/window/face_place.h"

enum { FACE_NAME_MAX = 81 };

struct face_content {
  struct list_row bar[FACE_BARS]; /* the parameters that have a bar */
  int bars;
  float prompt_share[FACE_PROMPTS]; /* share of each prompt in the picture, from 0 to 1 */
  int prompts;                      /* number of prompts that are shown: those up to the last one that has a text */
  /* scenes: number of saved presets; first_scene: number of the first one that is shown, from 1; scene_taken: number of
   * the preset that was applied last, scene_cued: number of the cued one, 0: none */
  int scenes, first_scene, scene_taken, scene_cued;
  char scene_name[FACE_SCENES][FACE_NAME_MAX];
  const struct refusals *refusals; /* parameters that the model refuses, with the reasons; NULL: not known */
  /* clip: true: the source is a file. clip_from_s, clip_end_s: positions, in seconds, where the played part of the file
   * begins and ends, clip_end_s 0: unknown; clip_at_s: the present position; clip_left_s: time until the end.
   * clip_speed: playing speed, 1: normal. */
  bool clip;
  double clip_from_s, clip_at_s, clip_end_s, clip_left_s, clip_speed;
};

#endif
