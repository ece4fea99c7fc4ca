/* A model: its networks, and the tensors on the device that all of its plans share. */
#ifndef UNET_MODEL_MODEL_H
#define UNET_MODEL_MODEL_H

#include "unet/base/controls.h"
#include "unet/base/guidance.h"
#include "unet/model/control.h"
#include "unet/model/depth.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* Number of prompts whose attention keys and values the device stores. These take 24 times the memory of the encoded
 * text with SD 2.1 (SD 1.5: 32 times; SDXL: 81 times), so there are only as many as one run can use: all presets
 * blended, and the negative prompt. */
enum { KEY_SLOTS = SLOT_PRESETS + 1 };

/* A model as its plans need it. `checkpoint`, and `resources` (the list of weights and other tensors that plans share),
 * belong to the caller and must outlive the model. */
struct model {
  const struct checkpoint *checkpoint;
  struct resources *resources;
  struct unet unet;
  /* States for prompts. texts: for each text encoder, the encoded chunks of all prompts, [TEXTS, 1, positions,
   * hidden_size]. pooled: [TEXTS, 1, 1, projection_dim] if an encoder has a pooled output. keys[chunks - 1]: the keys
   * and values of the prompts in use, with this many chunks each, [KEY_SLOTS * chunks, 1, positions, text_channels].
   * Devices allocate only states that a plan reads. */
  struct tensor texts[TEXT_ENCODERS_MAX], pooled, keys[PROMPT_CHUNKS_MAX];
  struct style style; /* the IP-Adapter, by which frames show style pictures; zeroed until style_init */
  /* the controls (maps with networks that read them); zeroed until model_add_control */
  struct control controls[CONTROLS_MAX];
  /* the network that makes the maps of MAP_DEPTH; the caller sets it before it adds a control with such a map */
  const struct depth *depth;
};

/* Returns the index, in the states texts and pooled, of chunk number `chunk` (from 0) of the prompt in a slot (place
 * for an encoded prompt). The index of the first chunk is the number of the slot. */
enum { TEXTS = SLOTS * PROMPT_CHUNKS_MAX };
static inline int text_place(int slot, int chunk) {
  return chunk * SLOTS + slot;
}

int model_init(struct model *model, const struct checkpoint *checkpoint, struct resources *resources,
               struct error *err);
void model_free(struct model *model); /* frees the model's memory; accepts a zeroed model */
/* Adds control number `index` to the model: a kind of map, and the network that reads it, which must outlive the model
 * (NULL: there is no network). Only plans that are made afterwards can include the control. On failure the model is
 * unchanged. */
int model_add_control(struct model *model, int index, enum map_kind map, const struct control_network *network,
                      struct error *err);

/* Returns true if frames with these controls (bit i: control i) need an input frame, either to encode it or to make
 * maps of it. */
bool model_reads_input(const struct model *model, bool text_to_image, unsigned controls);

/* Returns the numbers of guidance rows of U-Net calls: `first` for the first call, `each` for later ones. A guidance
 * row is the copy of a latent for which one prediction is computed. There is 1 without guidance, or if guidance is an
 * input of the model; else 2, or 3 if the U-Net reads the input picture. Row 0 is for prompt and picture. Of 2 rows,
 * row 1 is for the negative prompt. Of 3 rows, row 1 is for the negative prompt with the picture, row 2 for that
 * without the picture. */
struct guidance_rows model_rows(const struct model *model, enum guidance_mode guidance);
/* Return how many values the states (tensors that outlive a run) for prompts have. model_prompt_elements counts encoded
 * texts, and keys and values with one chunk for each prompt; model_keys_elements counts keys and values alone, with
 * this many chunks for each prompt. */
size_t model_prompt_elements(const struct model *model);
size_t model_keys_elements(const struct model *model, int chunks);
/* Returns true if the guidance scale is an input of the U-Net's time projections (full LCM models), which need no
 * second guidance row for it. */
bool model_embeds_guidance(const struct model *model);

/* Returns a number of pixels. Width and height of the networks' pictures are multiples of this number, because the
 * autoencoder and the U-Net halve both several times. */
int model_size_multiple(const struct model *model);
/* Returns the side, in pixels, of the cells by which a frame can be shifted without changing its look: if the frame and
 * its noise are shifted by whole cells, the picture is shifted and otherwise the same. */
int model_lattice(const struct model *model);
/* Stores the size, in pixels, of the pictures on which the model was trained. */
void model_native_size(const struct model *model, int *width, int *height);

#endif
