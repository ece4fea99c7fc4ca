/* Decides which command a key runs if the user's keyboard layout cannot type the command's character. That is so on
 * layouts for non-Latin scripts, and on those such as AZERTY that type digits only with Shift. */
#ifndef APP_WINDOW_LAYOUT_H
#define APP_WINDOW_LAYOUT_H

#include <SDL.h>
#include <stdbool.h>

/* Properties of a pressed key in the user's keyboard layout. */
struct layout_key {
  SDL_Keycode plain; /* character that the key types without Shift; 0: none */
  bool foreign;      /* true: the layout's letters are not Latin */
};

/* Returns true if the character is a letter, combining mark or digit of a script other than Latin. Keys that type
 * nothing give false: their codes are larger than any Unicode character. */
bool layout_is_foreign(SDL_Keycode character);
/* Asks SDL what the user's keyboard layout says about a pressed key. On X11, x11_get_layout gives better answers: SDL
 * does not notice when the user switches between layouts (from "us" to "ru" in "us,ru"), and reports digits for the
 * number row of every layout. */
struct layout_key layout_ask(const SDL_Keysym *key);

/* Returns the ASCII character that the key stands for by its position on the keyboard; 0: what the key types is used.
 * On a non-Latin layout every key stands for what a US keyboard types, also with Shift and for punctuation, because
 * such a layout may have ';' in the place of 'q'.
 *
 * If the number row types digits only with Shift, as on AZERTY, its keys stand for digits. With Shift they stand for
 * what they type without it, if that is a command such as '-' or '('. With AltGr, what the key types is used. */
char layout_place(const SDL_Keysym *key, const struct layout_key *layout);
/* Returns the lower-case letter of the key for commands with Ctrl; 0: it is not a letter key. */
char layout_letter(const SDL_Keysym *key, const struct layout_key *layout);

#endif
