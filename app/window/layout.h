/* Decides which command a key stands for if the keyboard's layout does not have the command's character. This is so for
 * layouts of other scripts than Latin, and for layouts whose number row types digits only with Shift. */
#ifndef APP_WINDOW_LAYOUT_H
#define APP_WINDOW_LAYOUT_H

#include <SDL.h>
#include <stdbool.h>

/* A key in the current layout. */
struct layout_key {
  SDL_Keycode plain; /* the character that the key types without Shift; 0: none */
  bool foreign;      /* the layout's letters are not Latin */
};

/* Returns true if the character is a letter, mark or digit of another script than Latin. The codes of keys that type no
 * character are larger than any of Unicode. */
bool layout_is_foreign(SDL_Keycode character);
/* Asks SDL about a key. On X11 x11_get_layout knows more: SDL does not notice when the user switches between layouts
 * (as from "us" to "ru" in "us,ru"), and reports digits for the number row of every layout. */
struct layout_key layout_ask(const SDL_Keysym *key);

/* Returns the ASCII character that the key stands for because of its position. 0: the character that it types counts.
 *
 * On a layout of another script every key stands for what it types on a US keyboard, punctuation and Shift included.
 * Such a layout may have ';' where a US keyboard has 'q'.
 *
 * On a layout whose number row types other characters without Shift, as AZERTY does, the row stands for digits. With
 * Shift its keys stand for what they type without it if that is a command, such as '-' or '('. What a key types with
 * AltGr counts as it is. */
char layout_place(const SDL_Keysym *key, const struct layout_key *layout);
/* Returns the lower-case letter that the key stands for while Ctrl is held. 0: it is not a letter's key. */
char layout_letter(const SDL_Keysym *key, const struct layout_key *layout);

#endif
