/* Text in the columns of a monospaced type: one a character, two a wide one (Chinese, Japanese, Korean, emoji), none a
 * mark on the character before it. Knows nothing of drawing. */
#ifndef APP_WINDOW_CELLS_H
#define APP_WINDOW_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Reads the character at text, of length > 0 bytes of UTF-8. Returns its bytes; of what is no UTF-8 it is 1, and the
 * character U+FFFD. */
size_t cells_read(const char *text, size_t length, uint32_t *character, int *columns);
int cells_count(const char *text, size_t length);
/* Bytes of the characters that have room in so many columns. */
size_t cells_fit(const char *text, size_t length, int columns);

#endif
