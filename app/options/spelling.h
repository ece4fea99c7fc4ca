/* What a misspelt word may have been meant to be. */
#ifndef APP_OPTIONS_SPELLING_H
#define APP_OPTIONS_SPELLING_H

/* Edits (insert, delete, replace) that turn a into b; more than 32 characters are not looked at. */
int spelling_distance(const char *a, const char *b);

#endif
