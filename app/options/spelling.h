/* Compares words, in order to suggest a correction for a misspelt one. */
#ifndef APP_OPTIONS_SPELLING_H
#define APP_OPTIONS_SPELLING_H

/* Returns the number of edits (insert, delete or replace a character) that turn `a` into `b`. Only the first 32
 * characters are compared. */
int spelling_distance(const char *a, const char *b);

#endif
