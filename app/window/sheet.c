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
  sheet->part[0] = (struct sheet_part){0, 0, width, height};
  sheet->parts = 1;
  SDL_SetClipRect(sheet->surface, NULL);
  sheet_fill(sheet, 0, 0, width, height, ground);
  return true;
}

bool sheet_resume(struct sheet *sheet, int width, int height) {
  bool same = sheet->surface && sheet->width == width && sheet->height == height && width > 0 && height > 0;
  sheet->parts = 0;
  if (same)
    SDL_SetClipRect(sheet->surface, NULL);
  return same;
}

/* Returns the position in a range of `length` pixels from `first` on that is nearest to `value`. */
static int limit(int value, int first, int length) {
  return value < first ? first : value > first + length ? first + length : value;
}

static bool meet(const struct sheet_part *a, const struct sheet_part *b) {
  return a->from_x <= b->to_x && b->from_x <= a->to_x && a->from_y <= b->to_y && b->from_y <= a->to_y;
}

static void add_to(struct sheet_part *part, const struct sheet_part *other) {
  part->from_x = other->from_x < part->from_x ? other->from_x : part->from_x;
  part->from_y = other->from_y < part->from_y ? other->from_y : part->from_y;
  part->to_x = other->to_x > part->to_x ? other->to_x : part->to_x;
  part->to_y = other->to_y > part->to_y ? other->to_y : part->to_y;
}

void sheet_touch(struct sheet *sheet, int x, int y, int width, int height) {
  const struct sheet_part touched = {limit(x, 0, sheet->width), limit(y, 0, sheet->height),
                                     limit(x + width, 0, sheet->width), limit(y + height, 0, sheet->height)};
  int i = 0;
  if (touched.from_x == touched.to_x || touched.from_y == touched.to_y)
    return;
  while (i < sheet->parts && !meet(&sheet->part[i], &touched))
    i++;
  if (i == sheet->parts && i < SHEET_PARTS)
    sheet->part[sheet->parts++] = touched;
  else
    add_to(&sheet->part[i < SHEET_PARTS ? i : SHEET_PARTS - 1], &touched);
}

void sheet_clip(struct sheet *sheet, int part) {
  const struct sheet_part none = {0}, *at = part < sheet->parts ? &sheet->part[part] : &none;
  SDL_SetClipRect(sheet->surface, &(SDL_Rect){at->from_x, at->from_y, at->to_x - at->from_x, at->to_y - at->from_y});
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

/* Copies a newly drawn part of the sheet into the texture, which already has the sheet's size. */
static void copy_part(const struct sheet *sheet, const struct sheet_part *part) {
  const char *from = (const char *)sheet->surface->pixels + (size_t)part->from_y * (size_t)sheet->surface->pitch +
                     (size_t)part->from_x * 4;
  glTexSubImage2D(GL_TEXTURE_2D, 0, part->from_x, part->from_y, part->to_x - part->from_x, part->to_y - part->from_y,
                  GL_RGBA, GL_UNSIGNED_BYTE, from);
}

void sheet_end(struct sheet *sheet) {
  SDL_Surface *surface = sheet->surface;
  bool same = sheet->texture && sheet->texture_width == sheet->width && sheet->texture_height == sheet->height;
  if (!sheet->texture)
    sheet->texture = gl_texture(GL_NEAREST);
  glBindTexture(GL_TEXTURE_2D, sheet->texture);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, surface->pitch / 4);
  for (int i = 0; same && i < sheet->parts; i++)
    copy_part(sheet, &sheet->part[i]);
  if (!same)
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
