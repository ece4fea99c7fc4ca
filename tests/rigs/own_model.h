/* A model whose folder has an IP-Adapter of its own, as mini's has: pix2pix, with the adapter and the image encoder
 * that tests/goldens/own_style.py makes. */
#ifndef TESTS_OWN_MODEL_H
#define TESTS_OWN_MODEL_H

/* Makes links to the model's parts and to the adapter's files in this folder. goldens: the folder of goldens. */
void own_model_link(const char *folder, const char *goldens);

#endif
