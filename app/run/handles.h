/* The prepared handles of one engine (a handle is an engine's program for one size, sampler and number of steps): the
 * one in use, and others that are kept so that a change to them takes no time. A background thread prepares and
 * releases handles while frames continue. Only the thread that submits frames calls these functions. */
#ifndef APP_RUN_HANDLES_H
#define APP_RUN_HANDLES_H

#include "app/run/preparer.h"

enum { HANDLES_MAX = 4 }; /* Number of handles kept at most. While one replaces another there is one more. */

struct handle {
  struct prepared *prepared;
  struct engine_shape shape;
  long until; /* the handle may be released once this many runs have been collected from the engine */
  bool stale; /* must not be used again, because frames of its earlier use remain in its stream batch */
};

/* Zero-initialise to start. */
struct handles {
  struct preparer preparer;
  struct handle at[HANDLES_MAX + 2];
  int count, used; /* count: number of handles in `at`; used: index of the handle in use */
  struct engine_shape refused[HANDLES_MAX];
  int refusals;
};

/* Returns true if the two shapes are equal in all that a handle depends on: size, sampler, steps, guidance, chunks of
 * text, stream batch, controls, bank. */
bool handles_same_shape(const struct engine_shape *a, const struct engine_shape *b);

/* Starts with one handle of this engine, `first`, in use. Handles of the previous engine are not released here, because
 * closing an engine frees them. No preparation may be running. */
void handles_begin(struct handles *handles, struct engine *engine, struct prepared *first);
/* Returns the handle in use. The engine owns it. */
struct prepared *handles_used(const struct handles *handles);

/* Returns the index in handles->at of a ready handle of this shape; -1: there is none. */
int handles_find(const struct handles *handles, const struct engine_shape *shape);
/* Puts the handle at index `place` into use. submitted: total number of runs submitted to the engine so far. */
void handles_use(struct handles *handles, int place, long submitted);
/* Returns true if preparing this shape has failed since the last call of handles_forget_refusals. */
bool handles_refused(const struct handles *handles, const struct engine_shape *shape);
/* Allows refused shapes to be tried again. */
void handles_forget_refusals(struct handles *handles);

/* Adds the handle that the background thread has prepared, if there is one. Returns 0, or -1 with err if the
 * preparation failed: *shape is then the refused shape, which handles_follow does not try again. */
int handles_take(struct handles *handles, struct engine_shape *shape, struct error *err);
/* Starts at most one background task: releases a handle that is neither in use nor wanted, or else prepares the first
 * wanted shape without a handle. wanted: `count` shapes, the most urgent first; if the handle in use is not among them,
 * only the first is prepared. collected: total number of runs collected so far. Returns 0, or -1 with err and *shape if
 * a task could not be started. */
int handles_follow(struct handles *handles, const struct engine_shape *wanted, int count, long collected,
                   struct engine_shape *shape, struct error *err);

#endif
