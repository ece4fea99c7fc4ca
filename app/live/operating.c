/* Gathers what the operator's window shows beside the overlay's panels, and handles the mouse and fingers there. Main
 * thread only. */
#include <cjson/cJSON.h>
#include <string.h>

#include "app/control/presets_file.h"
#include "app/live/live_impl.h"

/* Stores how many prompts the operator's window shows (all up to the last one that has a text), and the weight, 0 to
 * 1, that each has in the picture. */
static void find_prompts(struct face_content *face, const struct parameters *values, const struct controls *now) {
  face->prompts = 0;
  bool any = false;
  for (int i = 0; i < FACE_PROMPTS; i++) {
    face->prompt_share[i] = now->blend[i];
    any |= now->blend[i] > 0;
    if (parameters_text(values, PARAMETER_PROMPT, i + 1))
      face->prompts = i + 1;
  }
  for (int i = 0; i < FACE_PROMPTS && !any; i++)
    face->prompt_share[i] = now->prompt == SLOT_PRESET_1 + i;
}

/* Stores the names of the saved presets that the operator's window shows, a page of FACE_SCENES at a time. When a
 * preset was applied, its page is shown. */
static void find_scenes(struct live *live, struct face_content *face) {
  const struct parameters *values = &live->state.settings.values;
  face->scenes = live->presets.file ? presets_file_count(live->presets.file) : 0;
  if (face->scene_taken != live->presets.taken && live->presets.taken)
    live->operation.first_scene = (live->presets.taken - 1) / FACE_SCENES * FACE_SCENES + 1;
  if (live->operation.first_scene < 1 || live->operation.first_scene > face->scenes)
    live->operation.first_scene = 1;
  face->scene_taken = live->presets.taken;
  face->scene_cued = (int)values->cued_preset;
  face->first_scene = live->operation.first_scene;
  for (int i = 0; i < FACE_SCENES; i++)
    if (face->first_scene + i <= face->scenes)
      presets_file_name(live->presets.file, face->first_scene + i, face->scene_name[i]);
}

void live_update_face(struct live *live, const struct controls *now, bool is_clip) {
  struct face_content *face = &live->operation.face;
  const struct parameters *values = &live->state.settings.values;
  live->operation.refusals = (struct refusals){0};
  if (live->state.ready)
    refusals_find(&live->operation.refusals, &live->engine.info, &live->engine.prepared);
  face->refusals = &live->operation.refusals;
  face->bars = parameter_list_leading(values, &live->operation.refusals, face->bar, FACE_BARS);
  find_prompts(face, values, now);
  find_scenes(live, face);
  face->clip = is_clip;
  face->clip_at_s = values->clip_position;
  face->clip_left_s = values->clip_time_left;
  face->clip_speed = values->clip_speed;
  face->clip_from_s = values->clip_in;
  /* clip_time_left is in seconds of the clock; multiplied by the speed at which the file is played, it is in seconds of
   * the file */
  face->clip_end_s =
      values->clip_time_left > 0 ? values->clip_position + values->clip_time_left * values->clip_speed : 0;
}

static char *print_refusals(const struct refusals *refusals) {
  cJSON *list = cJSON_CreateObject();
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (refusals->why[id])
      cJSON_AddStringToObject(list, parameter_row(id)->name, refusals->why[id]);
  char *text = cJSON_PrintUnformatted(list);
  cJSON_Delete(list);
  return text;
}

void live_publish_refusals(struct live *live) {
  struct refusals now = {0};
  if (live->state.ready)
    refusals_find(&now, &live->engine.info, &live->engine.prepared);
  if (!memcmp(&now, &live->operation.told, sizeof now))
    return;
  live->operation.told = now;
  hub_set_list(live->hub, HUB_REFUSALS, print_refusals(&now));
}

static void get_places(struct live *live, struct face_places *places) {
  int width, height;
  window_use(live->window, WINDOW_OPERATOR);
  window_get_size(live->window, &width, &height);
  hud_get_face_places(live->hud, width, height, places);
}

/* Returns the grip (a press that is not released yet) of the event's finger, or of the mouse, which counts as finger 0.
 * A finger that has just been put down gets a free grip. NULL: all grips were in use when the finger was put down. */
static struct live_grip *find_grip(struct live *live, const struct window_event *event) {
  struct live_grip *unused = NULL;
  for (int i = 0; i < LIVE_GRIPS; i++) {
    struct live_grip *grip = &live->operation.grips[i];
    if (grip->held && grip->finger == event->finger)
      return grip;
    if (!grip->held && !unused)
      unused = grip;
  }
  if (unused && event->pressed)
    *unused = (struct live_grip){.held = true, .finger = event->finger};
  return event->pressed ? unused : NULL;
}

bool live_operate(struct live *live, const struct window_event *event, int64_t now_ns) {
  struct face_places places;
  struct face_grip *grip;
  get_places(live, &places);
  if (event->type == WINDOW_WHEEL) {
    face_wheel(&places, &live->operation.face, &live->panel, &live->state, &live->operation.first_scene, event->x,
               event->y, event->turns, now_ns);
    return true;
  }
  struct live_grip *own = find_grip(live, event);
  if (!own)
    return true;
  grip = &own->grip;
  if (event->type == WINDOW_RELEASE) {
    face_release(grip, &places, &live->operation.face, &live->panel, &live->state, now_ns);
    own->held = false;
    return true;
  }
  if (event->pressed &&
      face_press(grip, &places, &live->operation.face, &live->panel, &live->state, event->x, event->y, now_ns))
    return true;
  face_drag(grip, &places, &live->operation.face, &live->panel, &live->state, event->x, event->y, now_ns);
  return grip->hit.part != FACE_PICTURE && grip->hit.part != FACE_NOTHING;
}
