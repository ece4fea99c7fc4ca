#include "present.h"

#include <math.h>
#include <stdlib.h>

#include "app/embed.h"
#include "app/gl_util.h"

/* How the planes of a frame become a colour; present.frag reads the number. */
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

struct present {
  GLuint program, vertices;
  struct {
    GLint rect, bicubic, split, line, layout, sample_scale, matrix, zero, input_scale;
  } at; /* uniforms of present.vert and present.frag */
  struct image picture, input;
  float left, right; /* of the picture last drawn, in pixels */
};

static void find_uniforms(struct present *present) {
  GLuint program = present->program;
  present->at.rect = glGetUniformLocation(program, "rect");
  present->at.bicubic = glGetUniformLocation(program, "bicubic");
  present->at.split = glGetUniformLocation(program, "split");
  present->at.line = glGetUniformLocation(program, "line");
  present->at.layout = glGetUniformLocation(program, "layout_kind");
  present->at.sample_scale = glGetUniformLocation(program, "sample_scale");
  present->at.matrix = glGetUniformLocation(program, "yuv_to_rgb");
  present->at.zero = glGetUniformLocation(program, "yuv_zero");
  present->at.input_scale = glGetUniformLocation(program, "input_scale");
  glUseProgram(program);
  glUniform1i(glGetUniformLocation(program, "picture"), 0);
  glUniform1i(glGetUniformLocation(program, "plane0"), 1);
  glUniform1i(glGetUniformLocation(program, "plane1"), 2);
  glUniform1i(glGetUniformLocation(program, "plane2"), 3);
}

int present_open(struct present **out, struct error *err) {
  *out = NULL;
  struct present *present = calloc(1, sizeof *present);
  if (!present)
    return error_set(err, STATUS_FAILED, "no memory for the window");
  present->program = gl_program("present", embed_present_vert, embed_present_frag, err);
  if (!present->program) {
    free(present);
    return -1;
  }
  glGenVertexArrays(1, &present->vertices);
  present->picture.texture[0] = gl_texture(GL_LINEAR);
  for (int i = 0; i < 3; i++)
    present->input.texture[i] = gl_texture(GL_LINEAR);
  find_uniforms(present);
  *out = present;
  return 0;
}

void present_close(struct present **pointer) {
  struct present *present = *pointer;
  if (!present)
    return;
  glDeleteTextures(1, present->picture.texture);
  glDeleteTextures(3, present->input.texture);
  glDeleteVertexArrays(1, &present->vertices);
  glDeleteProgram(present->program);
  free(present);
  *pointer = NULL;
}

static void upload(struct image *image, const struct frame *frame) {
  const struct pixel_layout *layout = &layouts[frame->format];
  bool same = image->filled && image->frame.format == frame->format && image->frame.width == frame->width &&
              image->frame.height == frame->height;
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  for (int i = 0; i < layout->textures; i++) {
    const struct texture_format *t = &layout->texture[i];
    int width = (frame->width + t->divide_x - 1) / t->divide_x;
    int height = (frame->height + t->divide_y - 1) / t->divide_y;
    const uint8_t *pixels = frame->plane[t->plane];
    glBindTexture(GL_TEXTURE_2D, image->texture[i]);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, frame->pitch[t->plane] / t->texel_bytes);
    if (same)
      glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, t->format, t->type, pixels);
    else
      glTexImage2D(GL_TEXTURE_2D, 0, t->internal, width, height, 0, t->format, t->type, pixels);
  }
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  image->frame = *frame;
  image->filled = true;
}

void present_picture(struct present *present, const struct frame *picture) {
  upload(&present->picture, picture);
}

void present_input(struct present *present, const struct frame *input) {
  upload(&present->input, input);
}

/* Y'CbCr to R'G'B' from the matrix' two luma weights (BT.601, BT.709, BT.2020), for samples of 0..1. */
static void set_colors(const struct present *present, const struct frame *frame) {
  static const float weights[][2 /* red, blue */] = {
      [MATRIX_BT601] = {0.299f, 0.114f}, [MATRIX_BT709] = {0.2126f, 0.0722f}, [MATRIX_BT2020] = {0.2627f, 0.0593f}};
  bool full = frame->range == RANGE_FULL;
  float kr = weights[frame->matrix][0], kb = weights[frame->matrix][1], kg = 1 - kr - kb;
  float y = full ? 1 : 255.0f / 219, c = full ? 1 : 255.0f / 224;
  const float columns[9] = {
      y, y, y, 0, -2 * kb * (1 - kb) / kg * c, 2 * (1 - kb) * c, 2 * (1 - kr) * c, -2 * kr * (1 - kr) / kg * c, 0};
  glUniformMatrix3fv(present->at.matrix, 1, GL_FALSE, columns);
  glUniform3f(present->at.zero, full ? 0 : 16.0f / 255, 128.0f / 255, 128.0f / 255);
  /* P010 has its 10 bits on top of 16: as 8-bit codes in the limited range (64 is 16), as 0..1023 in the full one. */
  float scale = frame->format != PIXEL_P010 ? 1 : full ? 65535.0f / (1023 * 64) : 65535.0f / (255 * 256);
  glUniform1f(present->at.sample_scale, scale);
}

/* How much of the frame the picture shows, along each axis about the centre: under 1 is cropped, over 1 has bars. */
static void set_fit(const struct present *present, const struct frame *frame, float shape, enum fit fit) {
  float wider = (float)frame->width / (float)frame->height / shape;
  float x = 1, y = 1;
  if (fit == FIT_CROP) {
    x = wider > 1 ? 1 / wider : 1;
    y = wider > 1 ? 1 : wider;
  } else if (fit == FIT_LETTERBOX) {
    x = wider > 1 ? 1 : 1 / wider;
    y = wider > 1 ? wider : 1;
  }
  glUniform2f(present->at.input_scale, x, y);
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

static void bind(const struct present *present) {
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, present->picture.texture[0]);
  for (int i = 0; i < 3; i++) {
    glActiveTexture(GL_TEXTURE1 + (GLenum)i);
    glBindTexture(GL_TEXTURE_2D, present->input.texture[i]);
  }
  glActiveTexture(GL_TEXTURE0);
}

void present_draw(struct present *present, const struct present_view *view) {
  glViewport(0, 0, view->width, view->height);
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  const struct image *picture = &present->picture, *input = &present->input;
  if ((!picture->filled && !input->filled) || view->width <= 0 || view->height <= 0)
    return;
  int shape_w = picture->filled ? picture->frame.width : view->shape_w;
  int shape_h = picture->filled ? picture->frame.height : view->shape_h;
  float shape = shape_w > 0 && shape_h > 0 ? (float)shape_w / (float)shape_h : (float)view->width / (float)view->height;
  struct box box = letterbox(view->width, view->height, shape);
  present->left = (float)box.left;
  present->right = (float)(box.left + box.width);

  glUseProgram(present->program);
  bind(present);
  float x = 2.0f / (float)view->width, y = 2.0f / (float)view->height;
  glUniform4f(present->at.rect, (float)box.left * x - 1, 1 - (float)(box.top + box.height) * y,
              (float)(box.left + box.width) * x - 1, 1 - (float)box.top * y);
  /* At its own size or smaller the plain read is exact or no worse. */
  glUniform1i(present->at.bicubic, view->bicubic && box.width > shape_w);
  bool split = view->split && input->filled;
  glUniform1f(present->at.split, !picture->filled ? 1 : split ? view->split_at : 0);
  glUniform1f(present->at.line, picture->filled && split ? 1.0f / (float)box.width : 0);
  if (input->filled) {
    glUniform1i(present->at.layout, (GLint)layouts[input->frame.format].layout);
    set_colors(present, &input->frame);
    set_fit(present, &input->frame, shape, view->fit);
  }
  glBindVertexArray(present->vertices);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

float present_locate(const struct present *present, float x) {
  float width = present->right - present->left;
  return width > 0 ? fminf(1, fmaxf(0, (x - present->left) / width)) : 0;
}
