/* What presses and movements of the mouse and of fingers do in the operator's window. Only the main thread calls these
 * functions; they draw nothing. */
#ifndef APP_WINDOW_FACE_INPUT_H
#define APP_WINDOW_FACE_INPUT_H

#include "app/control/panel.h"
#include "app/window/face_content.h"

/* The commands (keys.h) that the five buttons freeze, blackout, bypass, record and panic of the operator's window
 * give, in the order in which the buttons are placed. */
extern const char *const face_commands[FACE_STATES];

/* A press of the mouse's left button or of a finger, which has not ended yet. If several fingers press, each has a
 * struct face_grip of its own. */
struct face_grip {
  struct face_hit hit; /* what the press began on; FACE_NOTHING: nothing that can be pressed */
  float x, y;          /* where the press began, in pixels of the drawable */
  /* position of the pointer, in pixels of the drawable; but while the pointer scrolls the list, at_y lags behind it,
   * because the list scrolls by whole rows */
  float at_x, at_y;
  bool moved; /* true: the pointer has moved so far that the press counts as a drag */
};

/* Begins a press of mouse or finger at x, y, in pixels of the drawable. Buttons, presets, bars and the list act at
 * once; a prompt acts only at face_release, because a movement along it sets its weight in the blend instead. Returns
 * false if nothing that could be pressed lies there. */
bool face_press(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns);
/* Moves the press (the finger, or the pressed mouse) to x, y: a bar's value and a prompt's weight in the blend follow
 * it, and the list is scrolled. */
void face_drag(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
               struct panel *panel, struct live_state *state, float x, float y, int64_t now_ns);
/* Ends the press: a prompt that was pressed without a movement is shown alone, and a clip continues at the position
 * where the press ended. */
void face_release(struct face_grip *grip, const struct face_places *places, const struct face_content *content,
                  struct panel *panel, struct live_state *state, int64_t now_ns);
/* Handles a turn of the mouse wheel at x, y. turns: positive away from the user. Over the list it scrolls the list;
 * over a bar it changes the value by small steps; over the scenes (saved presets) it scrolls them.
 * *first_scene: number, from 1, of the first scene that is shown. */
void face_wheel(const struct face_places *places, const struct face_content *content, struct panel *panel,
                struct live_state *state, int *first_scene, float x, float y, float turns, int64_t now_ns);

#endif
