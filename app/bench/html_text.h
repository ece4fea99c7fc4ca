/* Writes text into an HTML page. Every file that writes a part of the page uses it. */
#ifndef APP_BENCH_HTML_TEXT_H
#define APP_BENCH_HTML_TEXT_H

#include <stdio.h>

/* Writes words with those characters escaped that have a meaning in HTML, such as < and &. */
void html_text(const char *words, FILE *out);

#endif
