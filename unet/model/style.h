/* Style pictures: pictures whose look a frame takes, by an IP-Adapter. A CLIP vision network encodes a picture. The
 * adapter's projection turns the result into tokens, and the tokens have keys and values for each attention to the
 * text. The U-Net attends to these in addition to the text (OP_STYLE). */
#ifndef UNET_MODEL_STYLE_H
#define UNET_MODEL_STYLE_H

#include "unet/checkpoint/ip_adapter.h"
#include "unet/model/walk.h"
#include "unet/plan/plan.h"

struct unet;

/* Slots on the device in which the keys and values of style pictures stay from run to run. Each of the STYLES_MAX
 * pictures has two, so that new keys and values can be computed while frames read the current ones. The last slot,
 * STYLE_NONE, stands for no picture; it is read for the negative prompt. */
enum { STYLE_PLACES = 2 * STYLES_MAX, STYLE_NONE = STYLE_PLACES, STYLE_SLOTS };

struct style {
  const struct ip_adapter *adapter; /* the IP-Adapter, borrowed; NULL: there is none */
  /* keys and values of the style pictures: a state [STYLE_SLOTS, 1, tokens, walk.style_channels] */
  struct tensor slots;
};

/* Initialises *style. Refuses an adapter that does not fit the model; `model` is the model's name, for the message. */
int style_init(struct style *style, const struct ip_adapter *adapter, const char *model, const struct unet *unet,
               struct resources *resources, struct error *err);

/* Makes a state of the plan (a tensor that outlives a run) for a picture's patches, which the caller fills before a
 * run: [1, 1, patches, values], each patch as [3 channels][rows][columns], as the vision network reads them. */
struct tensor style_input(const struct style *style, struct plan *plan);
/* The plan for "no style picture" may read patches of pixels (style_input). Returns true if it does; the caller must
 * then fill these patches with zeros. */
bool style_none_reads_patches(const struct style *style);
/* Appends the ops that compute tokens, keys and values from patches, and store them in the style picture's slot number
 * run.slot. none: true: these stand for "no picture". The ops then read patches only if the adapter reads more of the
 * image encoder's output than the embedding of the whole picture. */
void style_keys(const struct style *style, const struct unet *unet, struct plan *plan, struct tensor patches,
                bool none);

/* Returns which aspect of a picture a transformer layer decides: composition, look, or neither.
 *
 * SDXL: the last attention of the down blocks decides the composition; the middle attention of the innermost level of
 * the up blocks decides the look (Wang et al., InstantStyle, 2024).
 *
 * SD 1: the last attention of the down blocks decides the composition; all attentions of the up blocks decide the look,
 * except those at the innermost level that has attention. */
enum style_part style_part(const struct unet_config *config, const struct unet_layer *layer);

/* The inputs of attention to the style pictures (IP-Adapter). They are the same for all layers in a call of the
 * U-Net. */
struct unet_style {
  struct tensor slots; /* keys and values of the style pictures (struct style); no tensor: there are no pictures */
  /* how many guidance rows (copies of a latent, one for each prompt) the call's first latent has, and how many each
   * later latent has; both 0: all rows of the call belong to one latent */
  struct guidance_rows rows;
};
/* Appends attention to the style pictures, and adds its result to the layer's attention to the text, in place. op.q has
 * the layer's queries. Appends nothing if style->slots is no tensor. */
void style_attend(const struct unet_style *style, struct plan *plan, const struct unet_config *config,
                  const struct unet_layer *layer, int block, struct op_style op);

#endif
