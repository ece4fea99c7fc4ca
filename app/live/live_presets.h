/* Presets: named sets of values, which are the scenes of a show. Only the main thread uses them. */
#ifndef APP_LIVE_LIVE_PRESETS_H
#define APP_LIVE_LIVE_PRESETS_H

#include "app/control/parameters.h"

struct live;
struct presets_file;

/* The text that this program itself has given to a parameter which names a preset. put: true: the program has done so
 * since live_take_scene was called last. */
struct scene_name {
  char text[81];
  bool put;
};

struct live_presets {
  struct presets_file *file; /* the file of presets; NULL: the user named none */
  int told;                  /* number of the user's requests to save a preset (state.presets_asked) that were carried
                              * out */
  /* before: the values, before the last preset, of the parameters that it has changed; its marks say which ones these
   * are. undoable: true: `before` is filled; false: no preset was applied yet */
  struct parameters before;
  bool undoable;
  int undos_told; /* number of the user's requests to undo a preset (state.undos_asked) that were carried out */
  int former;     /* number of the preset that was applied before the last one (`taken`); 0: none */
  int taken;      /* number of the preset that was applied last; 0: none */
  /* set: somebody has set the preset's number since a preset was applied; put_back: this program has set the number
   * itself, because the preset could not be applied or was undone */
  bool set, put_back;
  int cued; /* number of the preset that was cued (chosen to be applied next) when the parameter cued-scene was set
             * last; 0: none */
  struct scene_name scene, cued_scene;
};

/* Opens the file of presets. Returns 0, or -1 with err if the file cannot be read, or lacks the preset that the command
 * line names. */
int live_open_presets(struct live *live, struct error *err);
/* Gives the hub (which passes values to clients) the lists of presets and of their pictures, if there is a file of
 * presets. */
void live_publish_presets(struct live *live);
/* Somebody may have set the name of a preset in the parameters scene and cued-scene. Sets saved-preset and cued-preset
 * to the numbers of these presets. For an unknown name, shows a notice and restores the former name. Called before
 * values are sent to the loop's thread. */
void live_take_scene(struct live *live, int64_t now_ns);
/* Applies a preset if the parameter saved_preset has changed; saves the current values as a new preset, or undoes the
 * preset that was applied last, if the user asked for it. Shows a notice about each of these actions. */
void live_follow_presets(struct live *live, int64_t now_ns);
/* Sets the marked values of `changes` as a preset would, with the time of preset-fade. Returns 0, or -1 with err if one
 * of them may not be set while the program runs. */
int live_set_together(struct live *live, struct parameters *changes, int64_t now_ns, struct error *err);
void live_close_presets(struct live *live);

#endif
