#include "app/window/lettering.h"

#include <SDL_ttf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/cells.h"
#include "app/window/embed.h"
#include "app/window/hud_text.h"

/* For each enum letter_size: the font's size as a percentage of that for LETTERS_USUAL. */
static const int hundredths[LETTER_SIZES] = {[LETTERS_SMALL] = 80, [LETTERS_USUAL] = 100, [LETTERS_LARGE] = 130};
/* KEPT_MAX: number of texts that are kept; KEPT_BYTES: longest text of these, with its final 0. */
enum { SIZE_FIRST = 13, KEPT_MAX = 64, KEPT_BYTES = 48 };

/* A text as SDL_ttf measures and draws it. Most texts of the operator's window stay from one redraw to the next, a new
 * one is measured several times, and both take many times as long as blending it. */
struct kept {
  char text[KEPT_BYTES];
  enum letter_size size;
  int width;            /* width of the text in pixels */
  SDL_Surface *surface; /* NULL: the text was not drawn yet; only the opacity of the pixels counts, not their colour */
  long used;            /* value of kept_texts.uses when the text was last wanted; 0: this entry is unused */
};

struct kept_texts {
  struct kept entry[KEPT_MAX];
  long uses; /* number of texts that were wanted so far */
};

struct lettering {
  TTF_Font *font[LETTER_SIZES];
  int size[LETTER_SIZES]; /* height of the font for each enum letter_size, in pixels */
  struct glyphs *glyphs;  /* draws characters that the font lacks */
  /* a pointer, because measuring a text adds it, and to whoever measures, the fonts are constant */
  struct kept_texts *kept;
};

int lettering_open(struct lettering **out, struct glyphs *glyphs, struct error *err) {
  *out = NULL;
  struct lettering *lettering = calloc(1, sizeof *lettering);
  if (lettering)
    lettering->kept = calloc(1, sizeof *lettering->kept);
  if (!lettering || !lettering->kept) {
    free(lettering);
    return error_set(err, STATUS_FAILED, "no memory for the overlay");
  }
  lettering->glyphs = glyphs;
  for (int i = 0; i < LETTER_SIZES; i++) {
    SDL_RWops *file = SDL_RWFromConstMem(embed_letters, (int)(embed_letters_end - embed_letters));
    lettering->font[i] = TTF_OpenFontRW(file, 1, SIZE_FIRST);
    lettering->size[i] = SIZE_FIRST;
    if (!lettering->font[i]) {
      error_set(err, STATUS_OUTPUT, "text: %s", TTF_GetError());
      lettering_close(&lettering);
      return -1;
    }
  }
  *out = lettering;
  return 0;
}

static void forget_kept(struct kept_texts *kept) {
  for (int i = 0; i < KEPT_MAX; i++)
    SDL_FreeSurface(kept->entry[i].surface);
  *kept = (struct kept_texts){0};
}

void lettering_close(struct lettering **pointer) {
  struct lettering *lettering = *pointer;
  if (!lettering)
    return;
  forget_kept(lettering->kept);
  for (int i = 0; i < LETTER_SIZES; i++)
    if (lettering->font[i])
      TTF_CloseFont(lettering->font[i]);
  free(lettering->kept);
  free(lettering);
  *pointer = NULL;
}

void lettering_set_size(struct lettering *lettering, int size) {
  forget_kept(lettering->kept);
  for (int i = 0; i < LETTER_SIZES; i++) {
    lettering->size[i] = size * hundredths[i] / 100;
    TTF_SetFontSize(lettering->font[i], lettering->size[i]);
  }
}

int lettering_size(const struct lettering *lettering, enum letter_size size) {
  return lettering->size[size];
}

int lettering_line(const struct lettering *lettering, enum letter_size size) {
  return TTF_FontHeight(lettering->font[size]);
}

/* Characters that are drawn with one call: either any number of characters that the font has, or a single one that it
 * lacks, together with the combining marks after it. */
struct piece {
  size_t bytes;
  int columns; /* width of the piece of text, in characters of the monospaced font */
  /* true: the window's own font has glyphs for all characters of the piece of text; false: another font is used */
  bool own;
};

static struct piece take_piece(const struct lettering *lettering, const char *text, size_t length) {
  struct piece piece = {0};
  while (piece.bytes < length) {
    uint32_t character;
    int columns;
    size_t bytes = cells_read(text + piece.bytes, length - piece.bytes, &character, &columns);
    bool own = TTF_GlyphIsProvided32(lettering->font[0], character) != 0;
    if (!piece.bytes)
      piece.own = own;
    else if (own != piece.own || (!own && columns))
      break;
    piece.bytes += bytes;
    piece.columns += columns;
  }
  return piece;
}

static int measure(const struct lettering *lettering, enum letter_size size, const char *text) {
  int width = 0;
  TTF_SizeUTF8(lettering->font[size], text, &width, NULL);
  return width;
}

/* Returns the entry of a text of less than KEPT_BYTES bytes, which is measured if it is not kept yet. The text that was
 * not wanted for the longest time gives way. */
static struct kept *keep(const struct lettering *lettering, enum letter_size size, const char *text) {
  struct kept_texts *kept = lettering->kept;
  struct kept *entry = kept->entry;
  kept->uses++;
  for (int i = 0; i < KEPT_MAX; i++) {
    struct kept *other = &kept->entry[i];
    if (other->used && other->size == size && !strcmp(other->text, text)) {
      other->used = kept->uses;
      return other;
    }
    entry = other->used < entry->used ? other : entry;
  }
  SDL_FreeSurface(entry->surface);
  *entry = (struct kept){.size = size, .width = measure(lettering, size, text), .used = kept->uses};
  snprintf(entry->text, sizeof entry->text, "%s", text);
  return entry;
}

/* keeps: whether the text will be wanted again, so that it is kept. */
static int width_of(const struct lettering *lettering, enum letter_size size, const char *text,
                    const struct piece *piece, bool keeps) {
  char run[HUD_TEXT_MAX];
  if (!piece->own)
    return piece->columns * glyphs_advance(lettering->glyphs);
  snprintf(run, sizeof run, "%.*s", (int)piece->bytes, text);
  return keeps && piece->bytes < KEPT_BYTES ? keep(lettering, size, run)->width : measure(lettering, size, run);
}

static int measure_pieces(const struct lettering *lettering, enum letter_size size, const char *text, size_t length,
                          bool keeps) {
  int width = 0;
  for (struct piece piece; length; text += piece.bytes, length -= piece.bytes) {
    piece = take_piece(lettering, text, length);
    width += width_of(lettering, size, text, &piece, keeps);
  }
  return width;
}

int lettering_width(const struct lettering *lettering, enum letter_size size, const char *text, size_t length) {
  return measure_pieces(lettering, size, text, length, true);
}

/* Returns the number of bytes of the character at text, which has `length` bytes. */
static size_t character_bytes(const char *text, size_t length) {
  size_t bytes = 1;
  while (bytes < length && ((unsigned char)text[bytes] & 0xc0) == 0x80)
    bytes++;
  return bytes;
}

size_t lettering_fit(const struct lettering *lettering, enum letter_size size, const char *text, size_t length,
                     int width) {
  if (lettering_width(lettering, size, text, length) <= width)
    return length;
  size_t fits = 0;
  while (fits < length) {
    size_t next = fits + character_bytes(text + fits, length - fits);
    if (measure_pieces(lettering, size, text, next, false) > width)
      break;
    fits = next;
  }
  return fits;
}

/* Returns `from` moved towards `to` by share / 256, separately for each of the four bytes. */
static uint32_t mix(uint32_t from, uint32_t to, uint32_t share) {
  const uint32_t even = 0x00ff00ff;
  uint32_t low = from & even, high = from >> 8 & even;
  low += (((to & even) - low) * share) >> 8;
  high += (((to >> 8 & even) - high) * share) >> 8;
  return (low & even) | (high & even) << 8;
}

/* Blends drawn text with the surface, within its clipping rectangle. The surface has 4 bytes a pixel and no transparent
 * pixels. SDL_BlitSurface is not used,
 * because it is slow if text and surface have their colours in another order of bytes. */
static void blend(SDL_Surface *surface, const SDL_Surface *drawn, int left, int top, uint32_t color) {
  const SDL_Rect at = {left, top, drawn->w, drawn->h};
  SDL_Rect part;
  if (!SDL_IntersectRect(&at, &surface->clip_rect, &part))
    return;
  for (int y = part.y; y < part.y + part.h; y++) {
    const char *row = (const char *)drawn->pixels + (y - top) * drawn->pitch;
    const uint32_t *from = (const uint32_t *)(const void *)row - left;
    uint32_t *to = (uint32_t *)(void *)((char *)surface->pixels + y * surface->pitch);
    for (int x = part.x; x < part.x + part.w; x++) {
      uint32_t share = from[x] >> drawn->format->Ashift & 255;
      if (share)
        to[x] = mix(to[x], color, share + (share >> 7));
    }
  }
}

static void draw_own(struct lettering *lettering, SDL_Surface *surface, int x, int y, enum letter_size size,
                     SDL_Color color, const char *text, size_t length) {
  char run[HUD_TEXT_MAX];
  uint32_t value = SDL_MapRGBA(surface->format, color.r, color.g, color.b, 255);
  snprintf(run, sizeof run, "%.*s", (int)length, text);
  struct kept *kept = strlen(run) < KEPT_BYTES ? keep(lettering, size, run) : NULL;
  SDL_Surface *drawn = kept ? kept->surface : NULL;
  if (!drawn)
    drawn = TTF_RenderUTF8_Blended(lettering->font[size], run, color);
  if (drawn)
    blend(surface, drawn, x, y, value);
  if (kept)
    kept->surface = drawn;
  else
    SDL_FreeSurface(drawn);
}

void lettering_draw(struct lettering *lettering, SDL_Surface *surface, int x, int y, enum letter_size size,
                    SDL_Color color, const char *text, size_t length) {
  for (struct piece piece; length; text += piece.bytes, length -= piece.bytes) {
    piece = take_piece(lettering, text, length);
    if (piece.own)
      draw_own(lettering, surface, x, y, size, color, text, piece.bytes);
    else
      glyphs_draw(lettering->glyphs, surface, true, x, y, color, text, piece.bytes);
    x += width_of(lettering, size, text, &piece, true);
  }
}
