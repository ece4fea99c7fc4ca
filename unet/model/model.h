/* A model: its networks, and the states on the device that all of its plans share. */
#ifndef UNET_MODEL_MODEL_H
#define UNET_MODEL_MODEL_H

#include "unet/base/controls.h"
#include "unet/base/guidance.h"
#include "unet/model/control.h"
#include "unet/model/depth.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* Number of prompts whose keys and values are kept on the device. They take 24 times the memory of the text (SD-Turbo;
 * SDXL 81 times), so there are only as many as one run can use: all presets blended, and the negative prompt. */
enum { KEY_SLOTS = SLOT_PRESETS + 1 };

/* A model as all of its plans read it. The caller owns checkpoint and resources, which must outlive the model. */
struct model {
  const struct checkpoint *checkpoint;
  struct resources *resources;
  struct unet unet;
  /* States. texts: [TEXTS, 1, positions, hidden_size] for each text encoder, with each chunk of each prompt. pooled:
   * [TEXTS, 1, 1, projection_dim] if an encoder pools the text. keys[chunks - 1]: [KEY_SLOTS * chunks, 1, positions,
   * text_channels], the keys and values of the prompts in use, with this many chunks each. Devices allocate only those
   * that a plan reads. */
  struct tensor texts[TEXT_ENCODERS_MAX], pooled, keys[PROMPT_CHUNKS_MAX];
  struct style style;                    /* for the IP-Adapter; zeroed until style_init */
  struct control controls[CONTROLS_MAX]; /* zeroed until model_add_control */
  /* network for controls whose map is depth; the caller sets it before it adds such a control */
  const struct depth *depth;
};

/* Returns the index of chunk number `chunk` of a prompt slot in texts and pooled. For the first chunk it is the slot's
 * number. */
enum { TEXTS = SLOTS * PROMPT_CHUNKS_MAX };
static inline int text_place(int slot, int chunk) {
  return chunk * SLOTS + slot;
}

int model_init(struct model *model, const struct checkpoint *checkpoint, struct resources *resources,
               struct error *err);
void model_free(struct model *model); /* takes a zeroed model too */
/* Adds control number index to the model: a map, and the network that reads it, which must outlive the model (NULL:
 * none). Only plans that are made afterwards can include it. On failure the model is unchanged. */
int model_add_control(struct model *model, int index, enum map_kind map, const struct control_network *network,
                      struct error *err);

/* True if frames with these controls (bit i: control i) need the input's frame: to encode it, or to make a map of
 * it. */
bool model_reads_input(const struct model *model, bool text_to_image, unsigned controls);

/* Returns the guidance rows of a U-Net call: 1 if guidance needs none, or if the model has it as an embedding; else 2,
 * or 3 if the U-Net reads the input picture. Row 0 is for prompt and picture. Of 2 rows, row 1 is for the negative
 * prompt. Of 3, row 1 is for the negative prompt with the picture, and row 2 for the negative prompt without it. */
struct guidance_rows model_rows(const struct model *model, enum guidance_mode guidance);
/* model_prompt_elements returns the elements of all states that hold prompts, for plans that use one chunk of each
 * prompt; model_keys_elements returns how many more plans with this many chunks need. */
size_t model_prompt_elements(const struct model *model);
size_t model_keys_elements(const struct model *model, int chunks);
/* True if guidance is an input of the time projections (full LCM); it then needs no second row. */
bool model_embeds_guidance(const struct model *model);

/* Returns the number of pixels of which width and height must be multiples, because the autoencoder and the U-Net halve
 * them. */
int model_size_multiple(const struct model *model);
/* Returns the side, in pixels, of the cells after which the model's texture repeats: a frame that is shifted by whole
 * cells together with its noise becomes the same picture, shifted. */
int model_lattice(const struct model *model);
/* Stores the size, in pixels, of the pictures for which the model was trained. */
void model_native_size(const struct model *model, int *width, int *height);

#endif
