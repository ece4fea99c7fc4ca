/* Lets tests be skipped if their device is missing. */
#ifndef TESTS_DEVICE_THERE_H
#define TESTS_DEVICE_THERE_H

#include "unet/devices.h"

enum { DEVICE_MISSING = 77 }; /* exit status with which a test program says that it was skipped */

/* Returns true if a device can be opened with these options; if not, prints why. */
bool device_is_there(const struct device_options *options);

#endif
