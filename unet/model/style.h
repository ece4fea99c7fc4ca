/* Style pictures: a CLIP vision network, an IP-Adapter's projection of its output to tokens, and the tokens' keys and
 * values for all attention to the text. The U-Net attends to them in addition to the text: OP_STYLE. */
#ifndef UNET_MODEL_STYLE_H
#define UNET_MODEL_STYLE_H

#include "unet/checkpoint/ip_adapter.h"
#include "unet/model/walk.h"
#include "unet/plan/plan.h"

struct unet;

/* Places in the state of style pictures. Each of the STYLES_MAX pictures has two, so that its successor can be computed
 * while frames read the current one. The last place, STYLE_NONE, is for no picture, which rows of negative guidance
 * read. */
enum { STYLE_PLACES = 2 * STYLES_MAX, STYLE_NONE = STYLE_PLACES, STYLE_SLOTS };

struct style {
  const struct ip_adapter *adapter; /* borrowed; NULL: there is none */
  struct tensor slots;              /* state [STYLE_SLOTS, 1, tokens, walk.style_channels] */
};

/* Refuses an adapter that does not fit the model, whose name is used in the message. */
int style_init(struct style *style, const struct ip_adapter *adapter, const char *model, const struct unet *unet,
               struct resources *resources, struct error *err);

/* Makes a state of the plan that the caller fills with a picture's patches, in the vision network's layout: [1, 1,
 * patches, values], each patch [3 channels][rows][columns]. */
struct tensor style_input(const struct style *style, struct plan *plan);
/* True if the plan for no picture reads patches, which must then be zeros. */
bool style_none_reads_patches(const struct style *style);
/* Computes tokens, keys and values from patches, and stores them in slot run.slot. none: computes those for no picture;
 * only adapters that read more of the encoder's output than its embedding then read patches. */
void style_keys(const struct style *style, const struct unet *unet, struct plan *plan, struct tensor patches,
                bool none);

/* Returns the part to which a transformer layer belongs. SDXL: composition is the last attention of the down blocks,
 * and the look is the middle one of the innermost level of the up blocks (Wang et al., InstantStyle, 2024). SD 1:
 * composition is the last attention of the down blocks, and the look is every attention of the up blocks except at the
 * innermost level that has attention. */
enum style_part style_part(const struct unet_config *config, const struct unet_layer *layer);

/* Appends the attention to the style pictures, whose result is added to the layer's attention to the text in place;
 * op.q holds the layer's queries. It appends nothing if style->slots is no tensor. */
struct unet_style {
  struct tensor slots;
  struct guidance_rows rows; /* rows of the call's latents; 0: it has one latent */
};
void style_attend(const struct unet_style *style, struct plan *plan, const struct unet_config *config,
                  const struct unet_layer *layer, int block, struct op_style op);

#endif
