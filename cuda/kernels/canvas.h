/* Ops of the canvas, an endless plane on which the scene stands still while the camera moves, as in
 * unet/plan/op_canvas.h. */
#ifndef CUDA_KERNELS_CANVAS_H
#define CUDA_KERNELS_CANVAS_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct canvas_args {
  const int32_t *global;
  int32_t *place;
  const void *x; /* the input: a picture, FP16 or FP32; for launch_canvas_noise noise, FP32 */
  void *y;
  enum dtype x_type, y_type; /* element types of x and y: FP32 or FP16 */
  int h, w;                  /* height and width of the input x in pixels */
  int y_h, y_w;              /* height and width of the result y in pixels */
  int n, c;
  struct canvas_size size;
  bool back, nearest;
  int cell;
};

/* launch_canvas_place does OP_CANVAS_PLACE, launch_canvas_draw OP_CANVAS_DRAW, launch_canvas_noise OP_CANVAS_NOISE. */
cudaError_t launch_canvas_place(const struct launch_queue *queue, const struct canvas_args *args);
cudaError_t launch_canvas_draw(const struct launch_queue *queue, const struct canvas_args *args);
cudaError_t launch_canvas_noise(const struct launch_queue *queue, const struct canvas_args *args);

#ifdef __cplusplus
}
#endif

#endif
