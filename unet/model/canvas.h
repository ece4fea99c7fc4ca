/* Appends the ops for a canvas: an endless plane on which the scene stands still while the camera moves. The functions
 * are declared in the order in which a frame's plan needs them. Without a canvas (size.lattice 0) they return their
 * inputs. */
#ifndef UNET_MODEL_CANVAS_H
#define UNET_MODEL_CANVAS_H

#include "unet/model/plans.h"

struct canvas {
  struct canvas_size size;
  /* the state (a tensor that outlives a run) in which OP_CANVAS_PLACE stores where the frame lies on the canvas: an
   * endless plane on which the scene stands still while the camera moves */
  struct tensor place;
};

/* Returns the sizes of a canvas (an endless plane on which the scene stands still while the camera moves) for frames of
 * h x w pixels (multiples of model_size_multiple). The networks compute a window of the canvas, in which the frame may
 * lie anywhere. The window's sides are the smallest multiples of model_size_multiple and model_lattice with room for
 * that. */
struct canvas_size canvas_size_for(const struct model *model, int h, int w);

/* Appends the op that computes where the frame lies on the canvas (an endless plane on which the scene stands still
 * while the camera moves). global: the state that says how the whole picture moved since the last frame (enum
 * global_value). */
struct canvas canvas_begin(const struct canvas_size *size, struct plan *plan, struct tensor global);
/* Appends the op that draws a picture of the frame's size into the window, where the frame lies in it. Returns the
 * window: the part of the canvas (an endless plane) that the networks compute. canvas_draw_mask keeps a mask's values 0
 * or 1. */
struct tensor canvas_draw(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor picture);
struct tensor canvas_draw_mask(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor mask);
/* Appends the op that cuts the frame's part out of `made`, and returns it. `made` is a picture of the window, the part
 * of the canvas (an endless plane) that the networks compute. */
struct tensor canvas_cut_out(const struct canvas *canvas, struct plan *plan, struct tensor made);
/* Appends the op that moves noise with the canvas (an endless plane that follows the camera). Returns the moved noise
 * for the canvas's window (the part that the networks draw). It is a state (a tensor that outlives a run) with this
 * name. If `noise` is no tensor, neither is the result. */
struct tensor canvas_noise(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor noise);

#endif
