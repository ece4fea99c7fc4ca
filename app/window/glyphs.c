#include "app/window/glyphs.h"

#include <SDL_ttf.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/flow/errand.h"
#include "app/window/cells.h"
#include "app/window/embed.h"
#include "app/window/fonts.h"
#include "app/window/hud_text.h"

/* SIZE_FIRST: font size in pixels until glyphs_set_size is called. The search for fonts is given up once OTHERS_MAX
 * installed fonts are open, or MISSING_MAX characters were found in no font. */
enum { SIZE_FIRST = 13, OTHERS_MAX = 8, MISSING_MAX = 64 };
/* longest time in ns that glyphs_close waits for a search for an installed font that is still running on its thread */
static const int64_t leave_ns = 500000000;

/* A search for an installed font that has a given character. The search runs on a thread of its own, because the first
 * search may have to read all fonts. Neither pictures nor the end of the program wait for it. */
struct search {
  struct errand errand;
  struct fonts *fonts;
  bool asked; /* true: this search has called fonts_open; `fonts` is NULL if that failed */
  uint32_t character;
  int number; /* number, from 0, of the font that is tried, among all fonts that may have the character */
  bool found;
  struct font_file file;
};

struct glyphs {
  TTF_Font *own;
  int size, advance;
  struct search *search; /* the search for a font; if it is abandoned, its own thread frees it */
  TTF_Font *others[OTHERS_MAX];
  int other_count;
  uint32_t missing[MISSING_MAX];
  int missing_count;
};

static void search_free(void *opaque) {
  struct search *search = opaque;
  fonts_close(&search->fonts);
  free(search);
}

static void search_end(struct search *search) {
  if (search->errand.busy)
    errand_leave(&search->errand, leave_ns, search_free);
  else
    search_free(search);
}

int glyphs_open(struct glyphs **out, struct error *err) {
  *out = NULL;
  struct glyphs *glyphs = calloc(1, sizeof *glyphs);
  if (glyphs)
    glyphs->search = calloc(1, sizeof *glyphs->search);
  if (!glyphs || !glyphs->search) {
    free(glyphs);
    return error_set(err, STATUS_FAILED, "no memory for the overlay");
  }
  if (!TTF_Init()) {
    SDL_RWops *file = SDL_RWFromConstMem(embed_font, (int)(embed_font_end - embed_font));
    glyphs->own = TTF_OpenFontRW(file, 1, SIZE_FIRST);
  }
  if (!glyphs->own) {
    error_set(err, STATUS_OUTPUT, "text: %s", TTF_GetError());
    glyphs_close(&glyphs);
    return -1;
  }
  *out = glyphs;
  return 0;
}

void glyphs_close(struct glyphs **pointer) {
  struct glyphs *glyphs = *pointer;
  if (!glyphs)
    return;
  search_end(glyphs->search);
  for (int i = 0; i < glyphs->other_count; i++)
    TTF_CloseFont(glyphs->others[i]);
  if (glyphs->own)
    TTF_CloseFont(glyphs->own);
  if (TTF_WasInit())
    TTF_Quit();
  free(glyphs);
  *pointer = NULL;
}

void glyphs_set_size(struct glyphs *glyphs, int size) {
  glyphs->size = size;
  TTF_SetFontSize(glyphs->own, size);
  for (int i = 0; i < glyphs->other_count; i++)
    TTF_SetFontSize(glyphs->others[i], size);
  TTF_SizeUTF8(glyphs->own, "0", &glyphs->advance, NULL);
}

int glyphs_advance(const struct glyphs *glyphs) {
  return glyphs->advance;
}

/* --- choosing the font for a character, and searching for one --- */

static bool has(TTF_Font *font, uint32_t character) {
  return TTF_GlyphIsProvided32(font, character) != 0;
}

static bool is_missing(const struct glyphs *glyphs, uint32_t character) {
  for (int i = 0; i < glyphs->missing_count; i++)
    if (glyphs->missing[i] == character)
      return true;
  return glyphs->missing_count == MISSING_MAX || glyphs->other_count == OTHERS_MAX;
}

static void look(void *opaque) {
  struct search *search = opaque;
  if (!search->asked)
    search->fonts = fonts_open();
  search->asked = true;
  search->found = fonts_find(search->fonts, search->character, search->number, &search->file);
}

/* Starts to search for an installed font with this character. number: number of the candidate font to try, from 0.
 * Returns true if the search runs. */
static bool begin_search(struct glyphs *glyphs, uint32_t character, int number) {
  struct search *search = glyphs->search;
  struct error ignored;
  search->character = character;
  search->number = number;
  if (!errand_start(&search->errand, look, search, "looks for fonts", &ignored))
    return true;
  glyphs->missing[glyphs->missing_count++] = character;
  return false;
}

bool glyphs_follow(struct glyphs *glyphs) {
  struct search *search = glyphs->search;
  if (!errand_is_done(&search->errand))
    return false;
  errand_join(&search->errand);
  TTF_Font *font = search->found ? TTF_OpenFontIndex(search->file.path, glyphs->size, search->file.index) : NULL;
  if (font && has(font, search->character)) {
    glyphs->others[glyphs->other_count++] = font;
    return true;
  }
  if (font)
    TTF_CloseFont(font);
  if (search->found)
    return !begin_search(glyphs, search->character, search->number + 1);
  glyphs->missing[glyphs->missing_count++] = search->character;
  return true;
}

static TTF_Font *font_of(struct glyphs *glyphs, uint32_t character) {
  if (character < 128 || has(glyphs->own, character))
    return glyphs->own;
  for (int i = 0; i < glyphs->other_count; i++)
    if (has(glyphs->others[i], character))
      return glyphs->others[i];
  if (!glyphs->search->errand.busy && !is_missing(glyphs, character))
    begin_search(glyphs, character, 0);
  return glyphs->own;
}

/* --- drawing text --- */

/* Characters that are drawn with one call: several characters of the built-in font, one column wide each, or a single
 * one that is wide or of another font. Combining marks belong to the character before them. */
struct piece {
  TTF_Font *font;
  size_t bytes;
  int columns;
  /* true: the character is wide or belongs to another font than the built-in one, and is centred in its columns */
  bool placed;
};

static struct piece take_piece(struct glyphs *glyphs, const char *text, size_t length) {
  uint32_t character;
  struct piece piece = {0};
  piece.bytes = cells_read(text, length, &character, &piece.columns);
  piece.font = font_of(glyphs, character);
  piece.placed = piece.font != glyphs->own || piece.columns > 1;
  while (piece.bytes < length) {
    int columns;
    size_t bytes = cells_read(text + piece.bytes, length - piece.bytes, &character, &columns);
    bool goes_on = !columns || (!piece.placed && columns == 1 && font_of(glyphs, character) == glyphs->own);
    if (!goes_on)
      break;
    piece.bytes += bytes;
    piece.columns += columns;
  }
  return piece;
}

/* Copies the drawn characters to the surface at x, y, aligned with the baseline of the built-in font. A glyph that is
 * wider than its columns is cut on both sides. */
static void put(struct glyphs *glyphs, SDL_Surface *surface, SDL_Surface *drawn, const struct piece *piece, int x,
                int y) {
  int room = piece->columns * glyphs->advance;
  SDL_Rect from = {0, 0, drawn->w, drawn->h}, to = {x, y, 0, 0};
  if (piece->placed && drawn->w > room)
    from = (SDL_Rect){(drawn->w - room) / 2, 0, room, drawn->h};
  if (piece->placed)
    to.x += (room - from.w) / 2;
  to.y += TTF_FontAscent(glyphs->own) - TTF_FontAscent(piece->font);
  SDL_BlitSurface(drawn, &from, surface, &to);
}

void glyphs_draw(struct glyphs *glyphs, SDL_Surface *surface, bool blend, int x, int y, SDL_Color color,
                 const char *text, size_t length) {
  char run[HUD_TEXT_MAX];
  while (length) {
    struct piece piece = take_piece(glyphs, text, length);
    snprintf(run, sizeof run, "%.*s", (int)piece.bytes, text);
    SDL_Surface *drawn = TTF_RenderUTF8_Blended(piece.font, run, color);
    if (drawn) {
      SDL_SetSurfaceBlendMode(drawn, blend ? SDL_BLENDMODE_BLEND : SDL_BLENDMODE_NONE);
      put(glyphs, surface, drawn, &piece, x, y);
    }
    SDL_FreeSurface(drawn);
    x += piece.columns * glyphs->advance;
    text += piece.bytes;
    length -= piece.bytes;
  }
}
