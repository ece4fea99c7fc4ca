/* Makes text from outside the program safe to print, and finds parts of names. */
#ifndef UNET_BASE_TEXT_H
#define UNET_BASE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Makes a string from outside safe to show, in place: control characters (C1 too), line ends, characters that change
 * the direction of writing, and bytes that are no UTF-8 become '?'. Returns text. Errors and log lines are cleaned when
 * they are made (error_set, log_line); other text must be cleaned by this function. */
char *text_clean(char *text);

/* Prints text after it was cleaned by text_clean. */
void text_put(FILE *out, const char *text);

/* A quotation for a message: cleaned, and cut if it is long. */
struct quoted {
  char text[96];
};
struct quoted text_quote(const char *text);

/* True if a name has this ending and is longer than it. */
bool text_ends(const char *name, const char *ending);
/* Returns the part after the last slash, or all of path if that part is empty. */
const char *text_last_part(const char *path);

#endif
