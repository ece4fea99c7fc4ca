/* Lists cameras and their modes without taking pictures. Each system has its own implementation: platform_camera.c for
 * Video4Linux, otherwise platform_cameraless.c. */
#ifndef APP_PLATFORM_PLATFORM_CAMERA_H
#define APP_PLATFORM_PLATFORM_CAMERA_H

#include <stdbool.h>

/* A pixel format with one size or a range of sizes, and one rate or a range of rates. */
struct camera_mode {
  char format[5];    /* the four characters of V4L2, such as "YUYV" or "MJPG" */
  int width, height; /* largest size */
  /* smallest size and steps; steps 0: only the largest size is available */
  int width_least, height_least, width_step, height_step;
  double fps, fps_least; /* largest and smallest number of frames per second; 0: unknown */
};

struct camera {
  char path[64];   /* for example "/dev/video0" */
  char name[64];   /* for example "HD Pro Webcam C920" */
  char driver[32]; /* for example "uvcvideo" */
  char place[64];  /* position on the bus, for example "usb-0000:00:14.0-2" */
  bool has_signal; /* true for a device that digitises a signal, such as a capture card, instead of having a lens */
  struct camera_mode *modes;
  int mode_count;
};

/* The system calls, which tests replace to simulate a device. */
struct camera_calls {
  int (*open)(const char *path);                                     /* returns a descriptor, or -1 with errno */
  int (*ask)(int descriptor, unsigned long request, void *argument); /* has ioctl's arguments and result */
  void (*close)(int descriptor);
};

/* True if the system can list cameras. */
bool platform_has_cameras(void);
/* Fills camera; the caller frees it with platform_free_camera. Returns 0 or -1; errno is ENOTTY or EINVAL if path is no
 * camera, or an auxiliary device of a camera that delivers no pictures. calls NULL means the real system calls. */
int platform_look_at_camera(struct camera *camera, const char *path, const struct camera_calls *calls);
void platform_free_camera(struct camera *camera);

/* Stores the group whose members may open path. Returns false if it is unknown. */
bool platform_group_of(const char *path, char *name, int size);

#endif
