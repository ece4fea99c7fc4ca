/* Scripts, which are parameter values over time: playing one, and recording another. Only the main thread uses them. */
#ifndef APP_LIVE_LIVE_SCRIPTS_H
#define APP_LIVE_LIVE_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unet/base/error.h"

struct live;
struct script;
struct script_recorder;

struct live_scripts {
  struct script *played; /* the script (parameter values over time) that is played; NULL: none */
  /* writes the recorded script; NULL: no script is recorded, or the engine is not open yet */
  struct script_recorder *recorder;
  FILE *file;  /* file to which changes of parameters will be recorded; NULL: none, or the recorder owns it */
  bool broken; /* true: writing the recorded script failed, and its file is incomplete */
  /* begun_ns: when the recorded script began; played_ns: when the played script began, or began to be repeated */
  int64_t begun_ns, played_ns;
  double played_s; /* position up to which the script was played, in seconds; < 0: it has not begun */
};

/* Opens the script that is to be played, and the file to which a script is to be recorded. Returns 0, or -1 with
 * err. */
int live_open_scripts(struct live *live, struct error *err);
/* Gives parameters the values that the played script has for this moment. If a script is being recorded, adds to it the
 * values that somebody has set. */
void live_follow_scripts(struct live *live, int64_t now_ns);
/* Ends playing and recording. Returns 0, or -1 with err if the recorded script is incomplete. */
int live_close_scripts(struct live *live, struct error *err);

#endif
