#include "app/window/test_card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/window/cells.h"
#include "app/window/glyphs.h"

/* ROWS: number of squares of the test card's grid from its top to its bottom. CORNERS: number of corners of the
 * picture */
enum { ROWS = 9, CORNERS = 4 };

static const SDL_Color ground = {26, 28, 32, 255}, line = {150, 155, 165, 255}, bright = {255, 255, 255, 255},
                       chosen = {255, 140, 40, 255};

static void fill(SDL_Surface *surface, double left, double top, double width, double height, SDL_Color color) {
  const SDL_Rect rect = {(int)lround(left), (int)lround(top), (int)lround(fmax(1, width)),
                         (int)lround(fmax(1, height))};
  SDL_FillRect(surface, &rect, SDL_MapRGBA(surface->format, color.r, color.g, color.b, 255));
}

/* Draws a circle as squares of the side `thick` that follow each other closely. */
static void draw_circle(SDL_Surface *surface, double x, double y, double radius, double thick, SDL_Color color) {
  const double pi = 3.14159265358979323846;
  int count = (int)ceil(2 * pi * radius);
  for (int i = 0; i < count; i++)
    fill(surface, x + radius * cos(2 * pi * i / count) - thick / 2, y + radius * sin(2 * pi * i / count) - thick / 2,
         thick, thick, color);
}

/* Draws the grid, whose lines lie symmetrically about the window's middle, and the border along the window's edges. */
static void draw_grid(SDL_Surface *surface, double side, double thick) {
  int width = surface->w, height = surface->h;
  for (double x = fmod(width / 2.0, side); x < width; x += side)
    fill(surface, x - thick / 2, 0, thick, height, line);
  for (double y = fmod(height / 2.0, side); y < height; y += side)
    fill(surface, 0, y - thick / 2, width, thick, line);
  double border = 2 * thick;
  fill(surface, 0, 0, width, border, bright);
  fill(surface, 0, height - border, width, border, bright);
  fill(surface, 0, 0, border, height, bright);
  fill(surface, width - border, 0, border, height, bright);
}

/* Draws a row of greys from black to white, and below it the primary colours of light and their mixtures. */
static void draw_bars(SDL_Surface *surface, double side) {
  static const SDL_Color colors[] = {{255, 0, 0, 255},   {255, 255, 0, 255}, {0, 255, 0, 255},
                                     {0, 255, 255, 255}, {0, 0, 255, 255},   {255, 0, 255, 255}};
  enum { GREYS = 12, COLORS = sizeof colors / sizeof *colors };
  double wide = fmin(6 * side, surface->w * 0.8), left = (surface->w - wide) / 2, top = surface->h / 2.0 + side;
  for (int i = 0; i < GREYS; i++) {
    Uint8 grey = (Uint8)(255 * i / (GREYS - 1));
    fill(surface, left + wide * i / GREYS, top, wide / GREYS, side / 2, (SDL_Color){grey, grey, grey, 255});
  }
  for (int i = 0; i < COLORS; i++)
    fill(surface, left + wide * i / COLORS, top + side / 2, wide / COLORS, side / 2, colors[i]);
}

/* Writes words with the middle of their line at x, y, on a dark ground. */
static void write_words(SDL_Surface *surface, struct glyphs *glyphs, double x, double y, int size, const char *words,
                        SDL_Color color) {
  size_t length = strlen(words);
  int width = cells_count(words, length) * glyphs_advance(glyphs);
  int left = (int)(x - width / 2.0), top = (int)(y - size * 0.6);
  fill(surface, left - size * 0.3, top - size * 0.1, width + size * 0.6, size * 1.4, ground);
  glyphs_draw(glyphs, surface, true, left, top, color, words, length);
}

static void write_texts(SDL_Surface *surface, const char *name, int corner, double side) {
  struct glyphs *glyphs;
  struct error ignored;
  char words[160];
  int columns = cells_count(name, strlen(name));
  int size = (int)fmax(8, fmin(side * 0.6, surface->w * 1.3 / fmax(columns + 2, 12)));
  if (glyphs_open(&glyphs, &ignored))
    return;
  glyphs_set_size(glyphs, size);
  write_words(surface, glyphs, surface->w / 2.0, surface->h / 2.0 - side, size, name, bright);
  snprintf(words, sizeof words, "%d x %d", surface->w, surface->h);
  write_words(surface, glyphs, surface->w / 2.0, surface->h / 2.0, size, words, bright);
  for (int i = 0; i < CORNERS; i++) {
    double x = i == 0 || i == 3 ? side : surface->w - side, y = i < 2 ? side : surface->h - side;
    snprintf(words, sizeof words, "%d", i + 1);
    write_words(surface, glyphs, x, y, size, words, i + 1 == corner ? chosen : bright);
  }
  glyphs_close(&glyphs);
}

static void draw_card(SDL_Surface *surface, const char *name, int corner) {
  double width = surface->w, height = surface->h, side = height / ROWS, thick = fmax(1, height / 500);
  fill(surface, 0, 0, width, height, ground);
  draw_grid(surface, side, thick);
  draw_circle(surface, width / 2, height / 2, fmin(width, height) * 0.45, thick * 1.5, bright);
  for (int i = 0; i < CORNERS; i++) {
    double x = i == 0 || i == 3 ? side : width - side, y = i < 2 ? side : height - side;
    draw_circle(surface, x, y, side * 0.9, thick * (i + 1 == corner ? 4 : 1.5), i + 1 == corner ? chosen : bright);
  }
  draw_bars(surface, side);
  write_texts(surface, name, corner, side);
}

bool test_card_update(struct test_card *card, const char *name, int width, int height, int corner,
                      struct frame *frame) {
  if (card->surface && card->surface->w == width && card->surface->h == height && card->corner == corner &&
      !strcmp(card->name, name))
    return false;
  test_card_close(card);
  card->surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_RGBA32);
  if (!card->surface)
    return false;
  card->corner = corner;
  snprintf(card->name, sizeof card->name, "%s", name);
  draw_card(card->surface, card->name, corner);
  *frame = (struct frame){.format = PIXEL_RGBA,
                          .width = width,
                          .height = height,
                          .plane = {card->surface->pixels},
                          .pitch = {card->surface->pitch}};
  return true;
}

void test_card_close(struct test_card *card) {
  SDL_FreeSurface(card->surface);
  card->surface = NULL;
}
