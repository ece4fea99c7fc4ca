/* What presses and movements of the mouse and of fingers do in the operator's window. Only the main thread calls these
 * functions; they draw nothing. */
#ifndef APP_WINDOW_FACE_INPUT_H
#define APP_WINDOW_FACE_INPUT_H

#include "app/control/panel.h"
#include "app/window/face_content.h"

/* What the five state buttons do: names of commands (keys.h), in the order in which the buttons are placed. */
extern const char *const face_commands[FACE_STATES];

/* A press that has not ended yet: of the mouse's left button or of a finger. Several fingers have a grip each. */
struct face_grip {
  struct face_hit hit; /* what the press began on; FACE_NOTHING: nothing that can be pressed */
  float x, y;          /* where it began, in pixels of the drawable */
  float at_x, at_y;    /* where it is; at_y: where it was when it scrolled the list last */
  bool moved;          /* true: it has moved far enough to mean more than a press */
};

/* Begins a press at x, y. States, scenes, bars and the list act at once; a prompt waits for face_release, because a
 * movement along it blends it in instead. Returns false if nothing lies there that could be pressed. */
bool face_press(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns);
/* Follows the press to x, y: a bar's value and a prompt's weight in the blend follow it, and the list is scrolled. */
void face_drag(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
               struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns);
/* Ends the press: a prompt that was pressed without a movement is shown alone, and a clip goes on at the place where
 * the press ended. */
void face_release(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                  struct panel *panel, struct live_state *state, int64_t now_ns);
/* Handles a turn of the mouse wheel at x, y, positive away from the user: it scrolls the list, changes a bar's value by
 * small steps, and leads to other scenes (*first_scene, from 1). */
void face_wheel(const struct face_places *places, const struct face_content *content, struct panel *panel,
                struct live_state *state, int *first_scene, float x, float y, float turns, int64_t now_ns);

#endif
