/* Cleans the characters of a prompt before it is split into words. */
#ifndef UNET_TEXT_FIX_H
#define UNET_TEXT_FIX_H

#include "unet/text/chars.h"

enum text_fix {
  /* Cleans as ftfy's fix_text, which transformers 4's CLIPTokenizer uses if ftfy is installed: straightens curly
   * quotes, splits ligatures, narrows full-width letters and digits, reads HTML entities, and removes control
   * characters and terminal sequences. It does not repair text that was decoded with the wrong encoding. */
  FIX_FTFY,
  /* Cleans as transformers' CLIPTokenizer without ftfy: removes control and format characters, and makes each Chinese
   * character a word. */
  FIX_BASIC,
  /* Only composes characters to NFC, as transformers' fast tokenizer does. It is the only tokenizer that transformers 5
   * has. */
  FIX_FAST,
};

/* Appends the cleaned text in NFC. The text is UTF-8. */
void add_fixed(struct builder *b, enum text_fix fix, const char *bytes, size_t length);

#endif
