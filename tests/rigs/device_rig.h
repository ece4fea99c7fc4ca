/* A small plan that is prepared on a device, for tests of the device interface (unet/plan/device.h). */
#ifndef TESTS_DEVICE_RIG_H
#define TESTS_DEVICE_RIG_H

#include <stdint.h>

#include "unet/base/picture.h"
#include "unet/devices.h"

enum { W = 24, H = 16, HELD = 3 };

/* A plan, and all that is needed to run it. */
struct rig {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  uint8_t pixels[W * H * 4];
  struct frame frame;
};

/* Fills in a plan for frames: pixels in, a 3x3 convolution that copies its input, pixels out. */
void rig_plan(struct rig *r);
/* rig_begin makes a rig with its plan; rig_prepare prepares the plan on the named device; rig_open does both. */
struct rig *rig_begin(void);
void rig_prepare(struct rig *r, const char *name);
struct rig *rig_open(const char *name);
void rig_close(struct rig *r);

#endif
