/* What happens to a prompt's characters before words are cut out of it. */
#ifndef UNET_TEXT_FIX_H
#define UNET_TEXT_FIX_H

#include "unet/text/chars.h"

enum text_fix {
  FIX_FTFY,  /* as ftfy's fix_text does, which transformers 4's CLIPTokenizer asks where it is installed: curly quotes
                straight, ligatures apart, full-width letters and digits as wide as others, HTML entities, control
                characters and terminal codes gone. Not: text that was decoded from the wrong encoding */
  FIX_BASIC, /* as that tokenizer does where ftfy is not installed: without control and format characters, Chinese
                characters each a word */
  FIX_FAST,  /* as the fast tokenizer does, which transformers 5 has alone: nothing */
};

/* Appends the fixed text in NFC; the text is UTF-8. With FIX_FAST there is nothing but NFC. */
void add_fixed(struct builder *b, enum text_fix fix, const char *bytes, size_t length);

#endif
