/* Measures how many columns of a monospaced font a text takes: an ordinary character takes one column, a wide one
 * (Chinese, Japanese, Korean, emoji) two, and a combining mark none. These functions draw nothing. */
#ifndef APP_WINDOW_CELLS_H
#define APP_WINDOW_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the first character of `text`, which has `length` > 0 bytes of UTF-8. Stores the character's Unicode number in
 * *character and in *columns how many columns it takes. Returns the number of its bytes. A byte that is not valid UTF-8
 * is read alone, as U+FFFD. */
size_t cells_read(const char *text, size_t length, uint32_t *character, int *columns);
/* Returns how many columns of a monospaced font the text takes. length: in bytes. */
int cells_count(const char *text, size_t length);
/* Returns how many bytes from the beginning of `text`, in whole characters, fit into this many columns. */
size_t cells_fit(const char *text, size_t length, int columns);

#endif
