#include "app/window/import_gl.h"

#include <epoxy/gl.h>

#include "app/window/gl_util.h"
#include "unet/base/platform.h"

/* Returns true if OpenGL has memory barriers (glMemoryBarrier). Looking up an extension takes longer than drawing, so
 * this is called once, by `suits`, and not by `renew`, which runs for each picture. */
static bool has_barrier(void) {
  return epoxy_gl_version() >= 42 || epoxy_has_gl_extension("GL_ARB_shader_image_load_store");
}

static bool suits(void *opaque, const struct gpu_id *gpu) {
  struct gpu_id own = {0};
  (void)opaque;
  if (!epoxy_has_gl_extension("GL_EXT_memory_object_fd") || !has_barrier())
    return false;
  glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, own.uuid);
  return gpu_same(&own, gpu);
}

static void close_import(void *opaque, const struct imported *imported) {
  (void)opaque;
  glDeleteBuffers(1, &imported->buffer);
  glDeleteMemoryObjectsEXT(1, &imported->memory);
}

/* Imports memory into OpenGL. If that succeeds, OpenGL owns and closes the descriptor; therefore OpenGL gets a copy of
 * `share`. Returns 0, or -1 with err. */
static int open_import(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err) {
  int taken = platform_copy_descriptor(share);
  if (taken < 0)
    return error_set(err, STATUS_OUTPUT, "no file descriptor for the memory of a picture");
  gl_forget_errors();
  glCreateMemoryObjectsEXT(1, &imported->memory);
  glImportMemoryFdEXT(imported->memory, bytes, GL_HANDLE_TYPE_OPAQUE_FD_EXT, taken);
  GLenum code = glGetError();
  if (code)
    platform_close_descriptor(taken);
  glGenBuffers(1, &imported->buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, imported->buffer);
  if (!code)
    glBufferStorageMemEXT(GL_PIXEL_UNPACK_BUFFER, (GLsizeiptr)bytes, imported->memory, 0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  code = code ? code : glGetError();
  if (!code)
    return 0;
  close_import(opaque, imported);
  return error_set(err, STATUS_OUTPUT, "OpenGL refuses the memory of a picture (error 0x%x)", code);
}

/* Usually OpenGL and CUDA would share a semaphore that tells when memory was written, but CUDA cannot share one with
 * OpenGL; this memory barrier serves instead. */
static void renew(void *opaque) {
  (void)opaque;
  glMemoryBarrier(GL_PIXEL_BUFFER_BARRIER_BIT);
}

static void *make_fence(void *opaque) {
  (void)opaque;
  return glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
}

/* Returns true if the GPU has executed all commands before the fence. Flushes the commands first, because otherwise
 * they might never be executed. If the context is lost, the wait fails, and the result is also true. */
static bool has_passed(void *opaque, void *fence) {
  (void)opaque;
  return glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 0) != GL_TIMEOUT_EXPIRED;
}

static void free_fence(void *opaque, void *fence) {
  (void)opaque;
  glDeleteSync(fence);
}

const struct import_impl import_gl = {.suits = suits,
                                      .open = open_import,
                                      .close = close_import,
                                      .renew = renew,
                                      .make_fence = make_fence,
                                      .has_passed = has_passed,
                                      .free_fence = free_fence};
