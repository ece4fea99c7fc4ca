/* Text from outside made fit for a message, and the ends of names. */
#ifndef UNET_BASE_TEXT_H
#define UNET_BASE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* Makes a string from outside fit to be shown, in place: what a terminal obeys (control characters, C1 ones too), line
 * ends, turns of direction and what is no UTF-8 become '?'. Returns text. Errors and log lines are cleaned as they are
 * made (error_set, log_line); this is for what is shown otherwise. */
char *text_clean(char *text);

/* Prints text as text_clean leaves it. */
void text_put(FILE *out, const char *text);

/* What a message may quote of such a string: clean, and a long one is cut. */
struct quoted {
  char text[96];
};
struct quoted text_quote(const char *text);

/* Whether a name has this ending, and something before it. */
bool text_ends(const char *name, const char *ending);
/* What is behind the last slash; all of it where that is nothing. */
const char *text_last_part(const char *path);

#endif
