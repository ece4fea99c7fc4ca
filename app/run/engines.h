/* The engines that make a render's pictures: one engine on each device that --device names. */
#ifndef APP_RUN_ENGINES_H
#define APP_RUN_ENGINES_H

#include "app/run/device_names.h"
#include "unet/engine.h"

struct setup;

/* largest number of inputs for whose size the engines keep their prepared handles, so that a later input of that size
 * needs no preparation */
enum { ENGINES_KEPT = 4 };

/* One handle (prepared size and step count) of each engine, all of the same shape, and what they were prepared for. */
struct engines_kept {
  /* the shape (size, step count and so on) that setup_shape computed for an input; but its number of frames in a run
   * need not be the one with which the handles were prepared */
  struct engine_shape wish;
  int batch; /* value of setup.batch (largest number of frames in a run) for which the handles (each one size and step
              * count) were prepared */
  struct prepared *prepared[ENGINES_MAX];
};

struct engines {
  int count;
  struct {
    struct engine *engine;
    struct prepared *prepared;
  } of[ENGINES_MAX];
  struct device_names names; /* device names for messages; used only if there are several engines */
  /* Handles (engines made ready for one size and step count) that are kept. Those in kept[0] are in use, those in the
   * next elements are older. */
  struct engines_kept kept[ENGINES_KEPT];
  int kept_count;
  enum pixel_format output; /* pixel format of the pictures that the engines make */
};

/* Makes the engines ready for an input. The first call opens an engine on each device that setup->options names, and
 * encodes all prompts and style pictures. A later call opens them again only if its input needs another pixel format,
 * or if setup->choices is set; otherwise it uses handles kept for an input of the same size, or prepares new ones.
 * Options of later calls may differ only in input and output.
 *
 * All engines' handles have the same shape. The first engine chooses the number of frames in a run and the method of
 * each matrix product; the others do the same, so that a picture does not depend on the engine. If the CPU is named
 * several times, each of its engines gets an equal part of the cores. setup->pictures is ignored: each engine gets as
 * many pictures as the pipeline holds. setup->log must outlive the engines. Returns 0, or -1 with err; the caller calls
 * engines_close in both cases. */
int engines_use(struct engines *engines, const struct setup *setup, struct error *err);
void engines_close(struct engines *engines); /* closes all engines and zeroes the struct; accepts a zeroed one */

/* Writes the number of engines as a prefix of a device's name in messages, such as "2 x "; "" if there is one engine.
 * Returns `text`. */
const char *engines_times(const struct engines *engines, char text[16]);

#endif
