#include "app/window/fonts.h"

#include <fontconfig/fontconfig.h>
#include <stdio.h>

/* struct fonts is never defined: a pointer to it is really a pointer to a configuration of fontconfig. That
 * configuration is not the default one, which other libraries in this process may be using on other threads. */
static FcConfig *config_of(const struct fonts *fonts) {
  return (FcConfig *)(void *)(uintptr_t)fonts;
}

struct fonts *fonts_open(void) {
  return (struct fonts *)(void *)FcInitLoadConfigAndFonts();
}

void fonts_close(struct fonts **fonts) {
  if (*fonts)
    FcConfigDestroy(config_of(*fonts));
  *fonts = NULL;
}

/* Returns the scalable font with this character that fontconfig's rules and the user's language prefer; NULL: there is
 * no such font, or the search failed. */
static FcPattern *match(FcConfig *config, uint32_t character) {
  FcResult result;
  FcPattern *wish = FcPatternCreate(), *found = NULL;
  FcCharSet *characters = FcCharSetCreate();
  if (wish && characters && FcCharSetAddChar(characters, character) &&
      FcPatternAddCharSet(wish, FC_CHARSET, characters) && FcPatternAddBool(wish, FC_SCALABLE, FcTrue) &&
      FcPatternAddBool(wish, FC_COLOR, FcFalse) && FcPatternAddString(wish, FC_FAMILY, (const FcChar8 *)"monospace") &&
      FcConfigSubstitute(config, wish, FcMatchPattern)) {
    FcDefaultSubstitute(wish);
    found = FcFontMatch(config, wish, &result);
  }
  if (characters)
    FcCharSetDestroy(characters);
  if (wish)
    FcPatternDestroy(wish);
  return found;
}

static bool read_match(const FcPattern *found, uint32_t character, struct font_file *file) {
  FcCharSet *has;
  FcChar8 *path;
  if (FcPatternGetCharSet(found, FC_CHARSET, 0, &has) != FcResultMatch || !FcCharSetHasChar(has, character) ||
      FcPatternGetString(found, FC_FILE, 0, &path) != FcResultMatch)
    return false;
  if (FcPatternGetInteger(found, FC_INDEX, 0, &file->index) != FcResultMatch)
    file->index = 0;
  return snprintf(file->path, sizeof file->path, "%s", (const char *)path) < (int)sizeof file->path;
}

bool fonts_find(const struct fonts *fonts, uint32_t character, int number, struct font_file *file) {
  FcPattern *found = fonts && !number ? match(config_of(fonts), character) : NULL;
  bool read = found && read_match(found, character, file);
  if (found)
    FcPatternDestroy(found);
  return read;
}
