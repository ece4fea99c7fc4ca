/* What a key of the keyboard means as a command where its layout has no such character: on layouts of other scripts
 * than Latin, and on digit rows that type digits with Shift alone. */
#ifndef APP_WINDOW_LAYOUT_H
#define APP_WINDOW_LAYOUT_H

#include <SDL.h>
#include <stdbool.h>

/* What the layout in use says of a key. */
struct layout_key {
  SDL_Keycode plain; /* the character that it types without Shift; 0: none */
  bool foreign;      /* the layout's letters are of another script than Latin */
};

/* Whether a character is a letter, mark or digit of another script than Latin. Keys that type no character have numbers
 * beyond all of Unicode. */
bool layout_is_foreign(SDL_Keycode character);
/* What SDL knows. On X11 that is not all: it does not follow a change of groups, as from "us" to "ru" in "us,ru", and
 * calls the digit row digits on every layout. */
struct layout_key layout_ask(const SDL_Keysym *key);

/* Returns the character of ASCII that the key counts as, because of its place on the keyboard. 0: what the key types
 * counts.
 *
 * A layout of another script counts as a US keyboard as a whole, punctuation and Shift too: it has ';' where a US
 * keyboard has 'q', or '/' where that has '\'.
 *
 * A digit row without digits counts as digits, as on AZERTY. With Shift its keys count as what they type without, where
 * that is a command, as '-' or '('. What they type with AltGr counts as it is. */
char layout_place(const SDL_Keysym *key, const struct layout_key *layout);
/* Returns the small letter that counts for the key while Ctrl is held; 0: it is no letter's key. */
char layout_letter(const SDL_Keysym *key, const struct layout_key *layout);

#endif
