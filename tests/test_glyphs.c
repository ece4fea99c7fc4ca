/* Tests drawing text in a monospaced grid, with the built-in font and with a font of the system. */
#include "tests/rigs/cmocka_all.h"

#include <SDL.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/window/cells.h"
#include "app/window/fonts.h"
#include "app/window/glyphs.h"
#include "tests/rigs/scratch.h"

/* U+6F22 and U+6CB9: the font of the test has the first of them, and no other character. */
#define KNOWN "\u6f22"
#define UNKNOWN "\u6cb9"

enum { SIZE = 20, WIDTH = 200, HEIGHT = 40, GLYPH_OF_A = 36, FONT_MAX = 1 << 20, PATIENCE_MS = 60000 };

static const char *own_font;
static char configuration[1200]; /* path of the configuration of fontconfig */
static struct glyphs *glyphs;

/* --- a font --- */

static void put16(unsigned char *at, unsigned value) {
  at[0] = (unsigned char)(value >> 8);
  at[1] = (unsigned char)value;
}

static void put32(unsigned char *at, unsigned value) {
  put16(at, value >> 16);
  put16(at + 2, value & 0xffff);
}

/* Writes a copy of the built-in font whose table of characters has only one, which looks like an A. */
static void write_font(const char *from, const char *path) {
  static unsigned char font[FONT_MAX];
  FILE *file = fopen(from, "rb");
  assert_non_null(file);
  size_t size = fread(font, 1, FONT_MAX - 64, file);
  fclose(file);
  unsigned char *table = font + size, *record = font + 12;
  while (memcmp(record, "cmap", 4) != 0)
    record += 16;
  put32(record + 8, (unsigned)size);
  put32(record + 12, 40);
  put16(table + 2, 1);   /* number of subtables: one */
  put16(table + 4, 3);   /* platform: Windows */
  put16(table + 6, 10);  /* encoding: all of Unicode */
  put32(table + 8, 12);  /* offset of the subtable */
  put16(table + 12, 12); /* format: groups of characters */
  put32(table + 16, 28);
  put32(table + 24, 1); /* number of groups: one */
  put32(table + 28, 0x6f22);
  put32(table + 32, 0x6f22);
  put32(table + 36, GLYPH_OF_A);
  file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(font, 1, size + 40, file), size + 40);
  assert_int_equal(fclose(file), 0);
}

/* --- drawing --- */

static SDL_Surface *begin(void) {
  SDL_Surface *surface = SDL_CreateRGBSurfaceWithFormat(0, WIDTH, HEIGHT, 32, SDL_PIXELFORMAT_RGBA32);
  assert_non_null(surface);
  SDL_FillRect(surface, NULL, 0xff000000u);
  return surface;
}

static void draw(SDL_Surface *surface, int x, const char *text) {
  glyphs_draw(glyphs, surface, true, x, 5, (SDL_Color){255, 255, 255, 255}, text, strlen(text));
}

static SDL_Surface *drawn(const char *text) {
  SDL_Surface *surface = begin();
  draw(surface, 0, text);
  return surface;
}

/* Draws until a font was found for this many characters of the text, or the search has ended without one. */
static void look_for(const char *text, int characters) {
  for (; characters; characters--) {
    SDL_FreeSurface(drawn(text));
    int waited = 0;
    while (!glyphs_follow(glyphs) && waited++ < PATIENCE_MS)
      SDL_Delay(1);
    assert_true(waited < PATIENCE_MS);
  }
}

static bool same(SDL_Surface *a, SDL_Surface *b) {
  bool equal = true;
  for (int y = 0; y < HEIGHT; y++)
    equal = equal && !memcmp((char *)a->pixels + y * a->pitch, (char *)b->pixels + y * b->pitch, WIDTH * 4);
  SDL_FreeSurface(a);
  SDL_FreeSurface(b);
  return equal;
}

static void characters_have_columns(void **state) {
  (void)state;
  assert_int_equal(cells_count("a" KNOWN "e\u0301.", strlen("a" KNOWN "e\u0301.")), 5);
  assert_int_equal(cells_count("\xff\xfe", 2), 2);
  assert_int_equal(cells_fit("a" KNOWN "b", 5, 2), 1);
  assert_int_equal(cells_fit("a" KNOWN "b", 5, 3), 4);
  assert_int_equal(cells_fit("e\u0301x", 4, 1), 3); /* a combining mark is in the same cell as its letter */
}

/* A character that the built-in font lacks is drawn from another font, centred in its two cells and on the same
 * baseline. */
static void what_the_own_font_lacks_is_another_ones(void **state) {
  (void)state;
  if (!HAVE_FONTCONFIG)
    skip();
  SDL_Surface *wanted = begin();
  int advance = glyphs_advance(glyphs);
  assert_false(same(drawn(KNOWN), drawn(""))); /* drawn as a box until a font is found */
  assert_true(same(drawn(KNOWN), drawn(UNKNOWN)));
  look_for(KNOWN, 1);
  draw(wanted, 0, "x");
  draw(wanted, advance + advance / 2, "A");
  draw(wanted, 3 * advance, "y");
  assert_true(same(wanted, drawn("x" KNOWN "y")));
}

static void what_no_font_has_is_a_box(void **state) {
  (void)state;
  if (!HAVE_FONTCONFIG)
    skip();
  look_for(UNKNOWN "\u5b57", 2);
  assert_true(same(drawn(UNKNOWN), drawn("\u5b57")));
  assert_false(same(drawn(UNKNOWN), drawn("")));
  assert_false(same(drawn(UNKNOWN), drawn(KNOWN)));
}

/* fontconfig's configuration comes from a pipe that is still empty: drawing does not wait for it. */
static void fonts_that_take_long_are_not_waited_for(void **state) {
  (void)state;
  struct glyphs *other;
  struct error err;
  char path[1200], text[1300];
  if (!HAVE_FONTCONFIG)
    skip();
  snprintf(path, sizeof path, "%s/pipe", scratch);
  assert_int_equal(mkfifo(path, 0600), 0);
  setenv("FONTCONFIG_FILE", path, 1);
  if (glyphs_open(&other, &err))
    fail_msg("%s", err.message);
  glyphs_set_size(other, SIZE);
  SDL_Surface *surface = begin();
  glyphs_draw(other, surface, true, 0, 5, (SDL_Color){255, 255, 255, 255}, KNOWN, strlen(KNOWN));
  SDL_FreeSurface(surface);
  int pipe = open(path, O_WRONLY); /* waits until the pipe is read */
  assert_true(pipe >= 0);
  assert_int_equal(unlink(path), 0); /* the pipe is in the folder in which fonts are searched */
  glyphs_close(&other);
  assert_null(other);
  setenv("FONTCONFIG_FILE", configuration, 1);
  int length = snprintf(text, sizeof text, "<fontconfig><cachedir>%s</cachedir></fontconfig>\n", scratch);
  assert_int_equal(write(pipe, text, (size_t)length), length);
  assert_int_equal(close(pipe), 0);
}

static void whatever_is_drawn_many_times(void **state) {
  (void)state;
  SDL_Surface *surface = begin();
  for (unsigned c = 0x4e00; c < 0x4e00 + 200; c++) {
    const char text[] = {(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63)), 0};
    glyphs_set_size(glyphs, 13 + (int)(c % 20));
    draw(surface, 0, text);
    glyphs_follow(glyphs);
  }
  draw(surface, WIDTH - 3, "\xff" KNOWN "\xe6");
  SDL_FreeSurface(surface);
}

static int open_all(void **state) {
  struct error err;
  char path[1200];
  scratch_make(state);
  snprintf(path, sizeof path, "%s/one.ttf", scratch);
  write_font(own_font, path);
  snprintf(configuration, sizeof configuration, "%s/fonts.conf", scratch);
  FILE *file = fopen(configuration, "w");
  assert_non_null(file);
  fprintf(file, "<fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n", scratch, scratch);
  assert_int_equal(fclose(file), 0);
  setenv("FONTCONFIG_FILE", configuration, 1);
  if (glyphs_open(&glyphs, &err))
    fail_msg("%s", err.message);
  glyphs_set_size(glyphs, SIZE);
  return 0;
}

static int close_all(void **state) {
  glyphs_close(&glyphs);
  return scratch_remove(state);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_have_columns),
      cmocka_unit_test(fonts_that_take_long_are_not_waited_for),
      cmocka_unit_test(what_the_own_font_lacks_is_another_ones),
      cmocka_unit_test(what_no_font_has_is_a_box),
      cmocka_unit_test(whatever_is_drawn_many_times),
  };
  own_font = argc > 1 ? argv[1] : "";
  return cmocka_run_group_tests(tests, open_all, close_all);
}
