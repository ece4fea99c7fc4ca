#include "app/window/present.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/picture_size.h"
#include "app/window/embed.h"
#include "app/window/gl_util.h"
#include "app/window/image.h"

/* Number of the source's frames that OpenGL may hold at a time. The number is small because a hardware decoder has few
 * frames in all (HARDWARE_HOLDS). */
enum { FRAME_HOLDS = 3 };

/* Values of the uniforms (shader variables) that every shader program (struct painter) has. */
struct paint {
  /* Two 3x3 matrices (placement.h). `canvas` maps a position in the picture to the window with its corners unmoved;
   * `pin` maps that position to the window with moved corners (corner pin). */
  float canvas[9], pin[9];
  /* left and right end of the part of the picture that is drawn, as fractions of its width; they count only while
   * OpenGL's clip distances are enabled */
  float columns[2];
  float opacity, light;
};

/* A shader program that draws a picture, with the locations of its uniforms and the values set last. A uniform is set
 * only when its value changes, which is rare; each OpenGL call takes some microseconds on a processor core that has
 * just slept. Initialise with zeros, the uniforms' first values. */
struct painter {
  GLuint program;
  GLint canvas, pin, columns, opacity, light;
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
  struct colors told; /* the values to which the uniforms (variables) of the shader input.frag were set last */
  struct image picture, held, input, source, card;
  /* give OpenGL direct access to GPU memory: import to the engine's pictures, import_frames to the source's frames;
   * NULL: these are uploaded */
  struct import *import, *import_frames;
  struct present_counts counts;
};

static int open_painter(struct painter *painter, const char *name, const char *fragment, struct error *err) {
  painter->program = gl_program(name, embed_present_vert, fragment, err);
  if (!painter->program)
    return -1;
  painter->canvas = glGetUniformLocation(painter->program, "canvas");
  painter->pin = glGetUniformLocation(painter->program, "pin");
  painter->columns = glGetUniformLocation(painter->program, "columns");
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
  present->card.texture[0] = gl_texture(GL_LINEAR);
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
  glDeleteTextures(1, present->card.texture);
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
  if (image_share(present->import, &present->picture, picture, picture->width))
    present->counts.shared++;
  else if (image_upload(&present->picture, picture, picture->width, &present->counts.bytes))
    present->counts.uploaded++;
}

static void take_frame(struct present *present, struct image *image, const struct frame *frame, int columns) {
  if (!image_share(present->import_frames, image, frame, columns))
    image_upload(image, frame, columns, &present->counts.bytes);
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

void present_card(struct present *present, const struct frame *card) {
  image_upload(&present->card, card, card->width, &present->counts.bytes);
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
  static const float weights[][2 /* luma weights of red and blue, for each matrix */] = {
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

/* Computes which part of the source's frame fills an area with the aspect ratio `shape` (width / height). scale[] gets
 * the part's width and height, in those of the frame; its centre is the frame's. Below 1 the frame is cropped; above 1
 * there are black bars. */
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
  int left, top, width, height; /* a part of the window, in pixels; left and top count from its upper left corner */
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

/* Sets the uniforms (shader variables) of a painter, which is a shader program that draws pictures, unless they have
 * these values already. The painter's program must be the current one. */
static void tell_painter(struct painter *painter, const struct paint *paint) {
  if (!memcmp(&painter->told, paint, sizeof *paint))
    return;
  glUniformMatrix3fv(painter->canvas, 1, GL_FALSE, paint->canvas);
  glUniformMatrix3fv(painter->pin, 1, GL_FALSE, paint->pin);
  glUniform2fv(painter->columns, 1, paint->columns);
  glUniform1f(painter->opacity, paint->opacity);
  glUniform1f(painter->light, paint->light);
  painter->told = *paint;
}

/* Positions at which the parts of a view (the rectangle of a window in which a picture is shown) are drawn. */
struct stage {
  const struct present_view *view;
  /* The rectangle, within the view, that the picture fills. If the picture is scaled or rotated (view->placement): its
   * rectangle before it is rotated. */
  struct box box;
  /* Two 3x3 matrices (placement.h). `canvas` maps a position in the picture to the window with its corners unmoved;
   * `pin` maps that position to the window with moved corners (corner pin). */
  double canvas[9], pin[9];
  struct paint paint;
};

/* Draws the texture that is bound, by the painter's shader program. opacity: 0 to 1; 1 hides what was drawn before. */
static void paint(struct painter *painter, struct stage *stage, float opacity) {
  stage->paint.opacity = opacity;
  glUseProgram(painter->program);
  tell_painter(painter, &stage->paint);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void paint_frame(struct present *present, const struct image *image, struct stage *stage, float opacity) {
  const struct frame *frame = &image->frame;
  struct colors colors = {.layout = (GLint)image_bind(image)};
  fill_colors(frame, &colors);
  fill_fit(frame, (float)stage->box.width / (float)stage->box.height, stage->view->fit, colors.scale);
  glUseProgram(present->frame.program);
  tell_colors(present, &colors);
  paint(&present->frame, stage, opacity);
}

/* Draws the picture. Bicubic interpolation is used only where the picture is enlarged; where it is reduced, bicubic
 * would look no better than bilinear. */
static void paint_picture(struct present *present, const struct image *image, struct stage *stage, float opacity) {
  bool bicubic = stage->view->bicubic && stage->box.width > image->frame.width;
  glBindTexture(GL_TEXTURE_2D, image->texture[0]);
  paint(bicubic ? &present->bicubic : &present->plain, stage, opacity);
}

/* Limits later drawing to the columns from `from` to `to`, in pixels of the view (the window's rectangle for a
 * picture). If the picture is scaled or rotated (view->placement), they are columns of the picture before it is
 * rotated. */
static void limit(struct stage *stage, int from, int to) {
  const struct present_view *view = stage->view;
  if (view->placement) {
    stage->paint.columns[0] = (float)(from - stage->box.left) / (float)stage->box.width;
    stage->paint.columns[1] = (float)(to - stage->box.left) / (float)stage->box.width;
  } else {
    glScissor(view->left + from, view->bottom, to - from, view->height);
  }
}

/* Draws a vertical line at the split, bright with dark edges, so that it is visible on any picture. If the user has
 * moved or rotated the picture (view->placement), the line may be at any angle; it is then black, without edges. */
static void paint_line(struct present *present, struct stage *stage, int x) {
  const struct present_view *view = stage->view;
  int bottom = view->bottom + view->height - stage->box.top - stage->box.height;
  if (view->placement) {
    float light = stage->paint.light;
    stage->paint.light = 0;
    limit(stage, x - 1, x + 1);
    paint_picture(present, &present->picture, stage, 1);
    stage->paint.light = light;
    return;
  }
  x += view->left;
  glScissor(x - 2, bottom, 4, stage->box.height);
  glClear(GL_COLOR_BUFFER_BIT);
  glScissor(x - 1, bottom, 2, stage->box.height);
  glClearColor(1, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glClearColor(0, 0, 0, 1);
}

/* Returns the rectangle of the view that the picture fills. (The view is the part of a window for a picture.) If their
 * aspect ratios differ only by rounding of sides, it is the whole view; otherwise thin bars would come and go as the
 * size changes. */
static struct box picture_box(const struct image *image, const struct present_view *view) {
  int width = image->filled ? image->frame.width : view->shape_w;
  int height = image->filled ? image->frame.height : view->shape_h;
  const struct parameter_size picture = {width, height}, all = {view->width, view->height};
  if (width <= 0 || height <= 0 || picture_size_alike(&picture, &all))
    return (struct box){0, 0, view->width, view->height};
  return letterbox(view->width, view->height, (float)width / (float)height);
}

/* For a view whose picture is placed by the user (view->placement): computes the maps from the picture to the window
 * (stage->canvas, stage->pin), and the picture's size in pixels before it is rotated (stage->box). */
static void place(struct stage *stage) {
  const struct present_view *view = stage->view;
  struct box *box = &stage->box;
  double width, window = (double)view->width / view->height;
  double height = placement_canvas(view->placement, (double)box->width / box->height, window, stage->canvas, &width);
  placement_pin(view->placement, stage->pin);
  box->width = (int)fmax(1, round(width * view->width));
  box->height = (int)fmax(1, round(height * view->height));
  box->left = (view->width - box->width) / 2;
  box->top = (view->height - box->height) / 2;
}

static struct stage make_stage(const struct image *image, const struct present_view *view) {
  struct stage stage = {.view = view, .box = picture_box(image, view), .pin = {2, 0, 0, 0, -2, 0, -1, 1, 1}};
  const struct box *box = &stage.box;
  if (view->placement) {
    place(&stage);
  } else {
    stage.canvas[0] = (double)box->width / view->width;
    stage.canvas[4] = (double)box->height / view->height;
    stage.canvas[6] = (double)box->left / view->width;
    stage.canvas[7] = (double)box->top / view->height;
    stage.canvas[8] = 1;
  }
  for (int i = 0; i < 9; i++) {
    stage.paint.canvas[i] = (float)stage.canvas[i];
    stage.paint.pin[i] = (float)stage.pin[i];
  }
  stage.paint.columns[1] = 1;
  stage.paint.light = 1 - view->cover.blackout;
  return stage;
}

static bool shows_held(const struct present *present, const struct present_view *view) {
  return view->cover.held > 0 && present->held.filled;
}

static void blend(bool on) {
  if (on)
    glEnable(GL_BLEND);
  else
    glDisable(GL_BLEND);
  glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
}

/* Draws the frozen picture over the newest one, and the source over both (bypass), with the opacities of the fades. */
static void paint_cover(struct present *present, struct stage *stage, int split) {
  const struct present_view *view = stage->view;
  bool holds = shows_held(present, view), bypasses = view->cover.bypass > 0 && present->source.filled;
  int right = stage->box.left + stage->box.width;
  blend(true);
  if (holds) {
    limit(stage, split, right);
    paint_picture(present, &present->held, stage, present->picture.filled ? view->cover.held : 1);
  }
  if (bypasses) {
    limit(stage, stage->box.left, right);
    paint_frame(present, &present->source, stage, view->cover.bypass);
  }
  blend(false);
}

/* Draws the input frame to the left of the split (the line between input and picture), and the picture to the right of
 * it. Over the picture draws the frozen picture (freeze) and the source (bypass). */
static void paint_all(struct present *present, struct stage *stage, int split) {
  const struct present_view *view = stage->view;
  const struct box box = stage->box;
  bool has_input = present->input.filled, has_picture = present->picture.filled || shows_held(present, view);
  if (present->picture.filled) {
    limit(stage, split, box.left + box.width);
    paint_picture(present, &present->picture, stage, 1);
  }
  if (has_input && split > box.left) {
    limit(stage, box.left, split);
    paint_frame(present, &present->input, stage, 1);
  }
  if (has_picture && has_input && view->split && view->cover.blackout <= 0)
    paint_line(present, stage, split);
  if (view->cover.held > 0 || view->cover.bypass > 0)
    paint_cover(present, stage, split);
}

/* Draws the test card over the whole window, distorted by the corner pin as pictures are. */
static void paint_card(struct present *present, struct stage *stage) {
  static const float whole[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  memcpy(stage->paint.canvas, whole, sizeof whole);
  stage->paint.columns[0] = 0;
  stage->paint.columns[1] = 1;
  blend(true);
  glBindTexture(GL_TEXTURE_2D, present->card.texture[0]);
  paint(&present->plain, stage, stage->view->card);
  blend(false);
}

/* Returns true if only the picture is visible in the view (the window's rectangle for a picture): there is no split
 * with the source, nothing covers the picture, and it fills the view or has a placement (view->placement). */
static bool is_alone(const struct present *present, const struct stage *stage) {
  const struct present_view *view = stage->view;
  bool fills = view->placement || (stage->box.width == view->width && stage->box.height == view->height);
  return present->picture.filled && fills && !view->split && view->cover.held <= 0 && view->cover.bypass <= 0;
}

/* Starts or ends (change: glEnable or glDisable) clipping to the view's area. A view with a placement is clipped by
 * clip distances of the shader present.vert, any other by the scissor test. */
static void bound(const struct present_view *view, bool alone, void (*change)(GLenum)) {
  for (GLenum i = 0; view->placement && i < 6; i++)
    change(GL_CLIP_DISTANCE0 + i);
  if (!view->placement && !alone)
    change(GL_SCISSOR_TEST);
}

/* Draws the view: the picture, with whatever is beside or over it, in its part of the window. Most views show only the
 * picture; that case is drawn with fewer OpenGL calls, which cost time (struct painter). */
void present_draw(struct present *present, const struct present_view *view) {
  if (view->width <= 0 || view->height <= 0)
    return;
  bool holds = shows_held(present, view);
  struct stage stage = make_stage(holds ? &present->held : &present->picture, view);
  const struct box *box = &stage.box;
  int split = !present->picture.filled && !holds ? box->left + box->width
              : view->split                      ? box->left + (int)lroundf((float)box->width * view->split_at)
                                                 : box->left;
  bool alone = is_alone(present, &stage);
  glViewport(view->left, view->bottom, view->width, view->height);
  glClear(GL_COLOR_BUFFER_BIT); /* clears all of the drawable, which may be larger than the view (the rectangle in which
                                 * a picture is shown) */
  glBindVertexArray(present->vertices);
  bound(view, alone, glEnable);
  if (alone)
    paint_picture(present, &present->picture, &stage, 1);
  else
    paint_all(present, &stage, split);
  bound(view, alone, glDisable);
  if (view->card > 0 && present->card.filled)
    paint_card(present, &stage);
}

float present_locate(const struct present *present, const struct present_view *view, float x, float y) {
  const struct stage stage = make_stage(&present->picture, view);
  double u, v, across = (double)(x - (float)view->left) / view->width;
  bool found = placement_locate(stage.canvas, stage.pin, across, (double)y / view->height, &u, &v);
  return found ? fminf(1, fmaxf(0, (float)u)) : 0;
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
