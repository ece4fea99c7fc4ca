/* Text in an HTML page, for all that write a part of one. */
#ifndef APP_BENCH_HTML_TEXT_H
#define APP_BENCH_HTML_TEXT_H

#include <stdio.h>

/* Writes words with the characters escaped that HTML reads otherwise. */
void html_text(const char *words, FILE *out);

#endif
