/* Writes text into an HTML page; used by every file that writes a part of the page. */
#ifndef APP_BENCH_HTML_TEXT_H
#define APP_BENCH_HTML_TEXT_H

#include <stdio.h>

/* Writes words to the page. Characters that have a meaning in HTML, such as < and &, are escaped. */
void html_text(const char *words, FILE *out);

#endif
