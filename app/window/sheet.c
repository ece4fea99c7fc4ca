#include "app/window/sheet.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/window/cells.h"
#include "app/window/embed.h"
#include "app/window/gl_util.h"
#include "app/window/glyphs.h"

static const SDL_Color tones[TONES] = {
    [TONE_PLAIN] = {240, 240, 240, 255},
    [TONE_DIM] = {165, 170, 178, 255},
    [TONE_ALERT] = {255, 176, 84, 255},
    [TONE_TITLE] = {140, 205, 255, 255},
};

struct typeface {
  struct glyphs *glyphs;
  struct lettering *lettering;
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
  if (glyphs_open(&face->glyphs, err) || lettering_open(&face->lettering, face->glyphs, err) ||
      open_program(face, err)) {
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
  lettering_close(&face->lettering);
  glyphs_close(&face->glyphs);
  free(face);
  *pointer = NULL;
}

bool typeface_set_size(struct typeface *face, int size) {
  if (size == face->size)
    return false;
  face->size = size;
  glyphs_set_size(face->glyphs, size);
  lettering_set_size(face->lettering, size);
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

const struct lettering *typeface_lettering(const struct typeface *face) {
  return face->lettering;
}

void sheet_close(struct sheet *sheet) {
  glDeleteTextures(1, &sheet->texture);
  SDL_FreeSurface(sheet->surface);
  *sheet = (struct sheet){0};
}

bool sheet_begin(struct sheet *sheet, int width, int height, struct color ground) {
  sheet->width = sheet->height = 0;
  if (width <= 0 || height <= 0)
    return false;
  if (sheet->surface && (sheet->surface->w != width || sheet->surface->h != height)) {
    SDL_FreeSurface(sheet->surface);
    sheet->surface = NULL;
  }
  if (!sheet->surface)
    sheet->surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_RGBA32);
  if (!sheet->surface)
    return false;
  sheet->width = width;
  sheet->height = height;
  sheet->filled = ground.alpha > 0;
  sheet->from_x = sheet->from_y = 0;
  sheet->to_x = width;
  sheet->to_y = height;
  SDL_SetClipRect(sheet->surface, NULL);
  sheet_fill(sheet, 0, 0, width, height, ground);
  return true;
}

bool sheet_resume(struct sheet *sheet, int width, int height) {
  bool same = sheet->surface && sheet->width == width && sheet->height == height && width > 0 && height > 0;
  sheet->from_x = width;
  sheet->from_y = height;
  sheet->to_x = sheet->to_y = 0;
  if (same)
    SDL_SetClipRect(sheet->surface, NULL);
  return same;
}

/* Returns the position in a range of `length` pixels from `first` on that is nearest to `value`. */
static int limit(int value, int first, int length) {
  return value < first ? first : value > first + length ? first + length : value;
}

void sheet_touch(struct sheet *sheet, int x, int y, int width, int height) {
  int left = limit(x, 0, sheet->width), top = limit(y, 0, sheet->height), right = limit(x + width, 0, sheet->width),
      bottom = limit(y + height, 0, sheet->height);
  sheet->from_x = left < sheet->from_x ? left : sheet->from_x;
  sheet->from_y = top < sheet->from_y ? top : sheet->from_y;
  sheet->to_x = right > sheet->to_x ? right : sheet->to_x;
  sheet->to_y = bottom > sheet->to_y ? bottom : sheet->to_y;
}

void sheet_clip(struct sheet *sheet) {
  int width = sheet->to_x - sheet->from_x, height = sheet->to_y - sheet->from_y;
  const SDL_Rect touched = {sheet->from_x, sheet->from_y, width > 0 ? width : 0, height > 0 ? height : 0};
  SDL_SetClipRect(sheet->surface, &touched);
}

/* SDL_FillRect is not used, because it writes to memory without filling the processor's caches; blending text and
 * copying the sheet are faster if the pixels are in the caches. */
void sheet_fill(struct sheet *sheet, int x, int y, int width, int height, struct color color) {
  const SDL_Rect *clip = &sheet->surface->clip_rect;
  int left = limit(x, clip->x, clip->w), top = limit(y, clip->y, clip->h), right = limit(x + width, clip->x, clip->w),
      bottom = limit(y + height, clip->y, clip->h);
  uint32_t value = SDL_MapRGBA(sheet->surface->format, color.red, color.green, color.blue, color.alpha);
  for (int row = top; row < bottom; row++) {
    uint32_t *at = (uint32_t *)(void *)((char *)sheet->surface->pixels + (size_t)row * (size_t)sheet->surface->pitch);
    for (int column = left; column < right; column++)
      at[column] = value;
  }
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

int sheet_letters(struct sheet *sheet, const struct typeface *face, int x, int y, int width, enum letter_size size,
                  struct color color, const char *text, size_t length) {
  static const char ellipsis[] = "\u2026";
  const SDL_Color of = {color.red, color.green, color.blue, color.alpha};
  int whole = lettering_width(face->lettering, size, text, length);
  if (width <= 0 || !length)
    return 0;
  if (whole <= width) {
    lettering_draw(face->lettering, sheet->surface, x, y, size, of, text, length);
    return whole;
  }
  int own = lettering_width(face->lettering, size, ellipsis, sizeof ellipsis - 1);
  size_t bytes = lettering_fit(face->lettering, size, text, length, width - own);
  lettering_draw(face->lettering, sheet->surface, x, y, size, of, text, bytes);
  int drawn = lettering_width(face->lettering, size, text, bytes);
  if (drawn + own <= width)
    lettering_draw(face->lettering, sheet->surface, x + drawn, y, size, of, ellipsis, sizeof ellipsis - 1);
  return drawn + own;
}

/* Copies the newly drawn part of the sheet into the texture, which already has the sheet's size. */
static void copy_part(const struct sheet *sheet) {
  int width = sheet->to_x - sheet->from_x, height = sheet->to_y - sheet->from_y;
  if (width <= 0 || height <= 0)
    return;
  const char *from = (const char *)sheet->surface->pixels + (size_t)sheet->from_y * (size_t)sheet->surface->pitch +
                     (size_t)sheet->from_x * 4;
  glTexSubImage2D(GL_TEXTURE_2D, 0, sheet->from_x, sheet->from_y, width, height, GL_RGBA, GL_UNSIGNED_BYTE, from);
}

void sheet_end(struct sheet *sheet) {
  SDL_Surface *surface = sheet->surface;
  bool same = sheet->texture && sheet->texture_width == sheet->width && sheet->texture_height == sheet->height;
  if (!sheet->texture)
    sheet->texture = gl_texture(GL_NEAREST);
  glBindTexture(GL_TEXTURE_2D, sheet->texture);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, surface->pitch / 4);
  if (same)
    copy_part(sheet);
  else
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, sheet->width, sheet->height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 surface->pixels);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  sheet->texture_width = sheet->width;
  sheet->texture_height = sheet->height;
  sheet->drawn++;
}

void sheets_begin(const struct typeface *face, int drawable_width, int drawable_height) {
  glUseProgram(face->program);
  glBindVertexArray(face->vertices);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glUniform2f(face->at.window, (float)drawable_width, (float)drawable_height);
}

void sheets_put(const struct sheet *sheet, const struct typeface *face, const struct sheet_place *place) {
  if (!sheet->width)
    return;
  glUniform1f(face->at.radius, place->radius);
  glUniform4f(face->at.rect, (float)place->left, (float)place->top, (float)(place->left + sheet->width),
              (float)(place->top + sheet->height));
  glUniform2f(face->at.size, (float)sheet->width, (float)sheet->height);
  glUniform1f(face->at.shade, place->shade);
  glBindTexture(GL_TEXTURE_2D, sheet->texture);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

void sheets_end(void) {
  glDisable(GL_BLEND);
}
