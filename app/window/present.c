#include "app/window/present.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/picture_size.h"
#include "app/window/embed.h"
#include "app/window/gl_util.h"

enum { FRAME_HOLDS = 3 }; /* of frames that OpenGL is reading: a decoder has few (HARDWARE_HOLDS) */

/* How the planes of a frame become a colour; input.frag reads the number. */
enum plane_layout { LAYOUT_RGB, LAYOUT_Y_CBCR, LAYOUT_Y_CB_CR, LAYOUT_YUYV };

/* One texture filled from one plane. */
struct texture_format {
  int plane;
  GLint internal;
  GLenum format, type;
  int texel_bytes;
  int divide_x, divide_y; /* of the frame's size, rounded up */
};

struct pixel_layout {
  enum plane_layout layout;
  int textures;
  struct texture_format texture[3];
};

/* YUYV is uploaded twice: as pixels of (Y, Cb or Cr) and as pairs (Y0, Cb, Y1, Cr), so that both can be interpolated.
 */
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

/* The textures of one frame. */
struct image {
  GLuint texture[3];
  bool filled;
  struct frame frame; /* what was uploaded last; its planes are not kept */
};

/* What a painter is told. */
struct paint {
  float rect[4]; /* as present.vert has it */
  float opacity, light;
};

/* One way to fill the picture's rectangle. Most pictures are painted as the one before, and each call of OpenGL costs a
 * processor that has slept some microseconds: what a program has been told is not told again. Zeros to start, as
 * a program's uniforms are. */
struct painter {
  GLuint program;
  GLint rect, opacity, light;
  struct paint told;
};

/* What input.frag is told of a frame. */
struct colors {
  GLint layout;
  float sample_scale, matrix[9], zero[3], scale[2];
};

struct present {
  GLuint vertices, columns; /* columns: what is read of the window */
  struct painter plain, bicubic, frame;
  struct {
    GLint layout, sample_scale, matrix, zero, scale;
  } at;               /* uniforms of input.frag */
  struct colors told; /* which have these values */
  struct image picture, held, input, source;
  struct import *import, *import_frames; /* of pictures; of frames, which have another pool. NULL: none */
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

/* Whether the textures are as this frame needs them. */
static bool suits(const struct image *image, const struct frame *frame) {
  return image->filled && image->frame.format == frame->format && image->frame.width == frame->width &&
         image->frame.height == frame->height;
}

/* How far rows are apart, in texels, where they do not follow each other; told: what OpenGL has been told. */
static void tell_pitch(int pitch, int width, int *told) {
  int wanted = pitch == width ? 0 : pitch;
  if (wanted != *told)
    glPixelStorei(GL_UNPACK_ROW_LENGTH, wanted);
  *told = wanted;
}

/* From addresses, or from places in the buffer that is bound; as many columns from the left. */
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

/* As many columns from the left. */
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

/* The textures are filled by the GPU, from where the picture lies in its memory; at first with all columns, for there
 * is no address that means nothing. */
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
    import_follow(present->import_frames); /* which are seen now and then */
  if (share(present->import, &present->picture, picture, picture->width))
    present->counts.shared++;
  else if (upload(present, &present->picture, picture, picture->width))
    present->counts.uploaded++;
}

static void take_frame(struct present *present, struct image *image, const struct frame *frame, int columns) {
  if (!share(present->import_frames, image, frame, columns))
    upload(present, image, frame, columns);
}

/* A few more than asked for, which are read where samples are interpolated. */
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

/* Y'CbCr to R'G'B' from the matrix' two luma weights (BT.601, BT.709, BT.2020), for samples of 0..1. */
static void fill_colors(const struct frame *frame, struct colors *colors) {
  static const float weights[][2 /* red, blue */] = {
      [MATRIX_BT601] = {0.299f, 0.114f}, [MATRIX_BT709] = {0.2126f, 0.0722f}, [MATRIX_BT2020] = {0.2627f, 0.0593f}};
  bool full = frame->range == RANGE_FULL;
  float kr = weights[frame->matrix][0], kb = weights[frame->matrix][1], kg = 1 - kr - kb;
  float y = full ? 1 : 255.0f / 219, c = full ? 1 : 255.0f / 224;
  const float columns[9] = {
      y, y, y, 0, -2 * kb * (1 - kb) / kg * c, 2 * (1 - kb) * c, 2 * (1 - kr) * c, -2 * kr * (1 - kr) / kg * c, 0};
  memcpy(colors->matrix, columns, sizeof columns);
  colors->zero[0] = full ? 0 : 16.0f / 255;
  colors->zero[1] = colors->zero[2] = 128.0f / 255;
  /* P010 has its 10 bits on top of 16: as 8-bit codes in the limited range (64 is 16), as 0..1023 in the full one. */
  colors->sample_scale = frame->format != PIXEL_P010 ? 1 : full ? 65535.0f / (1023 * 64) : 65535.0f / (255 * 256);
}

/* How much of the frame the picture shows, along each axis about the centre: under 1 is cropped, over 1 has bars. */
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

/* input.frag is in use. */
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
  int left, top, width, height; /* in pixels */
};

/* The largest rectangle of a shape in the middle of the drawable. */
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

/* Its program is in use. */
static void tell_painter(struct painter *painter, const struct paint *paint) {
  if (!memcmp(&painter->told, paint, sizeof *paint))
    return;
  glUniform4fv(painter->rect, 1, paint->rect);
  glUniform1f(painter->opacity, paint->opacity);
  glUniform1f(painter->light, paint->light);
  painter->told = *paint;
}

/* Fills the box with a painter. */
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

/* At its own size or smaller the plain read is exact or no worse. */
static void paint_picture(struct present *present, const struct image *image, const struct present_view *view,
                          struct box box, float opacity) {
  bool bicubic = view->bicubic && box.width > image->frame.width;
  glBindTexture(GL_TEXTURE_2D, image->texture[0]);
  paint(bicubic ? &present->bicubic : &present->plain, view, box, opacity);
}

/* What is painted next stays between two columns of the view. */
static void limit(const struct present_view *view, int from, int to) {
  glScissor(view->left + from, view->bottom, to - from, view->height);
}

/* A bright line with dark edges, seen on any picture. */
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

/* A picture fills the view where only the rounding of its sides makes that another shape: thin bars would come and go
 * with the size. */
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

/* What is held lies over the picture, the source over both. */
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

/* The picture, what is beside it and what is over it. */
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

/* Whether the picture alone is seen, from edge to edge. */
static bool is_alone(const struct present *present, const struct present_view *view, struct box box) {
  return present->picture.filled && box.width == view->width && box.height == view->height && !view->split &&
         view->cover.held <= 0 && view->cover.bypass <= 0;
}

/* Most pictures are alone: the fewest calls of OpenGL draw them, as struct painter says why. */
void present_draw(struct present *present, const struct present_view *view) {
  if (view->width <= 0 || view->height <= 0)
    return;
  bool holds = shows_held(present, view);
  struct box box = picture_box(holds ? &present->held : &present->picture, view);
  int split = !present->picture.filled && !holds ? box.left + box.width
              : view->split                      ? box.left + (int)lroundf((float)box.width * view->split_at)
                                                 : box.left;
  glViewport(view->left, view->bottom, view->width, view->height);
  glClear(GL_COLOR_BUFFER_BIT); /* of all of the drawable, which may have become larger than the view */
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

/* OpenGL waits for other programs of the GPU each time that its work is waited for, so all comes at once. */
int present_read(int width, int height, uint8_t *rgba) {
  while (glGetError() != GL_NO_ERROR)
    ;
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  return glGetError() == GL_NO_ERROR ? 0 : -1;
}

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
