#include "app/window/present.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/picture_size.h"
#include "app/window/embed.h"
#include "app/window/gl_util.h"

/* Number of the source's frames that OpenGL may hold at a time. The number is small because a hardware decoder has few
 * frames in all (HARDWARE_HOLDS). */
enum { FRAME_HOLDS = 3 };

/* The arrangements of a frame's samples in its planes, for which the shader input.frag computes colours in different
 * ways; the shader gets the number. */
enum plane_layout { LAYOUT_RGB, LAYOUT_Y_CBCR, LAYOUT_Y_CB_CR, LAYOUT_YUYV };

/* Format of a texture that holds one of a frame's planes. */
struct texture_format {
  int plane;
  GLint internal;
  GLenum format, type;
  int texel_bytes;
  /* the texture's width and height are those of the frame, divided by these numbers and rounded up */
  int divide_x, divide_y;
};

struct pixel_layout {
  enum plane_layout layout;
  int textures;
  struct texture_format texture[3];
};

/* How the planes of each pixel format become textures. YUYV's one plane fills two textures, one with texels (Y, Cb or
 * Cr) for luma and one with texels (Y0, Cb, Y1, Cr) for chroma, so that both can be interpolated. */
static const struct pixel_layout layouts[PIXEL_FORMATS] = {
    [PIXEL_NV12] = {LAYOUT_Y_CBCR,
                    2,
                    {{0, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 1, 1}, {1, GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2, 2, 2}}},
    [PIXEL_P010] = {LAYOUT_Y_CBCR,
                    2,
                    {{0, GL_R16, GL_RED, GL_UNSIGNED_SHORT, 2, 1, 1}, {1, GL_RG16, GL_RG, GL_UNSIGNED_SHORT, 4, 2, 2}}},
    [PIXEL_YUV420P] = {LAYOUT_Y_CB_CR,
                       3,
                       {{0, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 1, 1},
                        {1, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 2, 2},
                        {2, GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1, 2, 2}}},
    [PIXEL_YUYV] = {LAYOUT_YUYV,
                    2,
                    {{0, GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2, 1, 1}, {0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4, 2, 1}}},
    [PIXEL_BGRA] = {LAYOUT_RGB, 1, {{0, GL_RGBA8, GL_BGRA, GL_UNSIGNED_BYTE, 4, 1, 1}}},
    [PIXEL_RGBA] = {LAYOUT_RGB, 1, {{0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4, 1, 1}}},
};

/* One frame or picture as OpenGL has it: up to three textures, one for each plane. */
struct image {
  GLuint texture[3];
  bool filled;
  /* format, size and colour space of the frame in the textures; its pointers to planes are not valid */
  struct frame frame;
};

/* Values of the uniforms that all shader programs (struct painter) have. */
struct paint {
  /* left, bottom, right and top edge of the rectangle to fill, from -1 to 1 across the view (OpenGL's normalised device
   * coordinates) */
  float rect[4];
  float opacity, light;
};

/* A shader program that fills a rectangle, with the locations of its uniforms and the values set last. A uniform is set
 * only when its value changes, because most pictures are drawn like the one before, and each OpenGL call costs some
 * microseconds on a processor core that has just slept. Initialise with zeros, which are the uniforms' first values. */
struct painter {
  GLuint program;
  GLint rect, opacity, light;
  struct paint told;
};

/* Values of the uniforms of input.frag that depend on the frame's format and colour space. */
struct colors {
  GLint layout;
  float sample_scale, matrix[9], zero[3], scale[2];
};

struct present {
  /* vertices: an empty vertex array, which OpenGL requires; columns: buffer for pixels that are read back from the
   * window */
  GLuint vertices, columns;
  struct painter plain, bicubic, frame;
  struct {
    GLint layout, sample_scale, matrix, zero, scale;
  } at;               /* locations of the uniforms (variables) of the shader input.frag */
  struct colors told; /* the values to which the uniforms of input.frag were set last */
  struct image picture, held, input, source;
  /* give OpenGL direct access to the engine's pictures (import) and to the source's frames (import_frames) in GPU
   * memory; NULL: these are uploaded */
  struct import *import, *import_frames;
  struct present_counts counts;
};

static int open_painter(struct painter *painter, const char *name, const char *fragment, struct error *err) {
  painter->program = gl_program(name, embed_present_vert, fragment, err);
  if (!painter->program)
    return -1;
  painter->rect = glGetUniformLocation(painter->program, "rect");
  painter->opacity = glGetUniformLocation(painter->program, "opacity");
  painter->light = glGetUniformLocation(painter->program, "light");
  return 0;
}

static void find_uniforms(struct present *present) {
  GLuint program = present->frame.program;
  present->at.layout = glGetUniformLocation(program, "layout_kind");
  present->at.sample_scale = glGetUniformLocation(program, "sample_scale");
  present->at.matrix = glGetUniformLocation(program, "yuv_to_rgb");
  present->at.zero = glGetUniformLocation(program, "yuv_zero");
  present->at.scale = glGetUniformLocation(program, "scale");
  glUseProgram(program);
  glUniform1i(glGetUniformLocation(program, "plane0"), 0);
  glUniform1i(glGetUniformLocation(program, "plane1"), 1);
  glUniform1i(glGetUniformLocation(program, "plane2"), 2);
}

int present_open(struct present **out, const struct import_impl *impl, void *opaque, const struct log *log,
                 struct error *err) {
  *out = NULL;
  struct present *present = calloc(1, sizeof *present);
  if (!present)
    return error_set(err, STATUS_FAILED, "no memory for the window");
  if (open_painter(&present->plain, "picture", embed_picture_frag, err) ||
      open_painter(&present->bicubic, "bicubic", embed_bicubic_frag, err) ||
      open_painter(&present->frame, "input", embed_input_frag, err) ||
      (impl && (import_open(&present->import, "pictures", IMPORT_HOLDS, impl, opaque, log, err) ||
                import_open(&present->import_frames, "frames", FRAME_HOLDS, impl, opaque, log, err)))) {
    present_close(&present);
    return -1;
  }
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glClearColor(0, 0, 0, 1);
  glGenVertexArrays(1, &present->vertices);
  glGenBuffers(1, &present->columns);
  present->picture.texture[0] = gl_texture(GL_LINEAR);
  present->held.texture[0] = gl_texture(GL_LINEAR);
  for (int i = 0; i < 3; i++) {
    present->input.texture[i] = gl_texture(GL_LINEAR);
    present->source.texture[i] = gl_texture(GL_LINEAR);
  }
  find_uniforms(present);
  *out = present;
  return 0;
}

void present_close(struct present **pointer) {
  struct present *present = *pointer;
  if (!present)
    return;
  import_close(&present->import);
  import_close(&present->import_frames);
  glDeleteTextures(1, present->picture.texture);
  glDeleteTextures(1, present->held.texture);
  glDeleteTextures(3, present->input.texture);
  glDeleteTextures(3, present->source.texture);
  glDeleteVertexArrays(1, &present->vertices);
  glDeleteBuffers(1, &present->columns);
  glDeleteProgram(present->plain.program);
  glDeleteProgram(present->bicubic.program);
  glDeleteProgram(present->frame.program);
  free(present);
  *pointer = NULL;
}

/* Returns true if the textures exist and have the format and size of this frame. */
static bool suits(const struct image *image, const struct frame *frame) {
  return image->filled && image->frame.format == frame->format && image->frame.width == frame->width &&
         image->frame.height == frame->height;
}

/* Sets the distance between rows (pitch) in texels for the next upload, unless *told, the value that was set last, is
 * equal. */
static void tell_pitch(int pitch, int width, int *told) {
  int wanted = pitch == width ? 0 : pitch;
  if (wanted != *told)
    glPixelStorei(GL_UNPACK_ROW_LENGTH, wanted);
  *told = wanted;
}

/* Fills the textures with the left `columns` columns of the frame. from: addresses of the planes in host memory, or
 * their offsets in the OpenGL buffer that is bound. */
static void fill(struct image *image, const struct frame *frame, int columns, const uint8_t *const from[]) {
  const struct pixel_layout *layout = &layouts[frame->format];
  bool same = suits(image, frame);
  int pitch = 0;
  for (int i = 0; i < layout->textures; i++) {
    const struct texture_format *t = &layout->texture[i];
    int width = (frame->width + t->divide_x - 1) / t->divide_x, some = (columns + t->divide_x - 1) / t->divide_x;
    int height = (frame->height + t->divide_y - 1) / t->divide_y;
    const uint8_t *pixels = from[t->plane];
    glBindTexture(GL_TEXTURE_2D, image->texture[i]);
    tell_pitch(frame->pitch[t->plane] / t->texel_bytes, some, &pitch);
    if (!same)
      glTexImage2D(GL_TEXTURE_2D, 0, t->internal, width, height, 0, t->format, t->type, some == width ? pixels : NULL);
    if (same || some < width)
      glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, some, height, t->format, t->type, pixels);
  }
  tell_pitch(0, 0, &pitch);
  image->frame = *frame;
  image->filled = true;
}

/* Fills the textures with the left `columns` columns of a frame from host memory. Returns false if the frame has no
 * pixels in host memory. */
static bool upload(struct present *present, struct image *image, const struct frame *frame, int columns) {
  if (frame_wait(frame, MEMORY_HOST, NULL) < 0)
    return false;
  const uint8_t *const from[3] = {frame->plane[0], frame->plane[1], frame->plane[2]};
  fill(image, frame, columns, from);
  for (int plane = 0; plane < frame_planes(frame->format); plane++)
    present->counts.bytes += (uint64_t)frame_row_bytes(frame->format, plane, columns) *
                             (uint64_t)frame_rows(frame->format, plane, frame->height);
  return true;
}

/* Lets the GPU fill the textures from the frame's own GPU memory. The first time, all columns are filled: textures
 * without contents cannot be created while a buffer is bound, because the address NULL then means the offset 0. Returns
 * false if the GPU cannot read the frame. */
static bool share(struct import *import, struct image *image, const struct frame *frame, int columns) {
  if (!import)
    return false;
  import_follow(import);
  unsigned buffer = import_take(import, frame);
  if (!buffer)
    return false;
  uint8_t *const *planes = (uint8_t *const *)frame->picture->device_plane;
  const uint8_t *from[3] = {0};
  for (int plane = 1; plane < frame_planes(frame->format); plane++)
    from[plane] = (const uint8_t *)(uintptr_t)(planes[plane] - planes[0]);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  fill(image, frame, suits(image, frame) ? columns : frame->width, from);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  import_told(import, frame);
  return true;
}

bool present_shares(struct present *present, const struct gpu_id *gpu) {
  return present->import && import_suits(present->import, gpu);
}

struct present_counts present_count(const struct present *present) {
  return present->counts;
}

void present_picture(struct present *present, const struct frame *picture) {
  if (present->import_frames)
    /* called for each picture: even while no frame of the source is shown, frames that OpenGL still holds must be
     * released when the GPU has read them */
    import_follow(present->import_frames);
  if (share(present->import, &present->picture, picture, picture->width))
    present->counts.shared++;
  else if (upload(present, &present->picture, picture, picture->width))
    present->counts.uploaded++;
}

static void take_frame(struct present *present, struct image *image, const struct frame *frame, int columns) {
  if (!share(present->import_frames, image, frame, columns))
    upload(present, image, frame, columns);
}

/* Uploads the visible part of the input and some more columns, because interpolation at the edge reads the neighbouring
 * pixels. */
void present_input(struct present *present, const struct frame *input, float part) {
  const int more = 8;
  int columns = (int)ceilf(part * (float)input->width) + more + input->width / 32;
  take_frame(present, &present->input, input, columns < input->width ? columns & ~1 : input->width);
}

void present_source(struct present *present, const struct frame *source) {
  take_frame(present, &present->source, source, source->width);
}

void present_hold(struct present *present) {
  struct image held = present->picture;
  if (!held.filled)
    return;
  present->picture = present->held;
  present->picture.filled = false;
  present->held = held;
}

/* Computes the conversion from Y'CbCr to R'G'B', for samples from 0 to 1. Each matrix (BT.601, BT.709, BT.2020) follows
 * from its luma weights of red and blue. */
static void fill_colors(const struct frame *frame, struct colors *colors) {
  static const float weights[][2 /* luma weights of red and blue, for each standard */] = {
      [MATRIX_BT601] = {0.299f, 0.114f}, [MATRIX_BT709] = {0.2126f, 0.0722f}, [MATRIX_BT2020] = {0.2627f, 0.0593f}};
  bool full = frame->range == RANGE_FULL;
  float kr = weights[frame->matrix][0], kb = weights[frame->matrix][1], kg = 1 - kr - kb;
  float y = full ? 1 : 255.0f / 219, c = full ? 1 : 255.0f / 224;
  const float columns[9] = {
      y, y, y, 0, -2 * kb * (1 - kb) / kg * c, 2 * (1 - kb) * c, 2 * (1 - kr) * c, -2 * kr * (1 - kr) / kg * c, 0};
  memcpy(colors->matrix, columns, sizeof columns);
  colors->zero[0] = full ? 0 : 16.0f / 255;
  colors->zero[1] = colors->zero[2] = 128.0f / 255;
  /* P010 stores 10-bit samples in the upper bits of 16. sample_scale turns them into 8-bit codes / 255 for limited
   * range (64 of 1023 equals 16 of 255), and into codes / 1023 for full range. */
  colors->sample_scale = frame->format != PIXEL_P010 ? 1 : full ? 65535.0f / (1023 * 64) : 65535.0f / (255 * 256);
}

/* Stores in scale which part of the frame the picture covers on each axis, about the centre: below 1 the frame is
 * cropped, above 1 there are bars beside it. */
static void fill_fit(const struct frame *frame, float shape, enum fit fit, float scale[2]) {
  float wider = (float)frame_aspect(frame) / shape;
  scale[0] = scale[1] = 1;
  if (fit == FIT_CROP) {
    scale[0] = wider > 1 ? 1 / wider : 1;
    scale[1] = wider > 1 ? 1 : wider;
  } else if (fit == FIT_LETTERBOX) {
    scale[0] = wider > 1 ? 1 : 1 / wider;
    scale[1] = wider > 1 ? wider : 1;
  }
}

/* Sets the uniforms of the shader input.frag, unless they have these values already. That shader's program must be the
 * current one. */
static void tell_colors(struct present *present, const struct colors *colors) {
  if (!memcmp(&present->told, colors, sizeof *colors))
    return;
  glUniform1i(present->at.layout, colors->layout);
  glUniform1f(present->at.sample_scale, colors->sample_scale);
  glUniformMatrix3fv(present->at.matrix, 1, GL_FALSE, colors->matrix);
  glUniform3fv(present->at.zero, 1, colors->zero);
  glUniform2fv(present->at.scale, 1, colors->scale);
  present->told = *colors;
}

struct box {
  int left, top, width, height; /* a rectangle in pixels of the drawable, from its top left corner */
};

/* Returns the largest rectangle with this aspect ratio (width / height) in the middle of the drawable. */
static struct box letterbox(int width, int height, float shape) {
  struct box box = {0, 0, width, height};
  if ((float)width > (float)height * shape)
    box.width = (int)lroundf((float)height * shape);
  else
    box.height = (int)lroundf((float)width / shape);
  box.left = (width - box.width) / 2;
  box.top = (height - box.height) / 2;
  return box;
}

/* Sets the painter's uniforms, unless they have these values already. The painter's program must be the current one. */
static void tell_painter(struct painter *painter, const struct paint *paint) {
  if (!memcmp(&painter->told, paint, sizeof *paint))
    return;
  glUniform4fv(painter->rect, 1, paint->rect);
  glUniform1f(painter->opacity, paint->opacity);
  glUniform1f(painter->light, paint->light);
  painter->told = *paint;
}

/* Fills the box with the texture that is bound, by the painter's program. opacity: 0 to 1; 1 hides what was drawn
 * before. */
static void paint(struct painter *painter, const struct present_view *view, struct box box, float opacity) {
  float x = 2.0f / (float)view->width, y = 2.0f / (float)view->height;
  const struct paint wanted = {.rect = {(float)box.left * x - 1, 1 - (float)(box.top + box.height) * y,
                                        (float)(box.left + box.width) * x - 1, 1 - (float)box.top * y},
                               .opacity = opacity,
                               .light = 1 - view->cover.blackout};
  glUseProgram(painter->program);
  tell_painter(painter, &wanted);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void paint_frame(struct present *present, const struct image *image, const struct present_view *view,
                        struct box box, float opacity) {
  const struct frame *frame = &image->frame;
  for (int i = layouts[frame->format].textures - 1; i >= 0; i--) {
    glActiveTexture(GL_TEXTURE0 + (GLenum)i);
    glBindTexture(GL_TEXTURE_2D, image->texture[i]);
  }
  struct colors colors = {.layout = (GLint)layouts[frame->format].layout};
  fill_colors(frame, &colors);
  fill_fit(frame, (float)box.width / (float)box.height, view->fit, colors.scale);
  glUseProgram(present->frame.program);
  tell_colors(present, &colors);
  paint(&present->frame, view, box, opacity);
}

/* Draws the picture. Bicubic interpolation is used only where the picture is enlarged; where it is reduced, bicubic
 * would look no better than bilinear. */
static void paint_picture(struct present *present, const struct image *image, const struct present_view *view,
                          struct box box, float opacity) {
  bool bicubic = view->bicubic && box.width > image->frame.width;
  glBindTexture(GL_TEXTURE_2D, image->texture[0]);
  paint(bicubic ? &present->bicubic : &present->plain, view, box, opacity);
}

/* Limits later drawing to the columns of the view from `from` to `to`, in pixels. */
static void limit(const struct present_view *view, int from, int to) {
  glScissor(view->left + from, view->bottom, to - from, view->height);
}

/* Draws a vertical line at the split, bright with dark edges, so that it is visible on any picture. */
static void paint_line(const struct present_view *view, struct box box, int x) {
  int bottom = view->bottom + view->height - box.top - box.height;
  x += view->left;
  glScissor(x - 2, bottom, 4, box.height);
  glClear(GL_COLOR_BUFFER_BIT);
  glScissor(x - 1, bottom, 2, box.height);
  glClearColor(1, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glClearColor(0, 0, 0, 1);
}

/* Returns the rectangle of the view in which the picture is drawn. If the aspect ratios of both differ only because
 * sides were rounded to a multiple, the picture fills the whole view: otherwise thin bars would appear and disappear as
 * the size changes. */
static struct box picture_box(const struct image *image, const struct present_view *view) {
  int width = image->filled ? image->frame.width : view->shape_w;
  int height = image->filled ? image->frame.height : view->shape_h;
  const struct parameter_size picture = {width, height}, all = {view->width, view->height};
  if (width <= 0 || height <= 0 || picture_size_alike(&picture, &all))
    return (struct box){0, 0, view->width, view->height};
  return letterbox(view->width, view->height, (float)width / (float)height);
}

static bool shows_held(const struct present *present, const struct present_view *view) {
  return view->cover.held > 0 && present->held.filled;
}

/* Draws the frozen picture over the newest one, and the source over both (bypass), with the opacities of the fades. */
static void paint_cover(struct present *present, const struct present_view *view, struct box box, int split) {
  bool holds = shows_held(present, view), bypasses = view->cover.bypass > 0 && present->source.filled;
  int right = box.left + box.width;
  glEnable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
  if (holds) {
    limit(view, split, right);
    paint_picture(present, &present->held, view, box, present->picture.filled ? view->cover.held : 1);
  }
  if (bypasses) {
    limit(view, box.left, right);
    paint_frame(present, &present->source, view, box, view->cover.bypass);
  }
  glDisable(GL_BLEND);
}

/* Draws the picture, the input frame to the left of the split, and then freeze and bypass over the picture. */
static void paint_all(struct present *present, const struct present_view *view, struct box box, int split) {
  bool has_input = present->input.filled, has_picture = present->picture.filled || shows_held(present, view);
  if (present->picture.filled) {
    limit(view, split, box.left + box.width);
    paint_picture(present, &present->picture, view, box, 1);
  }
  if (has_input && split > box.left) {
    limit(view, box.left, split);
    paint_frame(present, &present->input, view, box, 1);
  }
  if (has_picture && has_input && view->split && view->cover.blackout <= 0)
    paint_line(view, box, split);
  if (view->cover.held > 0 || view->cover.bypass > 0)
    paint_cover(present, view, box, split);
}

/* Returns true if nothing but the picture is visible (no split, no cover), and the picture fills the view. */
static bool is_alone(const struct present *present, const struct present_view *view, struct box box) {
  return present->picture.filled && box.width == view->width && box.height == view->height && !view->split &&
         view->cover.held <= 0 && view->cover.bypass <= 0;
}

/* Draws the view. Most views show only the picture; that case is drawn with fewer OpenGL calls, which cost time (struct
 * painter). */
void present_draw(struct present *present, const struct present_view *view) {
  if (view->width <= 0 || view->height <= 0)
    return;
  bool holds = shows_held(present, view);
  struct box box = picture_box(holds ? &present->held : &present->picture, view);
  int split = !present->picture.filled && !holds ? box.left + box.width
              : view->split                      ? box.left + (int)lroundf((float)box.width * view->split_at)
                                                 : box.left;
  glViewport(view->left, view->bottom, view->width, view->height);
  glClear(GL_COLOR_BUFFER_BIT); /* clears all of the drawable, which may be larger than the view */
  glBindVertexArray(present->vertices);
  if (is_alone(present, view, box)) {
    paint_picture(present, &present->picture, view, box, 1);
    return;
  }
  glEnable(GL_SCISSOR_TEST);
  paint_all(present, view, box, split);
  glDisable(GL_SCISSOR_TEST);
}

float present_locate(const struct present *present, const struct present_view *view, float x) {
  struct box box = picture_box(&present->picture, view);
  float at = (x - (float)(view->left + box.left)) / (float)(box.width > 0 ? box.width : 1);
  return fminf(1, fmaxf(0, at));
}

void present_flush(void) {
  glFlush();
}

int present_read(int width, int height, uint8_t *rgba) {
  while (glGetError() != GL_NO_ERROR)
    ;
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  return glGetError() == GL_NO_ERROR ? 0 : -1;
}

/* Reads columns of the window's pixels, all of them with one wait for the GPU. More waits would take long, because
 * other programs may use the GPU while this process waits. */
int present_read_columns(const struct present *present, const struct present_view *view, bool front, const float *x,
                         int count, uint8_t *rgba, int most) {
  struct box box = picture_box(&present->picture, view);
  int bottom = view->bottom + view->height - box.top - box.height;
  size_t bytes = (size_t)box.height * 4;
  if (box.height > most)
    return 0;
  gl_forget_errors();
  glReadBuffer(front ? GL_FRONT : GL_BACK);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, present->columns);
  glBufferData(GL_PIXEL_PACK_BUFFER, (GLsizeiptr)bytes * count, NULL, GL_STREAM_READ);
  for (int i = 0; i < count; i++)
    glReadPixels(view->left + box.left + (int)(x[i] * (float)box.width), bottom, 1, box.height, GL_RGBA,
                 GL_UNSIGNED_BYTE, (void *)(i * bytes));
  glGetBufferSubData(GL_PIXEL_PACK_BUFFER, 0, (GLsizeiptr)bytes * count, rgba);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  bool read = glGetError() == GL_NO_ERROR;
  glReadBuffer(GL_BACK);
  return read ? box.height : 0;
}
