#include "app/bench/html_text.h"

void html_text(const char *words, FILE *out) {
  for (; *words; words++) {
    if (*words == '<')
      fputs("&lt;", out);
    else if (*words == '>')
      fputs("&gt;", out);
    else if (*words == '&')
      fputs("&amp;", out);
    else if (*words == '"')
      fputs("&quot;", out);
    else
      fputc(*words, out);
  }
}
