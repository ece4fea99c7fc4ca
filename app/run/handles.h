/* The prepared handles of one engine: the one in use, and others that are kept beside it, so that changing to one of
 * them takes no time. They are prepared and released beside the frames. The engine's thread alone calls. */
#ifndef APP_RUN_HANDLES_H
#define APP_RUN_HANDLES_H

#include "app/run/preparer.h"

enum { HANDLES_MAX = 4 }; /* kept at a time; while one takes another's place there is one more */

struct handle {
  struct prepared *prepared;
  struct engine_shape shape;
  long until; /* its frames are back when so many submits are collected */
  bool stale; /* frames were left under way in its stream batch: it is not used again */
};

/* Zero-initialise to start. */
struct handles {
  struct preparer preparer;
  struct handle at[HANDLES_MAX + 2];
  int count, used; /* used: its place */
  struct engine_shape refused[HANDLES_MAX];
  int refusals;
};

bool handles_same_shape(const struct engine_shape *a, const struct engine_shape *b);

/* Of this engine there is one handle, which is in use; what there was of another engine is that one's. Nothing is being
 * prepared. */
void handles_begin(struct handles *handles, struct engine *engine, struct prepared *first);
struct prepared *handles_used(const struct handles *handles);

/* The place of a handle that can be used at once; -1: there is none. */
int handles_find(const struct handles *handles, const struct engine_shape *shape);
/* That one is used from now on, when so many submits are made. */
void handles_use(struct handles *handles, int place, long submitted);
/* Whether the shape was refused since handles_forgive. */
bool handles_refused(const struct handles *handles, const struct engine_shape *shape);
void handles_forgive(struct handles *handles);

/* Takes what was prepared. -1: *shape was refused, and err says why; it is not asked for again. 0: nothing to tell. */
int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err);
/* One handle that is neither used nor wanted goes, else the first that is wanted and not there is prepared; the second
 * and later ones only beside a wanted one in use. collected: submits. As handles_take. */
int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err);

#endif
