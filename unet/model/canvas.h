/* A canvas that follows the camera: the ops that a frame's plan has for it, in their order. Without a canvas
 * (size.lattice 0) the functions return what they are given. */
#ifndef UNET_MODEL_CANVAS_H
#define UNET_MODEL_CANVAS_H

#include "unet/model/plans.h"

struct canvas {
  struct canvas_size size;
  struct tensor place; /* state of OP_CANVAS_PLACE */
};

/* Returns the sizes of a canvas for frames of h x w pixels, which are multiples of model_size_multiple. The window's
 * sides are multiples of that and of the lattice, and as small as possible. */
struct canvas_size canvas_size_for(const struct model *model, int h, int w);

/* Appends the frame's place. global: how the picture moved since the last frame (enum global_value). */
struct canvas canvas_begin(const struct canvas_size *size, struct plan *plan, struct tensor global);
/* Draws a picture of the frame's size at its place; values of a mask, which are 0 or 1, stay so. */
struct tensor canvas_draw(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor picture);
struct tensor canvas_draw_mask(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor mask);
/* Returns the frame's part of a picture that was made of the window. */
struct tensor canvas_cut_out(const struct canvas *canvas, struct plan *plan, struct tensor made);
/* Returns the noise at the window's place, a state; no tensor stays no tensor. name: of the state. */
struct tensor canvas_noise(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor noise);

#endif
