/* Cameras as the system knows them: what each gives, without taking pictures of it. One file a system:
 * platform_camera.c where there is Video4Linux, else platform_cameraless.c. */
#ifndef APP_PLATFORM_PLATFORM_CAMERA_H
#define APP_PLATFORM_PLATFORM_CAMERA_H

#include <stdbool.h>

/* One pixel format in a size, or in a range of sizes, at a rate or a range of rates. */
struct camera_mode {
  char format[5];                                         /* the four characters of V4L2: "YUYV", "MJPG" */
  int width, height;                                      /* the largest */
  int width_least, height_least, width_step, height_step; /* steps 0: that size alone */
  double fps, fps_least;                                  /* frames a second, the most and the least; 0: not known */
};

struct camera {
  char path[64];   /* "/dev/video0" */
  char name[64];   /* "HD Pro Webcam C920" */
  char driver[32]; /* "uvcvideo" */
  char place[64];  /* the bus, "usb-0000:00:14.0-2" */
  bool has_signal; /* it takes in a signal, as capture cards do, and has no lens */
  struct camera_mode *modes;
  int mode_count;
};

/* The calls to the system, so that tests can stand in for a device. */
struct camera_calls {
  int (*open)(const char *path);                                     /* a descriptor, or -1 with errno */
  int (*ask)(int descriptor, unsigned long request, void *argument); /* as ioctl */
  void (*close)(int descriptor);
};

/* Whether the system has a way to ask. */
bool platform_has_cameras(void);
/* Fills camera, which platform_free_camera frees. -1, and errno says why: ENOTTY or EINVAL where path is no camera, or
 * one of those devices beside a camera that give no pictures. calls NULL: the system's. */
int platform_look_at_camera(struct camera *camera, const char *path, const struct camera_calls *calls);
void platform_free_camera(struct camera *camera);

/* The group whose members may open path. false: unknown. */
bool platform_group_of(const char *path, char *name, int size);

#endif
