/* Lists cameras and their modes without taking pictures. Each system has its own implementation: platform_camera.c for
 * Video4Linux, otherwise platform_cameraless.c. */
#ifndef APP_PLATFORM_PLATFORM_CAMERA_H
#define APP_PLATFORM_PLATFORM_CAMERA_H

#include <stdbool.h>

/* A mode of a camera: a pixel format with one size or a range of sizes, and one rate or a range of rates. */
struct camera_mode {
  char format[5];    /* the four characters by which V4L2 names the format, such as "YUYV" or "MJPG" */
  int width, height; /* largest size of pictures in this mode, in pixels */
  /* smallest size, and steps from one size to the next, in pixels; steps 0: only the largest size is available */
  int width_least, height_least, width_step, height_step;
  double fps, fps_least; /* largest and smallest number of frames per second; 0: unknown */
};

struct camera {
  char path[64];   /* path of the device, for example "/dev/video0" */
  char name[64];   /* the camera's name for users, for example "HD Pro Webcam C920" */
  char driver[32]; /* name of the camera's driver, for example "uvcvideo" */
  char place[64];  /* position on the USB or PCI bus, for example "usb-0000:00:14.0-2" */
  bool has_signal; /* true: the device digitises a video signal, as a capture card does, and has no lens of its own */
  struct camera_mode *modes;
  int mode_count;
};

/* The system calls that are used to examine a camera; tests replace them to simulate a device. */
struct camera_calls {
  /* opens a device; returns a descriptor, or -1 with errno */
  int (*open)(const char *path);
  /* queries the device; has the arguments and the result of ioctl */
  int (*ask)(int descriptor, unsigned long request, void *argument);
  void (*close)(int descriptor);
};

/* Returns true if this build can list the system's cameras. */
bool platform_has_cameras(void);
/* Fills *camera with what the device at path says; the caller frees it with platform_free_camera. Returns 0 or -1;
 * errno is ENOTTY or EINVAL if path is no camera, or an auxiliary device of a camera that delivers no pictures. calls
 * NULL means the real system calls. */
int platform_look_at_camera(struct camera *camera, const char *path, const struct camera_calls *calls);
void platform_free_camera(struct camera *camera);

/* Stores the name of the group whose members may open path. Returns false if it is unknown. */
bool platform_group_of(const char *path, char *name, int size);

#endif
