/* Makes text from outside the program safe to print, and finds parts of names. */
#ifndef UNET_BASE_TEXT_H
#define UNET_BASE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Makes the string `text`, which came from outside, safe to show. These become '?': control characters (C0 and C1),
 * line ends, characters that change the direction of writing, and bytes that are no UTF-8. Changes `text` in place and
 * returns it. Errors and log lines are cleaned when they are made (error_set, log_line); other text must be cleaned by
 * this function. */
char *text_clean(char *text);

/* Prints text after it was cleaned by text_clean. */
void text_put(FILE *out, const char *text);

/* A text quoted for a message: made safe by text_clean, and cut if it is long. */
struct quoted {
  char text[96];
};
struct quoted text_quote(const char *text);

/* Writes bytes to `hex` as hexadecimal digits and a zero character; hex has memory for 2 * count + 1 characters. */
void text_hex(char *hex, const unsigned char *bytes, size_t count);

/* Returns true if a name ends with `ending` and is longer than `ending`. */
bool text_ends(const char *name, const char *ending);
/* Returns the part of `path` after the last slash, or all of `path` if that part is empty. */
const char *text_last_part(const char *path);

#endif
