/* Decides which command a key stands for if the user's keyboard layout cannot type the command's character. This is so
 * on layouts of scripts other than Latin, and on layouts such as AZERTY whose number row types digits only with
 * Shift. */
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

/* Returns the ASCII character that the key stands for because of its position on the keyboard. 0: the character that
 * the key types is used.
 *
 * On a layout of a script other than Latin, every key stands for what it types on a US keyboard, including punctuation
 * and with Shift, because such a layout may have ';' where a US keyboard has 'q'.
 *
 * On a layout whose number row types other characters than digits without Shift, as AZERTY does, the keys of that row
 * stand for digits. With Shift they stand for what they type without Shift if that is a command, such as '-' or '('.
 * With AltGr, what the key types is used. */
char layout_place(const SDL_Keysym *key, const struct layout_key *layout);
/* Returns the lower-case letter that the key stands for while Ctrl is held; 0: it is not a letter key. */
char layout_letter(const SDL_Keysym *key, const struct layout_key *layout);

#endif
