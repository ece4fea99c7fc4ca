/* A model: its networks and the states that they share on the device, apart from any plan. */
#ifndef UNET_MODEL_MODEL_H
#define UNET_MODEL_MODEL_H

#include "unet/base/controls.h"
#include "unet/base/guidance.h"
#include "unet/model/control.h"
#include "unet/model/depth.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* Keys and values take 24 times the memory of a text (SD-Turbo; SDXL 81 times), so there are few of them: what one run
 * can ask for, all presets blended and the negative prompt. */
enum { KEY_SLOTS = SLOT_PRESETS + 1 };

/* What plans of one model share. Borrows checkpoint and resources. */
struct model {
  const struct checkpoint *checkpoint;
  struct resources *resources;
  struct unet unet;
  /* States. [TEXTS, 1, positions, hidden_size]: each chunk of each prompt, as each text encoder has it; [TEXTS, 1, 1,
   * projection_dim] where an encoder pools it; [KEY_SLOTS * chunks, 1, positions, text_channels] at chunks - 1: keys
   * and values of the prompts in use, so many chunks of each. Devices have those alone that a plan reads. */
  struct tensor texts[TEXT_ENCODERS_MAX], pooled, keys[PROMPT_CHUNKS_MAX];
  struct style style;                    /* of its IP-Adapter, where the caller gives it one (style_init) */
  struct control controls[CONTROLS_MAX]; /* those that were added */
  const struct depth *depth;             /* of those whose map is depth: set before one is added */
};

/* Where a chunk of a prompt slot is in texts and pooled: a slot's first is where its number says. */
enum { TEXTS = SLOTS * PROMPT_CHUNKS_MAX };
static inline int text_place(int slot, int chunk) {
  return chunk * SLOTS + slot;
}

int model_init(struct model *model, const struct checkpoint *checkpoint, struct resources *resources,
               struct error *err);
void model_free(struct model *model); /* also of a zeroed one */
/* Gives the model a control: a map, and the network that reads it, which is borrowed; NULL: none. Plans made before
 * know nothing of it. On failure the model is as it was. */
int model_add_control(struct model *model, int index, enum map_kind map, const struct control_network *network,
                      struct error *err);

/* Whether frames with these controls, bit i being number i, read the run's first frame. */
bool model_reads_input(const struct model *model, bool text_to_image, unsigned controls);

/* Guidance rows of the U-Net calls: 1 where guidance needs none and for models that have it as an embedding, else 2, or
 * 3 where the U-Net sees the input picture. Row 0 is prompt and picture; 1 of 2 is the negative prompt; 1 of 3 is the
 * negative prompt with the picture; 2 of 3 is the negative prompt without the picture. */
struct guidance_rows model_rows(const struct model *model, enum guidance_mode guidance);
/* Of all that prompts leave on the device, where plans attend to one chunk of each; and what those with so many chunks
 * add. */
size_t model_prompt_elements(const struct model *model);
size_t model_keys_elements(const struct model *model, int chunks);
/* Guidance is an input of the time projections (full LCM), and acts without a second row. */
bool model_embeds_guidance(const struct model *model);

/* Pixels that width and height must be multiples of: what the autoencoder and the U-Net halve. */
int model_size_multiple(const struct model *model);
/* Pixels of the pictures it was made for. */
void model_native_size(const struct model *model, int *width, int *height);

#endif
