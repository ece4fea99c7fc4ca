/* The operator's window of the live window: the widgets that it shows beside the overlay's panels, and what the mouse
 * and fingers do in the window. Only the main thread uses these functions. */
#ifndef APP_LIVE_OPERATING_H
#define APP_LIVE_OPERATING_H

#include "app/window/face_input.h"
#include "app/window/window.h"

struct live;

/* A press of the mouse or of a finger. finger: number of the finger, from the window's event; 0: the mouse.
 * LIVE_GRIPS: largest number of presses at the same time. */
enum { LIVE_GRIPS = 10 };
struct live_grip {
  bool held;
  int64_t finger;
  struct face_grip grip;
};

/* What the operator's window shows, and the mouse buttons and fingers that were pressed there and are not released
 * yet. Initialise with zeros. */
struct live_operation {
  struct face_content face;
  struct refusals refusals; /* the parameters that the model in use refuses, with the reasons */
  struct refusals told;     /* the list of refused parameters, with reasons, that clients were sent last */
  int first_scene;          /* number of the first saved preset that is shown, from 1 */
  struct live_grip grips[LIVE_GRIPS];
};

/* Updates what the operator's window will show. now: the controls of this moment; is_clip: the source is a file. */
void live_update_face(struct live *live, const struct controls *now, bool is_clip);
/* Gives the hub (which passes values to clients) the list of the parameters that the model in use refuses, with the
 * reasons, if the list has changed. */
void live_publish_refusals(struct live *live);
/* Handles a press, a movement or a release of mouse or finger, or a turn of the wheel. Returns false if the mouse or
 * finger was over the picture; the caller then handles the event. */
bool live_operate(struct live *live, const struct window_event *event, int64_t now_ns);

#endif
