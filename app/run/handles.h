/* The prepared handles of one engine: the one in use, and others that are kept so that a change to them takes no time.
 * They are prepared and released on another thread while frames continue. The engine's thread calls all functions. */
#ifndef APP_RUN_HANDLES_H
#define APP_RUN_HANDLES_H

#include "app/run/preparer.h"

enum { HANDLES_MAX = 4 }; /* most handles that are kept; during a replacement there is one more */

struct handle {
  struct prepared *prepared;
  struct engine_shape shape;
  long until; /* number of collected runs with which its frames are finished */
  bool stale; /* not used again, because its stream batch contains frames of an earlier use */
};

/* Zero-initialise to start. */
struct handles {
  struct preparer preparer;
  struct handle at[HANDLES_MAX + 2];
  int count, used; /* used: index of the handle in use */
  struct engine_shape refused[HANDLES_MAX];
  int refusals;
};

/* True if a handle of one shape serves as well for the other. */
bool handles_same_shape(const struct engine_shape *a, const struct engine_shape *b);

/* Starts with one handle of this engine, which is in use. Handles of a previous engine belong to that engine. Nothing
 * may be in preparation. */
void handles_begin(struct handles *handles, struct engine *engine, struct prepared *first);
/* Returns the handle in use, which remains the engine's. */
struct prepared *handles_used(const struct handles *handles);

/* Returns the index of a handle that can be used at once; -1: there is none. */
int handles_find(const struct handles *handles, const struct engine_shape *shape);
/* Puts the handle at index `place` into use. submitted: number of runs submitted so far. */
void handles_use(struct handles *handles, int place, long submitted);
/* True if the shape was refused since the last handles_forget_refusals. */
bool handles_refused(const struct handles *handles, const struct engine_shape *shape);
/* Allows refused shapes to be tried again. */
void handles_forget_refusals(struct handles *handles);

/* Stores the handle whose preparation has finished. -1: *shape was refused, err says why, and it is not prepared again;
 * 0 otherwise. */
int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err);
/* Starts at most one task: releases a handle that is neither used nor wanted, or else prepares the first wanted one
 * that does not exist; later ones only if the handle in use is wanted. collected: number of runs collected so far.
 * Returns like handles_take. */
int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err);

#endif
