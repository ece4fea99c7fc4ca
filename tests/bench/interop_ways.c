#include "tests/bench/interop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint32_t *device_picture; /* ordinary memory of CUDA, out of reach of OpenGL */
uint32_t *pinned;
static uint32_t *mapped_buffer;
static GLuint buffer, own_buffer;
GLuint memory;
static cudaGraphicsResource_t resource;
static EGLImageKHR image;
static CUdeviceptr shared_address;
static size_t shared_bytes;
static CUmemGenericAllocationHandle shared_handle;
static int shared_fd = -1;

static void copy_from_buffer(void) {
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
}

uint32_t *open_plain(void) {
  make_plain_texture();
  return cuda_ok(cudaMalloc((void **)&device_picture, BYTES), "memory") ? device_picture : NULL;
}

uint32_t *open_pinned(void) {
  return cuda_ok(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocPortable), "pinned memory") ? open_plain() : NULL;
}

bool hand_nothing(void) {
  return true;
}

static bool hand_upload(void) {
  if (!cuda_ok(cudaMemcpyAsync(pinned, device_picture, BYTES, cudaMemcpyDeviceToHost, stream), "download") ||
      !cuda_ok(cudaStreamSynchronize(stream), "download"))
    return false;
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pinned);
  return true;
}

bool hand_pinned(void) {
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pinned);
  return true;
}

static uint32_t *open_persistent(void) {
  static const GLbitfield flags = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBufferStorage(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, flags | GL_CLIENT_STORAGE_BIT);
  mapped_buffer = glMapBufferRange(GL_PIXEL_UNPACK_BUFFER, 0, BYTES, flags);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("persistent buffer") && mapped_buffer ? open_plain() : NULL;
}

static uint32_t *open_persistent_memory(void) {
  return cuda_ok(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocPortable), "pinned memory") ? open_persistent()
                                                                                                 : NULL;
}

static uint32_t *open_persistent_registered(void) {
  uint32_t *picture = open_persistent();
  return picture && cuda_ok(cudaHostRegister(mapped_buffer, BYTES, cudaHostRegisterPortable), "host register") ? picture
                                                                                                               : NULL;
}

static bool hand_persistent(void) {
  if (!cuda_ok(cudaMemcpyAsync(mapped_buffer, device_picture, BYTES, cudaMemcpyDeviceToHost, stream), "download") ||
      !cuda_ok(cudaStreamSynchronize(stream), "download"))
    return false;
  copy_from_buffer();
  return true;
}

static bool register_buffer(void) {
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, GL_STREAM_COPY);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("buffer") &&
         cuda_ok(cudaGraphicsGLRegisterBuffer(&resource, buffer, cudaGraphicsRegisterFlagsWriteDiscard),
                 "register buffer");
}

uint32_t *open_registered(void) {
  uint32_t *picture = open_plain();
  return picture && register_buffer() ? picture : NULL;
}

bool hand_registered(void) {
  void *to;
  size_t bytes;
  if (!cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") ||
      !cuda_ok(cudaGraphicsResourceGetMappedPointer(&to, &bytes, resource), "pointer") ||
      !cuda_ok(cudaMemcpyAsync(to, device_picture, BYTES, cudaMemcpyDeviceToDevice, stream), "copy") ||
      !cuda_ok(cudaGraphicsUnmapResources(1, &resource, stream), "unmap"))
    return false;
  copy_from_buffer();
  return true;
}

uint32_t *open_mapped_once(void) {
  void *to;
  size_t bytes;
  make_plain_texture();
  return register_buffer() && cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
                 cuda_ok(cudaGraphicsResourceGetMappedPointer(&to, &bytes, resource), "pointer")
             ? to
             : NULL;
}

bool hand_buffer(void) {
  copy_from_buffer();
  return gl_ok("copy from buffer");
}

/* Copies from the buffer behind a barrier. OpenGL cannot learn that CUDA wrote into the buffer: the barrier orders only
 * what OpenGL writes itself, and the table shows whether it helps. */
static bool hand_barred_buffer(void) {
  glMemoryBarrier(GL_PIXEL_BUFFER_BARRIER_BIT);
  return hand_buffer();
}

static bool hand_barred_texels(void) {
  glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT);
  return gl_ok("barrier");
}

/* Copies into a second buffer, which OpenGL allocated, and fills the texture from that one. */
static bool hand_copied_buffer(void) {
  glBindBuffer(GL_COPY_READ_BUFFER, buffer);
  glBindBuffer(GL_COPY_WRITE_BUFFER, own_buffer);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, BYTES);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, own_buffer);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("copy");
}

/* Copies the picture on the CPU from pinned memory into the mapped buffer and fills the texture from that, the way for
 * pictures in ordinary memory. */
bool hand_memory(void) {
  memcpy(mapped_buffer, pinned, BYTES);
  copy_from_buffer();
  return true;
}

/* Enqueues the copy of the picture into the texture's array and does not wait for it. */
static bool copy_to_array(cudaArray_t array) {
  return cuda_ok(
      cudaMemcpy2DToArrayAsync(array, 0, 0, device_picture, SIDE * 4, SIDE * 4, SIDE, cudaMemcpyDeviceToDevice, stream),
      "copy to array");
}

static uint32_t *open_registered_image(void) {
  uint32_t *picture = open_plain();
  return picture && cuda_ok(cudaGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D,
                                                        cudaGraphicsRegisterFlagsWriteDiscard),
                            "register image")
             ? picture
             : NULL;
}

static bool hand_registered_image(void) {
  cudaArray_t array;
  return cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
         cuda_ok(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), "array") && copy_to_array(array) &&
         cuda_ok(cudaGraphicsUnmapResources(1, &resource, stream), "unmap");
}

static cudaArray_t kept_array;

static uint32_t *open_image_mapped_once(void) {
  uint32_t *picture = open_registered_image();
  return picture && cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
                 cuda_ok(cudaGraphicsSubResourceGetMappedArray(&kept_array, resource, 0, 0), "array")
             ? picture
             : NULL;
}

static bool hand_kept_array(void) {
  return copy_to_array(kept_array) && cuda_ok(cudaStreamSynchronize(stream), "copy");
}

/* Looks a driver call up by its name, so that the program does not link to libcuda. */
static void *driver(const char *name) {
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result))
    return NULL;
  return found;
}

#define DRIVER(name) ((__typeof__(&name))driver(#name))

static bool driver_ok(CUresult code, const char *what) {
  if (code)
    snprintf(why, sizeof why, "%s: CUDA driver error %d", what, code);
  return !code;
}

static bool make_shared(void) {
  CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
  CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  size_t step = 0;
  if (!driver_ok(DRIVER(cuMemGetAllocationGranularity)(&step, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                 "granularity"))
    return false;
  shared_bytes = (BYTES + step - 1) / step * step;
  return driver_ok(DRIVER(cuMemCreate)(&shared_handle, shared_bytes, &properties, 0), "cuMemCreate") &&
         driver_ok(DRIVER(cuMemAddressReserve)(&shared_address, shared_bytes, 0, 0, 0), "reserve") &&
         driver_ok(DRIVER(cuMemMap)(shared_address, shared_bytes, 0, shared_handle, 0), "map") &&
         driver_ok(DRIVER(cuMemSetAccess)(shared_address, shared_bytes, &access, 1), "access") &&
         driver_ok(DRIVER(cuMemExportToShareableHandle)(&shared_fd, shared_handle,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                   "export");
}

static bool dedicated;

static bool import_shared(void) {
  if (!epoxy_has_gl_extension("GL_EXT_memory_object_fd")) {
    snprintf(why, sizeof why, "no GL_EXT_memory_object_fd");
    return false;
  }
  if (!make_shared())
    return false;
  int taken = dup(shared_fd);
  GLint yes = GL_TRUE;
  glCreateMemoryObjectsEXT(1, &memory);
  if (dedicated)
    glMemoryObjectParameterivEXT(memory, GL_DEDICATED_MEMORY_OBJECT_EXT, &yes);
  glImportMemoryFdEXT(memory, shared_bytes, GL_HANDLE_TYPE_OPAQUE_FD_EXT, taken);
  return gl_ok(dedicated ? "import (dedicated)" : "import");
}

static bool make_imported_buffer(GLenum place) {
  if (!import_shared())
    return false;
  glGenBuffers(1, &buffer);
  glBindBuffer(place, buffer);
  glBufferStorageMemEXT(place, BYTES, memory, 0);
  glBindBuffer(place, 0);
  return gl_ok("buffer storage");
}

uint32_t *open_imported(void) {
  dedicated = false;
  make_plain_texture();
  return make_imported_buffer(GL_PIXEL_UNPACK_BUFFER) ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_imported_copied(void) {
  glGenBuffers(1, &own_buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, own_buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, GL_STREAM_COPY);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return open_imported();
}

static uint32_t *open_imported_dedicated(void) {
  dedicated = true;
  make_plain_texture();
  return make_imported_buffer(GL_PIXEL_UNPACK_BUFFER) ? (uint32_t *)shared_address : NULL;
}

uint32_t *open_imported_texel(void) {
  dedicated = false;
  if (!make_imported_buffer(GL_TEXTURE_BUFFER))
    return NULL;
  glGenTextures(1, &buffer_texture);
  glBindTexture(GL_TEXTURE_BUFFER, buffer_texture);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA8, buffer);
  from_buffer = true;
  return gl_ok("buffer texture") ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_imported_image(void) {
  dedicated = false;
  make_texture();
  if (!import_shared())
    return NULL;
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_TILING_EXT, GL_LINEAR_TILING_EXT);
  if (!gl_ok("linear tiling"))
    return NULL;
  glTexStorageMem2DEXT(GL_TEXTURE_2D, 1, GL_RGBA8, SIDE, SIDE, memory, 0);
  return gl_ok("texture storage") ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_egl_image(void) {
  uint32_t *picture = open_plain();
  cudaEglFrame frame;
  if (!picture || !contexts[0]) {
    snprintf(why, sizeof why, "no EGL context");
    return NULL;
  }
  glFinish();
  image = eglCreateImageKHR(display, contexts[0], EGL_GL_TEXTURE_2D_KHR, (EGLClientBuffer)(uintptr_t)texture,
                            (EGLint[]){EGL_NONE});
  if (!image) {
    snprintf(why, sizeof why, "eglCreateImageKHR: 0x%x", eglGetError());
    return NULL;
  }
  if (!cuda_ok(cudaGraphicsEGLRegisterImage(&resource, image, cudaGraphicsRegisterFlagsNone), "register EGL image") ||
      !cuda_ok(cudaGraphicsResourceGetMappedEglFrame(&frame, resource, 0, 0), "EGL frame"))
    return NULL;
  if (frame.frameType != cudaEglFrameTypeArray) {
    snprintf(why, sizeof why, "the EGL frame is no array");
    return NULL;
  }
  kept_array = frame.frame.pArray[0];
  return picture;
}

void close_way(bool opened) {
  glFinish();
  cudaDeviceSynchronize();
  if (resource && opened && !image)
    cudaGraphicsUnmapResources(1, &resource, stream);
  if (resource)
    cudaGraphicsUnregisterResource(resource);
  if (image)
    eglDestroyImageKHR(display, image);
  glDeleteTextures(1, &texture);
  glDeleteTextures(1, &buffer_texture);
  glDeleteBuffers(1, &buffer);
  glDeleteBuffers(1, &own_buffer);
  if (memory)
    glDeleteMemoryObjectsEXT(1, &memory);
  if (shared_address) {
    DRIVER(cuMemUnmap)(shared_address, shared_bytes);
    DRIVER(cuMemAddressFree)(shared_address, shared_bytes);
    DRIVER(cuMemRelease)(shared_handle);
    close(shared_fd);
  }
  cudaFree(device_picture);
  cudaFreeHost(pinned);
  cudaGetLastError();
  gl_ok("closing");
  resource = NULL;
  image = NULL;
  texture = buffer_texture = buffer = own_buffer = memory = 0;
  shared_address = 0;
  device_picture = pinned = mapped_buffer = NULL;
  from_buffer = false;
}

const struct way ways[] = {
    {"draw alone", open_plain, hand_nothing, false, 0},
    {"draw alone, high", open_plain, hand_nothing, false, 1},
    {"draw + swap", open_plain, hand_nothing, true, 0},
    {"draw + swap, high", open_plain, hand_nothing, true, 1},
    {"a download + upload", open_pinned, hand_upload, false, 0},
    {"a' upload of pinned", open_pinned, hand_pinned, false, 0},
    {"b persistent PBO", open_persistent, hand_persistent, false, 0},
    {"b' the same, registered", open_persistent_registered, hand_persistent, false, 0},
    {"c buffer, map each", open_registered, hand_registered, false, 0},
    {"d texture, map each", open_registered_image, hand_registered_image, false, 0},
    {"d' texture, mapped once", open_image_mapped_once, hand_kept_array, false, 0},
    {"e buffer, mapped once", open_mapped_once, hand_buffer, false, 0},
    {"f imported buffer", open_imported, hand_buffer, false, 0},
    {"f' imported, dedicated", open_imported_dedicated, hand_buffer, false, 0},
    {"f'' imported, texels", open_imported_texel, hand_nothing, false, 0},
    {"g imported texture", open_imported_image, hand_nothing, false, 0},
    {"h EGLImage", open_egl_image, hand_kept_array, false, 0},
    {"f high", open_imported, hand_buffer, false, 1},
    {"f barrier", open_imported, hand_barred_buffer, false, 0},
    {"f high, barrier", open_imported, hand_barred_buffer, false, 1},
    {"f copied", open_imported_copied, hand_copied_buffer, false, 0},
    {"f'' texels, barrier", open_imported_texel, hand_barred_texels, false, 0},
    {"b'' memory to PBO", open_persistent_memory, hand_memory, false, 0},
    {"f + swap", open_imported, hand_buffer, true, 0},
    {"a + swap", open_pinned, hand_upload, true, 0},
};
const int way_count = sizeof ways / sizeof *ways;
