/* Pictures in CUDA memory in OpenGL, by the file descriptor of their memory: a texture has exactly their pixels. There
 * is no window: EGL makes a context on the GPU. Skipped where there is no GPU, or no OpenGL that imports its memory. */
#include "cuda_util.h"

#include <dlfcn.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdio.h>

enum { KINDS = 5, FRAMES = 40, NUMBERS = 8, DEVICES = 16, BYTES = 4 * SIDE * SIDE };

/* Makes a context of the EGL device current. */
static bool open_device(EGLDeviceEXT device) {
  /* Without a surface type, EGL looks for configurations for windows, which a device without a screen lacks. */
  static const EGLint wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  EGLDisplay display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, device, NULL);
  EGLConfig config;
  EGLint count = 0;
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
      !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
    return false;
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  return context != EGL_NO_CONTEXT && eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
}

static bool is_of_gpu(const unsigned char uuid[16]) {
  GLubyte own[16] = {0};
  if (!epoxy_has_gl_extension("GL_EXT_memory_object_fd") || epoxy_gl_version() < 45)
    return false;
  glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, own);
  return !memcmp(own, uuid, sizeof own);
}

static bool open_gl(const unsigned char uuid[16]) {
  EGLDeviceEXT devices[DEVICES];
  EGLint count = 0;
  if (!dlopen("libEGL.so.1", RTLD_NOW) || !eglQueryDevicesEXT(DEVICES, devices, &count))
    return false;
  for (int i = 0; i < count; i++)
    if (open_device(devices[i]) && is_of_gpu(uuid))
      return true;
  return false;
}

/* A buffer of OpenGL in the memory of pictures of this number. */
struct import {
  uint64_t number;
  GLuint memory, buffer;
};

static struct import import_memory(const struct reverie_picture *picture) {
  struct import import = {.number = picture->number};
  int descriptor;
  size_t bytes;
  MUST(reverie_export(picture, &descriptor, &bytes, error));
  glCreateMemoryObjectsEXT(1, &import.memory);
  glImportMemoryFdEXT(import.memory, bytes, GL_HANDLE_TYPE_OPAQUE_FD_EXT, descriptor);
  glCreateBuffers(1, &import.buffer);
  glNamedBufferStorageMemEXT(import.buffer, (GLsizeiptr)bytes, import.memory, 0);
  assert_int_equal(glGetError(), GL_NO_ERROR);
  return import;
}

static GLuint buffer_of(const struct reverie_picture *picture, struct import known[NUMBERS], int *count) {
  for (int i = 0; i < *count; i++)
    if (known[i].number == picture->number)
      return known[i].buffer;
  assert_true(*count < NUMBERS);
  known[*count] = import_memory(picture);
  return known[(*count)++].buffer;
}

/* Copies a picture from its buffer to the texture, and the texture to the host. */
static void draw(GLuint texture, GLuint buffer, const struct reverie_picture *picture, uint8_t pixels[BYTES]) {
  glMemoryBarrier(GL_PIXEL_BUFFER_BARRIER_BIT);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, picture->pitch[0] / 4);
  glTextureSubImage2D(texture, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, BYTES, pixels);
  assert_int_equal(glGetError(), GL_NO_ERROR);
}

static void textures_show_pictures(void **state) {
  struct reverie *reverie = *state;
  static uint8_t expected[BYTES], drawn[BYTES];
  struct import known[NUMBERS];
  struct frames frames[KINDS];
  GLuint texture;
  int count = 0;
  glCreateTextures(GL_TEXTURE_2D, 1, &texture);
  glTextureStorage2D(texture, 1, GL_RGBA8, SIDE, SIDE);
  for (int i = 0; i < KINDS; i++)
    frames[i] = make_frames(REVERIE_RGBA, i, 0);
  for (int i = 0; i < FRAMES; i++) {
    struct reverie_picture picture = picture_of(reverie, &frames[i % KINDS].host);
    draw(texture, buffer_of(&picture, known, &count), &picture, drawn);
    copy_picture(&picture, expected);
    assert_memory_equal(drawn, expected, BYTES);
    reverie_release(&picture);
  }
  print_message("%d pictures in %d buffers of OpenGL %s\n", FRAMES, count, (const char *)glGetString(GL_VERSION));
  for (int i = 0; i < count; i++) {
    glDeleteBuffers(1, &known[i].buffer);
    glDeleteMemoryObjectsEXT(1, &known[i].memory);
  }
  for (int i = 0; i < KINDS; i++)
    free_frames(&frames[i]);
  glDeleteTextures(1, &texture);
}

static struct reverie *reverie;

static int give(void **state) {
  *state = reverie;
  return 0;
}

/* Opens an engine, and OpenGL on its GPU. Returns 0, SKIPPED or 1. */
static int open_both(void) {
  const struct reverie_config config = {
      .size = sizeof config, .device = "cuda", .memory = REVERIE_CUDA, .shares = 1, .cache_dir = ""};
  struct reverie_info info = {.size = sizeof info};
  struct reverie_error error = {.size = sizeof error};
  if (reverie_create(&reverie, &config, &error) || reverie_open(reverie, &error) ||
      reverie_prepare(reverie, SIDE, SIDE, &error) || reverie_get_info(reverie, &info, &error)) {
    printf("%s\n", error.message);
    return 1;
  }
  if (open_gl(info.gpu_uuid))
    return 0;
  printf("skipped: there is no OpenGL that imports this GPU's memory\n");
  return SKIPPED;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(textures_show_pictures)};
  int status = look_for_gpu();
  if (!status)
    status = open_both();
  if (!status)
    status = cmocka_run_group_tests(tests, give, NULL);
  reverie_destroy(&reverie);
  return status;
}
