#include "app/window/layout.h"

#include <ctype.h>
#include <stdbool.h>

#include <utf8proc.h>

#include "app/control/keys.h"

/* For each key except letters: its position on the keyboard, and the characters that it types on a US keyboard without
 * and with Shift. */
static const struct {
  SDL_Scancode place;
  char plain, shifted;
} us_keys[] = {
    {SDL_SCANCODE_1, '1', '!'},           {SDL_SCANCODE_2, '2', '@'},
    {SDL_SCANCODE_3, '3', '#'},           {SDL_SCANCODE_4, '4', '$'},
    {SDL_SCANCODE_5, '5', '%'},           {SDL_SCANCODE_6, '6', '^'},
    {SDL_SCANCODE_7, '7', '&'},           {SDL_SCANCODE_8, '8', '*'},
    {SDL_SCANCODE_9, '9', '('},           {SDL_SCANCODE_0, '0', ')'},
    {SDL_SCANCODE_MINUS, '-', '_'},       {SDL_SCANCODE_EQUALS, '=', '+'},
    {SDL_SCANCODE_LEFTBRACKET, '[', '{'}, {SDL_SCANCODE_RIGHTBRACKET, ']', '}'},
    {SDL_SCANCODE_BACKSLASH, '\\', '|'},  {SDL_SCANCODE_NONUSHASH, '\\', '|'},
    {SDL_SCANCODE_SEMICOLON, ';', ':'},   {SDL_SCANCODE_APOSTROPHE, '\'', '"'},
    {SDL_SCANCODE_GRAVE, '`', '~'},       {SDL_SCANCODE_COMMA, ',', '<'},
    {SDL_SCANCODE_PERIOD, '.', '>'},      {SDL_SCANCODE_SLASH, '/', '?'},
    {SDL_SCANCODE_SPACE, ' ', ' '},
};

static bool is_letter_place(SDL_Scancode place) {
  return place >= SDL_SCANCODE_A && place <= SDL_SCANCODE_Z;
}

static char us_character(const SDL_Keysym *key) {
  bool shift = key->mod & KMOD_SHIFT, caps = key->mod & KMOD_CAPS;
  if (is_letter_place(key->scancode))
    return (char)((shift != caps ? 'A' : 'a') + (int)key->scancode - SDL_SCANCODE_A);
  for (size_t i = 0; i < sizeof us_keys / sizeof *us_keys; i++)
    if (us_keys[i].place == key->scancode)
      return shift ? us_keys[i].shifted : us_keys[i].plain;
  return 0;
}

/* Returns true for a Latin character, also for Latin letters with diacritics and for those that only few languages
 * use. */
static bool is_latin(SDL_Keycode character) {
  return character < 0x370 || (character >= 0x1e00 && character < 0x1f00) ||
         (character >= 0x2c60 && character < 0x2c80) || (character >= 0xa720 && character < 0xa800);
}

bool layout_is_foreign(SDL_Keycode character) {
  if (character <= 0 || character > 0x10ffff || is_latin(character))
    return false;
  utf8proc_category_t category = utf8proc_category(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND;
}

/* Asks SDL what the user's keyboard layout says about a key. The layout counts as foreign if this key, or more than
 * half of the letter keys, type other than Latin characters. One key alone would not tell, because some keys of a
 * foreign layout type ASCII. */
struct layout_key layout_ask(const SDL_Keysym *key) {
  int foreign = 0;
  for (int place = SDL_SCANCODE_A; place <= SDL_SCANCODE_Z; place++)
    foreign += layout_is_foreign(SDL_GetKeyFromScancode((SDL_Scancode)place));
  return (struct layout_key){key->sym, layout_is_foreign(key->sym) || foreign > 26 / 2};
}

static bool is_digit(SDL_Keycode character) {
  return character >= '0' && character <= '9';
}

/* Returns the digit, or else the command's character, of a key of the number row. Returns 0 if the key is not in that
 * row, or if Shift is held on a layout that types digits without Shift. */
static char row_digit(const SDL_Keysym *key, SDL_Keycode plain) {
  bool shift = key->mod & KMOD_SHIFT;
  if (key->scancode < SDL_SCANCODE_1 || key->scancode > SDL_SCANCODE_0 || (shift && is_digit(plain)))
    return 0;
  if (shift && plain > ' ' && plain <= '~' && commands_have(plain))
    return (char)plain;
  return key->scancode == SDL_SCANCODE_0 ? '0' : (char)('1' + (int)key->scancode - SDL_SCANCODE_1);
}

char layout_place(const SDL_Keysym *key, const struct layout_key *layout) {
  if (key->mod & (KMOD_RALT | KMOD_MODE))
    return 0;
  return layout->foreign ? us_character(key) : row_digit(key, layout->plain);
}

char layout_letter(const SDL_Keysym *key, const struct layout_key *layout) {
  if (layout->foreign && is_letter_place(key->scancode))
    return (char)('a' + (int)key->scancode - SDL_SCANCODE_A);
  return key->sym >= SDLK_a && key->sym <= SDLK_z ? (char)key->sym : 0;
}
