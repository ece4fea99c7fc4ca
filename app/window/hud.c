#include "app/window/hud.h"

#include <SDL_ttf.h>
#include <stdlib.h>
#include <string.h>

#include "app/window/embed.h"
#include "app/window/gl_util.h"
#include "app/window/hud_text.h"

enum { PANEL_FIGURES, PANEL_NOTICE, PANEL_HELP, PANELS };

/* Lengths in pixels of the drawable follow from the size of the type. */
enum { TYPE_MIN = 13, TYPE_MAX = 40, LINES_OF_TYPE = 44 };
static const int64_t refresh_ns = 100000000;

static const SDL_Color tones[TONES] = {
    [TONE_PLAIN] = {240, 240, 240, 255},
    [TONE_DIM] = {165, 170, 178, 255},
    [TONE_ALERT] = {255, 176, 84, 255},
    [TONE_TITLE] = {140, 205, 255, 255},
};

struct panel {
  char text[HUD_TEXT_MAX];
  GLuint texture;
  int width, height; /* 0: nothing to show */
};

struct hud {
  TTF_Font *font;
  int type, advance, line; /* pixels: of the type, of a character, of a line */
  GLuint program, vertices;
  struct {
    GLint rect, window, size, radius, shade;
  } at; /* uniforms of text.vert and text.frag */
  struct panel panels[PANELS];
  int window_width; /* that the panels were cut for */
  int64_t updated_ns;
};

static int open_font(struct hud *hud, struct error *err) {
  if (TTF_Init())
    return error_set(err, STATUS_OUTPUT, "text: %s", TTF_GetError());
  SDL_RWops *file = SDL_RWFromConstMem(embed_font, (int)(embed_font_end - embed_font));
  hud->font = TTF_OpenFontRW(file, 1, TYPE_MIN);
  return hud->font ? 0 : error_set(err, STATUS_OUTPUT, "text: %s", TTF_GetError());
}

static int open_program(struct hud *hud, struct error *err) {
  hud->program = gl_program("text", embed_text_vert, embed_text_frag, err);
  if (!hud->program)
    return -1;
  hud->at.rect = glGetUniformLocation(hud->program, "rect");
  hud->at.window = glGetUniformLocation(hud->program, "window");
  hud->at.size = glGetUniformLocation(hud->program, "size");
  hud->at.radius = glGetUniformLocation(hud->program, "radius");
  hud->at.shade = glGetUniformLocation(hud->program, "shade");
  glGenVertexArrays(1, &hud->vertices);
  for (int i = 0; i < PANELS; i++)
    hud->panels[i].texture = gl_texture(GL_NEAREST);
  return 0;
}

int hud_open(struct hud **out, struct error *err) {
  *out = NULL;
  struct hud *hud = calloc(1, sizeof *hud);
  if (!hud)
    return error_set(err, STATUS_FAILED, "no memory for the overlay");
  if (open_font(hud, err) || open_program(hud, err)) {
    hud_close(&hud);
    return -1;
  }
  *out = hud;
  return 0;
}

void hud_close(struct hud **pointer) {
  struct hud *hud = *pointer;
  if (!hud)
    return;
  for (int i = 0; i < PANELS; i++)
    glDeleteTextures(1, &hud->panels[i].texture);
  if (hud->program) {
    glDeleteVertexArrays(1, &hud->vertices);
    glDeleteProgram(hud->program);
  }
  if (hud->font)
    TTF_CloseFont(hud->font);
  if (TTF_WasInit())
    TTF_Quit();
  free(hud);
  *pointer = NULL;
}

/* The size of type that suits the drawable. Returns whether it changed. */
static bool fit_type(struct hud *hud, int height) {
  int type = height / LINES_OF_TYPE;
  type = type < TYPE_MIN ? TYPE_MIN : type > TYPE_MAX ? TYPE_MAX : type;
  if (type == hud->type)
    return false;
  hud->type = type;
  TTF_SetFontSize(hud->font, type);
  TTF_SizeUTF8(hud->font, "0", &hud->advance, NULL);
  hud->line = type * 3 / 2;
  return true;
}

/* Bytes of UTF-8 that make up at most count characters. */
static size_t utf8_prefix(const char *text, size_t length, int count) {
  size_t at = 0;
  while (at < length && count-- > 0)
    for (at++; at < length && ((unsigned char)text[at] & 0xc0) == 0x80;)
      at++;
  return at;
}

static int utf8_count(const char *text, size_t length) {
  int count = 0;
  for (size_t i = 0; i < length; i++)
    count += ((unsigned char)text[i] & 0xc0) != 0x80;
  return count;
}

/* One run of characters of one colour, from column on; past the last column it ends in an ellipsis. Returns the column
 * after it. The type is monospaced: columns are all the layout there is. */
static int draw_run(const struct hud *hud, SDL_Surface *surface, int column, int columns, int y, enum tone tone,
                    const char *text, size_t length) {
  char run[HUD_TEXT_MAX];
  int count = utf8_count(text, length), room = columns - column;
  bool cut = count > room;
  if (room <= 0 || count == 0)
    return column;
  size_t bytes = cut ? utf8_prefix(text, length, room - 1) : length;
  snprintf(run, sizeof run, "%.*s%s", (int)bytes, text, cut ? "\u2026" : "");
  SDL_Surface *glyphs = TTF_RenderUTF8_Blended(hud->font, run, tones[tone]);
  if (glyphs) {
    SDL_Rect to = {hud->type + column * hud->advance, y, 0, 0};
    SDL_SetSurfaceBlendMode(glyphs, SDL_BLENDMODE_NONE);
    SDL_BlitSurface(glyphs, NULL, surface, &to);
    SDL_FreeSurface(glyphs);
  }
  return column + (cut ? room : count);
}

/* Goes through the marked text and draws it; surface NULL: only measures. Returns the widest line in characters. */
static int walk_text(const struct hud *hud, const char *text, SDL_Surface *surface, int columns, int *lines) {
  int column = 0, widest = 0, y = hud->type * 2 / 3;
  enum tone tone = TONE_PLAIN;
  *lines = 0;
  while (*text) {
    if (*text == '\n') {
      (*lines)++;
      column = 0;
      y += hud->line;
      text++;
      continue;
    }
    if ((unsigned char)*text < TONES)
      tone = (enum tone) * text++;
    size_t length = 0;
    while (text[length] && text[length] != '\n' && (unsigned char)text[length] >= TONES)
      length++;
    if (surface)
      column = draw_run(hud, surface, column, columns, y, tone, text, length);
    else
      column += utf8_count(text, length);
    widest = column > widest ? column : widest;
    text += length;
  }
  return widest;
}

static void draw_panel(struct hud *hud, struct panel *panel, int drawable_width) {
  panel->width = panel->height = 0;
  int lines, room = drawable_width / hud->advance - 4;
  int columns = walk_text(hud, panel->text, NULL, 0, &lines);
  columns = columns < room ? columns : room;
  if (columns <= 0)
    return;
  int width = 2 * hud->type + columns * hud->advance, height = lines * hud->line + hud->type * 5 / 6;
  SDL_Surface *surface = SDL_CreateRGBSurfaceWithFormat(0, width, height, 32, SDL_PIXELFORMAT_RGBA32);
  if (!surface)
    return;
  walk_text(hud, panel->text, surface, columns, &lines);
  glBindTexture(GL_TEXTURE_2D, panel->texture);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, surface->pitch / 4);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, surface->pixels);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  SDL_FreeSurface(surface);
  panel->width = width;
  panel->height = height;
}

bool hud_update(struct hud *hud, const struct hud_content *content, int width, int height, int64_t now_ns) {
  static void (*const writers[PANELS])(char *, const struct hud_content *) = {
      [PANEL_FIGURES] = hud_figures_text, [PANEL_NOTICE] = hud_notice_text, [PANEL_HELP] = hud_help_text};
  if (hud->type && now_ns - hud->updated_ns < refresh_ns)
    return false;
  hud->updated_ns = now_ns;
  bool all = fit_type(hud, height) || width != hud->window_width, changed = false;
  hud->window_width = width;
  for (int i = 0; i < PANELS; i++) {
    struct panel *panel = &hud->panels[i];
    char text[HUD_TEXT_MAX];
    writers[i](text, content);
    if (!all && !strcmp(text, panel->text))
      continue;
    memcpy(panel->text, text, strlen(text) + 1);
    draw_panel(hud, panel, width);
    changed = true;
  }
  return changed;
}

void hud_draw(struct hud *hud, int width, int height) {
  int margin = hud->type;
  glUseProgram(hud->program);
  glBindVertexArray(hud->vertices);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glUniform2f(hud->at.window, (float)width, (float)height);
  glUniform1f(hud->at.radius, (float)hud->type / 2);
  for (int i = 0; i < PANELS; i++) {
    const struct panel *panel = &hud->panels[i];
    if (!panel->width)
      continue;
    int left = i == PANEL_FIGURES ? margin : (width - panel->width) / 2;
    int top = i == PANEL_FIGURES  ? margin
              : i == PANEL_NOTICE ? height - margin - panel->height
                                  : (height - panel->height) / 2;
    glUniform4f(hud->at.rect, (float)left, (float)top, (float)(left + panel->width), (float)(top + panel->height));
    glUniform2f(hud->at.size, (float)panel->width, (float)panel->height);
    glUniform1f(hud->at.shade, i == PANEL_HELP ? 0.72f : 0.55f);
    glBindTexture(GL_TEXTURE_2D, panel->texture);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  }
  glDisable(GL_BLEND);
}
