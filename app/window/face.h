/* What the operator's window shows beside alerts, help, notices and the typed line (hud.h): state buttons, bars of the
 * parameters that matter, saved scenes, prompts, the time of a clip, levels of sound, a graph of frame times, figures,
 * and the list of all parameters. Only the main thread calls these functions. */
#ifndef APP_WINDOW_FACE_H
#define APP_WINDOW_FACE_H

#include "app/window/face_content.h"
#include "app/window/sheet.h"

struct hud_content;
struct face;

/* Opens the widgets. Returns 0, or -1 with err. The caller frees *face with face_close, with a current OpenGL
 * context. */
int face_open(struct face **face, struct error *err);
void face_close(struct face **face); /* frees the widgets; *face becomes NULL; does nothing if it is NULL */
/* Returns how many widgets of each kind this content needs, from which face_place computes their positions. */
struct face_wish face_wish(const struct hud_content *content, int alert_lines);
/* Takes new content, and redraws the textures (struct sheet) of widgets whose content has changed. anyway: true:
 * redraws all textures. slow: true: also redraws measured values; the caller sets it only now and then, because values
 * that change with every frame are unreadable. Returns true if the window has to be drawn again. */
bool face_update(struct face *face, const struct typeface *type, const struct face_places *places,
                 const struct hud_content *content, bool slow, bool anyway);
/* Draws all widgets in the current window. Called between sheets_begin and sheets_end. */
void face_draw(const struct face *face, const struct typeface *type);
/* Returns how many times a widget's texture was drawn since face_open, for tests. */
long face_drawn(const struct face *face);

#endif
