#include "app/window/sheet.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/window/cells.h"
#include "app/window/embed.h"
#include "app/window/gl_util.h"
#include "app/window/glyphs.h"

/* The font's size in pixels is the drawable's height divided by LINES_OF_TYPE, but at least TYPE_MIN and at most
 * TYPE_MAX. All other lengths of the overlay are computed from the font's size. */
enum { TYPE_MIN = 13, TYPE_MAX = 40, LINES_OF_TYPE = 44 };

static const SDL_Color tones[TONES] = {
    [TONE_PLAIN] = {240, 240, 240, 255},
    [TONE_DIM] = {165, 170, 178, 255},
    [TONE_ALERT] = {255, 176, 84, 255},
    [TONE_TITLE] = {140, 205, 255, 255},
};

struct typeface {
  struct glyphs *glyphs;
  int size;
  GLuint program, vertices;
  struct {
    GLint rect, window, size, radius, shade;
  } at; /* locations of the uniforms (variables) of the shaders text.vert and text.frag */
};

static int open_program(struct typeface *face, struct error *err) {
  face->program = gl_program("text", embed_text_vert, embed_text_frag, err);
  if (!face->program)
    return -1;
  face->at.rect = glGetUniformLocation(face->program, "rect");
  face->at.window = glGetUniformLocation(face->program, "window");
  face->at.size = glGetUniformLocation(face->program, "size");
  face->at.radius = glGetUniformLocation(face->program, "radius");
  face->at.shade = glGetUniformLocation(face->program, "shade");
  glGenVertexArrays(1, &face->vertices);
  return 0;
}

int typeface_open(struct typeface **out, struct error *err) {
  *out = NULL;
  struct typeface *face = calloc(1, sizeof *face);
  if (!face)
    return error_set(err, STATUS_FAILED, "no memory for the overlay");
  if (glyphs_open(&face->glyphs, err) || open_program(face, err)) {
    typeface_close(&face);
    return -1;
  }
  *out = face;
  return 0;
}

void typeface_close(struct typeface **pointer) {
  struct typeface *face = *pointer;
  if (!face)
    return;
  if (face->program) {
    glDeleteVertexArrays(1, &face->vertices);
    glDeleteProgram(face->program);
  }
  glyphs_close(&face->glyphs);
  free(face);
  *pointer = NULL;
}

bool typeface_fit(struct typeface *face, int height) {
  int size = height / LINES_OF_TYPE;
  size = size < TYPE_MIN ? TYPE_MIN : size > TYPE_MAX ? TYPE_MAX : size;
  if (size == face->size)
    return false;
  face->size = size;
  glyphs_set_size(face->glyphs, size);
  return true;
}

bool typeface_follow(struct typeface *face) {
  return glyphs_follow(face->glyphs);
}

int typeface_size(const struct typeface *face) {
  return face->size;
}

int typeface_advance(const struct typeface *face) {
  return glyphs_advance(face->glyphs);
}

int typeface_line(const struct typeface *face) {
  return face->size * 3 / 2;
}

int typeface_width(const struct typeface *face, const char *text, size_t length) {
  return cells_count(text, length) * typeface_advance(face);
}

void sheet_close(struct sheet *sheet) {
  glDeleteTextures(1, &sheet->texture);
  *sheet = (struct sheet){0};
}

bool sheet_begin(struct sheet *sheet, int width, int height, struct color ground) {
  sheet->width = sheet->height = 0;
  if (width <= 0 || height <= 0)
    return false;
  sheet->surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_RGBA32);
  if (!sheet->surface)
    return false;
  sheet->width = width;
  sheet->height = height;
  sheet->filled = ground.alpha > 0;
  sheet_fill(sheet, 0, 0, width, height, ground);
  return true;
}

void sheet_fill(struct sheet *sheet, int x, int y, int width, int height, struct color color) {
  const SDL_Rect rect = {x, y, width, height};
  SDL_FillRect(sheet->surface, &rect,
               SDL_MapRGBA(sheet->surface->format, color.red, color.green, color.blue, color.alpha));
}

int sheet_text(struct sheet *sheet, const struct typeface *face, int x, int y, int columns, enum tone tone,
               const char *text, size_t length) {
  static const char ellipsis[] = "\u2026";
  int count = cells_count(text, length);
  bool cut = count > columns;
  if (columns <= 0 || count == 0)
    return 0;
  size_t bytes = cut ? cells_fit(text, length, columns - 1) : length;
  glyphs_draw(face->glyphs, sheet->surface, sheet->filled, x, y, tones[tone], text, bytes);
  if (!cut)
    return count;
  x += cells_count(text, bytes) * typeface_advance(face);
  glyphs_draw(face->glyphs, sheet->surface, sheet->filled, x, y, tones[tone], ellipsis, sizeof ellipsis - 1);
  return columns;
}

void sheet_end(struct sheet *sheet) {
  SDL_Surface *surface = sheet->surface;
  if (!sheet->texture)
    sheet->texture = gl_texture(GL_NEAREST);
  glBindTexture(GL_TEXTURE_2D, sheet->texture);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, surface->pitch / 4);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, sheet->width, sheet->height, 0, GL_RGBA, GL_UNSIGNED_BYTE, surface->pixels);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  SDL_FreeSurface(surface);
  sheet->surface = NULL;
}

void sheet_show(const struct sheet *sheet, const struct typeface *face, const struct sheet_place *place,
                int drawable_width, int drawable_height) {
  if (!sheet->width)
    return;
  glUseProgram(face->program);
  glBindVertexArray(face->vertices);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glUniform2f(face->at.window, (float)drawable_width, (float)drawable_height);
  glUniform1f(face->at.radius, place->radius);
  glUniform4f(face->at.rect, (float)place->left, (float)place->top, (float)(place->left + sheet->width),
              (float)(place->top + sheet->height));
  glUniform2f(face->at.size, (float)sheet->width, (float)sheet->height);
  glUniform1f(face->at.shade, place->shade);
  glBindTexture(GL_TEXTURE_2D, sheet->texture);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glDisable(GL_BLEND);
}
