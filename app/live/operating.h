/* The operator's window of the live window: what it shows beside the overlay's panels, and the mouse and fingers there.
 * Only the main thread uses it. */
#ifndef APP_LIVE_OPERATING_H
#define APP_LIVE_OPERATING_H

#include "app/window/face_input.h"
#include "app/window/window.h"

struct live;

/* A press of the mouse or of a finger. finger: number of the finger as windows tell it; 0: the mouse. */
enum { LIVE_GRIPS = 10 };
struct live_grip {
  bool held;
  int64_t finger;
  struct face_grip grip;
};

/* What the operator's window shows, and the presses that have not ended there. Initialise with zeros. */
struct live_operation {
  struct face_content face;
  struct refusals refusals; /* what the model in use refuses */
  struct refusals told;     /* what clients were told that it refuses */
  int first_scene;          /* number of the first saved preset that is shown, from 1 */
  struct live_grip grips[LIVE_GRIPS];
};

/* Updates what the window shows. now: the controls of this moment; is_clip: the source is a file. */
void live_update_face(struct live *live, const struct controls *now, bool is_clip);
/* Gives the hub the list of what the model in use refuses, if it is another one than before. */
void live_publish_refusals(struct live *live);
/* Handles a press, a movement, a release or a turn of the wheel. Returns false if it means the picture. */
bool live_operate(struct live *live, const struct window_event *event, int64_t now_ns);

#endif
