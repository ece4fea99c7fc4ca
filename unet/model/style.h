/* What a picture says as style: a CLIP vision network, an IP-Adapter's projection to tokens, and keys and values of
 * these for all attention to the text. The U-Net attends to them beside the text: OP_STYLE. */
#ifndef UNET_MODEL_STYLE_H
#define UNET_MODEL_STYLE_H

#include "unet/checkpoint/ip_adapter.h"
#include "unet/model/walk.h"
#include "unet/plan/plan.h"

struct unet;

/* A picture that comes is made ready beside the one that is shown, so each style has two places; behind them is what
 * rows of guidance away from the pictures see. */
enum { STYLE_PLACES = 2 * STYLES_MAX, STYLE_NONE = STYLE_PLACES, STYLE_SLOTS };

struct style {
  const struct ip_adapter *adapter; /* borrowed; NULL: there is none */
  struct tensor slots;              /* state [STYLE_SLOTS, 1, tokens, walk.style_channels] */
};

/* Refuses an adapter that does not fit the model of this name. */
int style_init(struct style *style, const struct ip_adapter *adapter, const char *model, const struct unet *unet,
               struct resources *resources, struct error *err);

/* Patches of a picture [3 channels][rows][columns] each, as the vision network reads them: [1, 1, patches, values]. A
 * plan's state, that style_patches fills. */
struct tensor style_input(const struct style *style, struct plan *plan);
/* Whether that of no picture reads any: zeros. */
bool style_none_reads_patches(const struct style *style);
/* They become tokens, keys and values, and go to slot run.slot. none: of no picture, of which only encoders that are
 * asked for more than a picture's embedding read patches. */
void style_keys(const struct style *style, const struct unet *unet, struct plan *plan, struct tensor patches,
                bool none);

/* Part of a transformer layer. SDXL: composition is the last attention of the way down, the look the middle one of the
 * innermost level on the way up (Wang et al., InstantStyle, 2024). SD 1: composition likewise, the look all of the way
 * up but its innermost level with attention. */
enum style_part style_part(const struct unet_config *config, const struct unet_layer *layer);

/* x + attention to the pictures in place, behind that to the text: q its queries. What style is left out does nothing.
 */
struct unet_style {
  struct tensor slots;
  struct guidance_rows rows; /* of the call's latents; 0: it has one */
};
void style_attend(const struct unet_style *style, struct plan *plan, const struct unet_config *config,
                  const struct unet_layer *layer, int block, struct op_style op);

#endif
