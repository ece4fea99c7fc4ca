#include "app/models/http.h"

#include <ctype.h>
#include <string.h>

void http_escape(char *url, size_t size, const char *text, bool keep_slashes) {
  static const char digits[] = "0123456789ABCDEF";
  size_t used = 0;
  for (; *text && used + 4 <= size; text++) {
    unsigned char letter = (unsigned char)*text;
    if (isalnum(letter) || strchr("-._~", letter) || (letter == '/' && keep_slashes)) {
      url[used++] = (char)letter;
      continue;
    }
    url[used++] = '%';
    url[used++] = digits[letter >> 4];
    url[used++] = digits[letter & 15];
  }
  url[used] = 0;
}
