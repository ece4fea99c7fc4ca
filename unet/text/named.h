/* Names of files in prompts that were written for other programs: networks, <lora:NAME:0.8>, and embeddings,
 * embedding:NAME and <NAME>. This program loads no file that a prompt names. */
#ifndef UNET_TEXT_NAMED_H
#define UNET_TEXT_NAMED_H

#include <stdbool.h>
#include <stddef.h>

enum named_kind {
  NAMED_LORA,      /* a network, written as <lora:NAME>, <lora:NAME:WEIGHT> or <lyco:NAME:WEIGHT> */
  NAMED_NETWORK,   /* a network, written as <hypernet:NAME:WEIGHT> */
  NAMED_EMBEDDING, /* an embedding, written as embedding:NAME */
  NAMED_TOKEN,     /* <NAME>: a word that a textual inversion or the tokenizer may have added */
  NAMED_OPEN,      /* a network whose closing bracket is missing: <lora:NAME:WEIGHT */
};

struct named {
  enum named_kind kind;
  size_t start, length; /* position and length in the text, in bytes, of the whole expression, such as <lora:NAME:1> */
  size_t name, name_length;
  /* position and length, in bytes, of the weight in the text; length 0: there is no weight */
  size_t weight, weight_length;
};

/* Finds the first expression that names a file, such as <lora:NAME:1>, at or after the position `from`. Returns false
 * if there is none. */
bool named_find(const char *text, size_t from, struct named *named);
/* Returns the text without expressions that name networks (<lora:...>). The caller frees it. NULL: out of memory. */
char *named_take_out(const char *text);

#endif
