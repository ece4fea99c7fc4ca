/* Measures text in the columns of a monospaced font. A character takes one column, a wide one (Chinese, Japanese,
 * Korean, emoji) two, and a combining mark none. Nothing here draws. */
#ifndef APP_WINDOW_CELLS_H
#define APP_WINDOW_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the first character of text, which has length > 0 bytes of UTF-8. Returns the number of its bytes. A byte that
 * is not valid UTF-8 is read alone, as the character U+FFFD. */
size_t cells_read(const char *text, size_t length, uint32_t *character, int *columns);
/* Returns how many columns the text takes. */
int cells_count(const char *text, size_t length);
/* Returns the number of bytes of the longest beginning of text that fits into this many columns. */
size_t cells_fit(const char *text, size_t length, int columns);

#endif
