/* What prompts for other programs name beside words: files of networks, <lora:NAME:0.8>, and embeddings,
 * embedding:NAME and <NAME>. No prompt loads a file here. */
#ifndef UNET_TEXT_NAMED_H
#define UNET_TEXT_NAMED_H

#include <stdbool.h>
#include <stddef.h>

enum named_kind {
  NAMED_LORA,      /* <lora:NAME>, <lora:NAME:WEIGHT>, <lyco:NAME:WEIGHT> */
  NAMED_NETWORK,   /* <hypernet:NAME:WEIGHT> */
  NAMED_EMBEDDING, /* embedding:NAME */
  NAMED_TOKEN,     /* <NAME>: a word that an embedding or a tokenizer may have added */
  NAMED_OPEN,      /* <lora:NAME:WEIGHT and no closing bracket */
};

struct named {
  enum named_kind kind;
  size_t start, length; /* in the text */
  size_t name, name_length;
  size_t weight, weight_length; /* the length is 0 where there is none */
};

/* Finds the first of them at or behind `from`. False: there is none. */
bool named_find(const char *text, size_t from, struct named *named);
/* Returns the text without the files of networks, allocated; NULL: out of memory. */
char *named_take_out(const char *text);

#endif
