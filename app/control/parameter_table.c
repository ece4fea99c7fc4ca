/* Every parameter: what it is called, where it lies, from where to where it goes, what it is for. */
#include "app/control/parameters_impl.h"
#include "app/source/playlist.h"
#include "unet/base/guidance.h"
#include "unet/base/maps.h"
#include "unet/base/samplers.h"

#define FIELD(field) .offset = offsetof(struct parameters, field), .size = sizeof(((struct parameters *)0)->field)
#define FIELDS(field, base, number)                                                                                    \
  .first = (base), .count = (number), .offset = offsetof(struct parameters, field),                                    \
  .size = sizeof(*((struct parameters *)0)->field)

const struct parameter_row parameter_table[PARAMETERS] = {
    [PARAMETER_MODEL] = {"model", TYPE_TEXT, NEED_ENGINE, FIELD(model), .from = "mini, the built-in one",
                         .help =
                             "checkpoint: a folder in diffusers layout, one .safetensors file, or the name of one that "
                             "`reverie info` lists, as ORG/NAME or NAME; live's key m steps through up to 16"},
    [PARAMETER_VAE] = {"vae", TYPE_TEXT, NEED_ENGINE, FIELD(vae), .from = "own, the model's",
                       .help = "autoencoder that replaces the checkpoint's own: a folder in diffusers layout, files, "
                               "or a name; live's key v steps through them, and as many as there are models go with "
                               "these in order"},
    [PARAMETER_UNET] = {"unet", TYPE_TEXT, NEED_ENGINE, FIELD(unet),
                        .help = "a U-Net in the place of the checkpoint's own: a file, as SDXL-Lightning and Hyper-SD "
                                "publish theirs, or a folder with its config"},
    [PARAMETER_CONFIG] = {"config", TYPE_TEXT, NEED_ENGINE, FIELD(config),
                          .from = "those its family was published with",
                          .help = "folder in diffusers layout whose configs and tokenizer a checkpoint that is one "
                                  "file has"},
    [PARAMETER_PREDICTION] = {"prediction", TYPE_CHOICE, NEED_ENGINE, FIELD(prediction),
                              .choices = "auto|epsilon|v|sample", .from = "auto, what the checkpoint says",
                              .help = "what the network predicts; one file does not always tell"},
    [PARAMETER_ZERO_SNR] = {"zero-snr", TYPE_CHOICE, NEED_ENGINE, FIELD(zero_snr), .choices = "auto|on|off",
                            .from = "auto, what the checkpoint says",
                            .help = "zero terminal SNR: the noise schedule ends in noise alone, as models of v "
                                    "prediction may have been trained, which one file does not always tell"},
    [PARAMETER_CLIP_SKIP] = {"clip-skip", TYPE_WHOLE, NEED_ENGINE, FIELD(clip_skip), .max = 64,
                             .from = "0, what is usual: 1, with SDXL 2", .low = 0, .high = 4,
                             .help = "the layer of the text encoders that counts, as web UIs say it: 1 the last, 2 the "
                                     "one before it; for the negative prompt, too"},
    [PARAMETER_LORA] = {"lora[]", TYPE_TEXT, NEED_ENGINE, FIELDS(lora, 1, ADAPTERS_MAX), .from = "",
                        .help = "LoRA, LoCon, LoHa, LoKr or DoRA file and its weight (1); up to 8 are added up"},
    [PARAMETER_LORA_WEIGHT] = {"lora[].weight", TYPE_REAL, NEED_FRAME, FIELDS(lora_weight, 1, ADAPTERS_MAX),
                               .min = -100, .max = 100, .standard = 1, .decimals = 2, .low = -1, .high = 2,
                               .help = "how much of it is added; 0 leaves the model as it is"},
    [PARAMETER_LORA_LENIENT] = {"lora-lenient", TYPE_SWITCH, NEED_ENGINE, FIELD(lora_lenient), .from = "",
                                .help = "leave out, with a warning, what of a LoRA has no place in the model"},
    [PARAMETER_CONTROL] =
        {"control[]", TYPE_CHOICE, NEED_ENGINE, FIELDS(control, 1, CONTROLS_MAX), .choices = MAP_WORDS, .from = "",
         .help = "a map that is made of each frame, and a ControlNet or T2I-Adapter that reads it, "
                 "with its weight (1): canny, lineart, softedge, depth, color, tile, blur, gray, mask, or map, "
                 "which is the picture as it is; without MODEL there is the map alone, "
                 "for --show; up to 4"},
    [PARAMETER_CONTROL_MODEL] = {"control[].model", TYPE_TEXT, NEED_ENGINE, FIELDS(control_model, 1, CONTROLS_MAX),
                                 .help = "the network that reads the map"},
    [PARAMETER_CONTROL_SOURCE] = {"control[].source", TYPE_SWITCH, NEED_ENGINE, FIELDS(control_source, 1, CONTROLS_MAX),
                                  .help = "the map is made of the second source"},
    [PARAMETER_CONTROL_ON] = {"control[].on", TYPE_SWITCH, NEED_PREPARATION, FIELDS(control_on, 1, CONTROLS_MAX),
                              .standard = 1,
                              .help = "it is part of the picture; taken out, it needs no time, and once it is back in "
                                      "another handle is prepared beside the frames"},
    [PARAMETER_CONTROL_WEIGHT] = {"control[].weight", TYPE_REAL, NEED_FRAME, FIELDS(control_weight, 1, CONTROLS_MAX),
                                  .max = 10, .standard = 1, .decimals = 2, .low = 0, .high = 2,
                                  .help = "how much its network adds; 0: it does not run"},
    [PARAMETER_CONTROL_START] = {"control[].start", TYPE_REAL, NEED_FRAME, FIELDS(control_start, 1, CONTROLS_MAX),
                                 .max = 1, .decimals = 2,
                                 .help = "where it begins to act, from 0, pure noise, to 1, the picture"},
    [PARAMETER_CONTROL_END] = {"control[].end", TYPE_REAL, NEED_FRAME, FIELDS(control_end, 1, CONTROLS_MAX), .max = 1,
                               .standard = 1, .decimals = 2, .help = "where it ends to"},
    [PARAMETER_CONTROL_GUESS] = {"control[].guess", TYPE_SWITCH, NEED_FRAME, FIELDS(control_guess, 1, CONTROLS_MAX),
                                 .help = "guess mode: the map leads without a prompt's help"},
    [PARAMETER_CONTROL_LOW] = {"control[].low", TYPE_REAL, NEED_FRAME, FIELDS(map_low, 1, CONTROLS_MAX), .min = -1,
                               .max = 2040, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0,
                               .high = 255,
                               .help = "canny: an edge as steep as this goes on; lineart, softedge: what is below does "
                                       "not count; mask: the darkest white; -1: what suits the map"},
    [PARAMETER_CONTROL_HIGH] = {"control[].high", TYPE_REAL, NEED_FRAME, FIELDS(map_high, 1, CONTROLS_MAX), .min = -1,
                                .max = 2040, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0,
                                .high = 255,
                                .help = "canny: an edge as steep as this begins one; mask: the brightest white"},
    [PARAMETER_CONTROL_RADIUS] = {"control[].radius", TYPE_REAL, NEED_FRAME, FIELDS(map_radius, 1, CONTROLS_MAX),
                                  .min = -1, .max = 16, .standard = -1, .decimals = 0, .from = "what suits the map",
                                  .low = 0, .high = 16,
                                  .help = "lineart, softedge, blur: how far it is softened, in pixels"},
    [PARAMETER_CONTROL_GAIN] = {"control[].gain", TYPE_REAL, NEED_FRAME, FIELDS(map_gain, 1, CONTROLS_MAX), .min = -1,
                                .max = 64, .standard = -1, .decimals = 1, .from = "what suits the map", .low = 0,
                                .high = 32, .help = "lineart: how bright lines are"},
    [PARAMETER_CONTROL_HALF] = {"control[].half", TYPE_REAL, NEED_FRAME, FIELDS(map_half, 1, CONTROLS_MAX), .min = -1,
                                .max = 1000, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0,
                                .high = 255, .help = "softedge: how steep an edge half as bright as can be is"},
    [PARAMETER_CONTROL_CELL] = {"control[].cell", TYPE_REAL, NEED_FRAME, FIELDS(map_cell, 1, CONTROLS_MAX), .min = -1,
                                .max = 256, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 1,
                                .high = 128, .help = "color, tile: pixels of a cell, each way"},
    [PARAMETER_CONTROL_SPEED] = {"control[].speed", TYPE_REAL, NEED_FRAME, FIELDS(map_speed, 1, CONTROLS_MAX),
                                 .min = -1, .max = 1, .standard = -1, .decimals = 2, .from = "what suits the map",
                                 .low = 0, .high = 1, .help = "depth: how fast its range follows the scene, a frame"},
    [PARAMETER_CONTROL_EVERY] = {"control[].every", TYPE_REAL, NEED_FRAME, FIELDS(map_every, 1, CONTROLS_MAX),
                                 .min = -1, .max = 60, .standard = -1, .decimals = 0, .from = "what suits the map",
                                 .low = 1, .high = 30, .help = "depth: in which of so many frames it is made anew"},
    [PARAMETER_DEPTH_MODEL] = {"depth-model", TYPE_TEXT, NEED_ENGINE, FIELD(depth_model), .from = PARAMETER_DEPTH_USUAL,
                               .help = "network that makes the maps of --control depth: a folder of Depth Anything V2 "
                                       "in the layout of transformers, or its name"},
    [PARAMETER_SHOW] = {"show", TYPE_CHOICE, NEED_FRAME, FIELD(show), .choices = "picture|map|beside",
                        .help = "the picture, the map of a control in its place, or both side by side, each half as "
                                "wide and high"},
    [PARAMETER_SHOW_CONTROL] = {"show-control", TYPE_WHOLE, NEED_FRAME, FIELD(show_control), .min = 1,
                                .max = CONTROLS_MAX, .standard = 1, .help = "the control whose map that is"},
    [PARAMETER_IP_ADAPTER] = {"ip-adapter", TYPE_TEXT, NEED_ENGINE, FIELD(ip_adapter),
                              .help = "IP-Adapter file (.safetensors) that reads the style of pictures, for SD 1.5 and "
                                      "SDXL: plain, plus or full-face"},
    [PARAMETER_IMAGE_ENCODER] = {"image-encoder", TYPE_TEXT, NEED_ENGINE, FIELD(image_encoder),
                                 .from = "image_encoder beside the IP-Adapter, as published",
                                 .help = "folder of the vision network that the IP-Adapter was made for"},
    [PARAMETER_STYLE] = {"style[]", TYPE_TEXT, NEED_READING, FIELDS(style, 1, STYLES_MAX), .from = "",
                         .help = "picture whose style is to be had, and its weight (1), with --ip-adapter; up to 4; "
                                 "live's key y takes the frame that is shown as the first, Y another file"},
    [PARAMETER_STYLE_WEIGHT] = {"style[].weight", TYPE_REAL, NEED_FRAME, FIELDS(style_weight, 1, STYLES_MAX),
                                .max = STYLE_WEIGHT_MAX, .standard = 1, .decimals = 2,
                                .help = "how much the picture counts beside the prompt, 0 to 2"},
    [PARAMETER_STYLE_LAYERS] = {"style[].layers", TYPE_CHOICE, NEED_FRAME, FIELDS(style_layers, 1, STYLES_MAX),
                                .max = STYLE_LAYERS - 1, .choices = "all|style|composition|both",
                                .help = "what is taken of the picture: everything, its look alone, where things are "
                                        "alone, or these two"},
    [PARAMETER_PROMPT] = {"prompt[]", TYPE_TEXT, NEED_ENCODING, FIELDS(prompt, 1, SLOT_PRESETS),
                          .from = PARAMETER_PROMPT_DEFAULT,
                          .help = "what to make of the picture; up to 9 of them are those of live's keys 1 to 9"},
    [PARAMETER_NEGATIVE] = {"negative", TYPE_TEXT, NEED_ENCODING, FIELD(negative),
                            .help =
                                "what to stay away from; acts with --guidance above 1 in the modes full and one-time"},
    [PARAMETER_PROMPT_SYNTAX] = {"prompt-syntax", TYPE_CHOICE, NEED_START, FIELD(prompt_syntax),
                                 .choices = "weights|plain",
                                 .help = "weights: (word:1.2) and (word) count more, [word] less, \\( is a bracket, "
                                         "and long prompts are read to the end; plain: as diffusers reads them"},
    [PARAMETER_TEXT_FIX] = {"text-fix", TYPE_CHOICE, NEED_START, FIELD(text_fix), .choices = "ftfy|basic|fast",
                            .help = "characters of prompts as pipelines of transformers 4 read them with ftfy (curly "
                                    "quotes straight, ligatures apart, HTML entities read), without it, or as the fast "
                                    "tokenizer of transformers 5 does"},
    [PARAMETER_SHOWN_PROMPT] = {"shown-prompt", TYPE_WHOLE, NEED_FRAME, FIELD(shown_prompt), .min = 1,
                                .max = SLOT_PRESETS, .standard = 1,
                                .help = "which prompt is shown where no blend is; another one is faded to"},
    [PARAMETER_BLEND] = {"blend[]", TYPE_REAL, NEED_FRAME, FIELDS(blend, 1, SLOT_PRESETS), .max = 1, .decimals = 2,
                         .from = "",
                         .help =
                             "prompts to blend, by number, and their weights (1), as in 1:0.7,3:0.3; each counts by "
                             "its share of the sum of the weights, and where all are 0, one prompt is shown"},
    [PARAMETER_GUIDANCE] =
        {"guidance", TYPE_REAL, NEED_ROWS, FIELD(guidance), .max = 100, .standard = 1, .decimals = 2, .low = 1,
         .high = 10,
         .help = "classifier-free guidance scale; other than 1, the network runs on more rows; mini takes 1 alone"},
    [PARAMETER_IMAGE_GUIDANCE] = {"image-guidance", TYPE_REAL, NEED_ROWS, FIELD(image_guidance), .max = 100,
                                  .standard = 1.5, .decimals = 2, .low = 1, .high = 5,
                                  .help = "how closely InstructPix2Pix models follow the input picture"},
    [PARAMETER_GUIDANCE_MODE] = {"guidance-mode", TYPE_CHOICE, NEED_PREPARATION, FIELD(guidance_mode),
                                 .choices = "none|full|self|one-time", .standard = GUIDANCE_FULL,
                                 .help =
                                     "what --guidance leads away from: in each step the negative prompt, at twice the "
                                     "cost; the input itself, at none; or what the first step makes of the "
                                     "negative prompt, at the cost of one more"},
    [PARAMETER_DELTA] = {"delta", TYPE_REAL, NEED_ROWS, FIELD(delta), .max = 10, .standard = 1, .decimals = 2, .low = 0,
                         .high = 2, .help = "weight of what the guidance modes self and one-time lead away from"},
    [PARAMETER_GUIDANCE_RESCALE] = {"guidance-rescale", TYPE_REAL, NEED_ROWS, FIELD(guidance_rescale), .max = 1,
                                    .decimals = 2,
                                    .help = "how far what guidance adds in contrast is taken back, 0 to 1"},
    [PARAMETER_STRENGTH] =
        {"strength", TYPE_REAL, NEED_FRAME, FIELD(strength), .max = 1, .standard = 0.5, .by_model = true, .decimals = 2,
         .from = "1 for models that see the input, else 0.5",
         .help = "0 keeps the input, 1 starts from noise alone; for mini the share of its picture beside the input"},
    [PARAMETER_STEPS] = {"steps", TYPE_WHOLE, NEED_PREPARATION, FIELD(steps), .min = 1, .max = STEPS_MAX, .standard = 1,
                         .by_model = true, .unit = "steps", .from = "what suits the model", .low = 1, .high = 8,
                         .help = "sampling steps, 1 to 50"},
    [PARAMETER_STREAM_BATCH] = {"stream-batch", TYPE_SWITCH, NEED_PREPARATION, FIELD(stream_batch), .from = "",
                                .help = "all steps in one call of the network, each for another frame: more frames a "
                                        "second, and each comes the steps but one later"},
    [PARAMETER_SEED] = {"seed", TYPE_WHOLE, NEED_FRAME, FIELD(seed), .max = PARAMETER_WHOLE_MAX, .standard = 1,
                        .low = 0, .high = 127, .help = "seed of the fixed noise"},
    [PARAMETER_SEED_POSITION] =
        {"seed-position", TYPE_REAL, NEED_FRAME, FIELD(seed_position), .min = -1e9, .max = 1e9, .decimals = 3,
         .unit = "seeds", .low = -10, .high = 10,
         .help = "how far the noise has walked from --seed: at 2.25 it lies a quarter of the way from that of the "
                 "second seed after it to that of the third"},
    [PARAMETER_SEED_WALK] = {"seed-walk", TYPE_REAL, NEED_NOTHING, FIELD(seed_walk), .min = -100, .max = 100,
                             .decimals = 2, .unit = "seeds/s", .low = -2, .high = 2,
                             .help = "seeds a second that --seed-position moves on by itself, for ever; in render by "
                                     "the frames' own times, so that a walk is the same every time"},
    [PARAMETER_MIX] = {"mix", TYPE_REAL, NEED_FRAME, FIELD(mix), .max = 1, .standard = 1, .decimals = 2,
                       .help = "0 shows the input, 1 the generated picture"},
    [PARAMETER_SIZE] = {"size", TYPE_SIZE, NEED_PREPARATION, FIELD(size), .min = 1, .max = 8192, .by_model = true,
                        .unit = "pixels",
                        .from = "the input's shape, longest side 512, live without a GPU 320; bench: the model's own",
                        .help = "size of the generated picture: even numbers; models make multiples of 32 or 64, whose "
                                "end is cut off"},
    [PARAMETER_FIT] = {"fit", TYPE_CHOICE, NEED_START, FIELD(fit), .choices = "crop|letterbox|stretch",
                       .help = "how an input of another shape is fitted in; pixels that are not square count by the "
                               "shape they are meant to be seen in"},
    [PARAMETER_SAMPLER] = {"sampler", TYPE_CHOICE, NEED_PREPARATION, FIELD(sampler), .choices = SAMPLER_WORDS,
                           .by_model = true, .from = "auto, the one the checkpoint names",
                           .help =
                               "how steps lead from noise to a picture; pndm, unipc, dpm++ (2M), dpm++-sde, lms and "
                               "deis look back on earlier steps"},
    [PARAMETER_SPACING] = {"spacing", TYPE_CHOICE, NEED_PREPARATION, FIELD(spacing), .choices = SPACING_WORDS,
                           .by_model = true, .from = "auto, that of the checkpoint, or the sampler's own",
                           .help = "which timesteps are visited; karras and exponential space noise levels, for euler, "
                                   "unipc, dpm++, dpm++-sde, lms and deis"},
    [PARAMETER_ETA] = {"eta", TYPE_REAL, NEED_FRAME, FIELD(eta), .max = 1, .by_model = true, .decimals = 2,
                       .from = "0.3 with tcd, 0 with ddim",
                       .help = "how much of each step is fresh noise, with ddim and tcd; Hyper-SD in one step wants 1"},
    [PARAMETER_STRENGTH_GRID] = {"strength-grid", TYPE_CHOICE, NEED_START, FIELD(strength_grid),
                                 .choices = "continuous|diffusers|trained", .from = "",
                                 .help = "noise levels --strength may choose: any, diffusers' rounding, or a distilled "
                                         "model's trained points"},
    [PARAMETER_TEXT_TO_IMAGE] = {"text-to-image", TYPE_SWITCH, NEED_START, FIELD(text_to_image), .from = "",
                                 .help = "ignore the input picture; its timing is kept"},
    [PARAMETER_SOURCE] = {"source", TYPE_WHOLE, NEED_NOTHING, FIELD(source), .min = 1, .max = PLAYLIST_MAX, .low = 1,
                          .high = 9, .standard = 1, .help = "which source of several is shown"},
    [PARAMETER_MIRROR] = {"mirror", TYPE_CHOICE, NEED_NOTHING, FIELD(mirror), .choices = "auto|on|off",
                          .help = "the source as a mirror shows it, from its next frame on; auto: cameras are, capture "
                                  "cards, screens and files are not"},
    [PARAMETER_PAUSE] = {"pause", TYPE_SWITCH, NEED_NOTHING, FIELD(pause), .help = "no new frames are taken"},
    [PARAMETER_RECORDING] = {"recording", TYPE_SWITCH, NEED_NOTHING, FIELD(recording),
                             .help = "what is shown is recorded, each picture at its time"},
    [PARAMETER_FREEZE] = {"freeze", TYPE_SWITCH, NEED_NOTHING, FIELD(freeze),
                          .help = "the picture shown stays, while the engine goes on"},
    [PARAMETER_BYPASS] = {"bypass", TYPE_SWITCH, NEED_NOTHING, FIELD(bypass),
                          .help = "the source is shown as it is, past the engine"},
    [PARAMETER_BLACKOUT] = {"blackout", TYPE_SWITCH, NEED_NOTHING, FIELD(blackout), .help = "the picture is black"},
    [PARAMETER_FADE] = {"fade", TYPE_REAL, NEED_NOTHING, FIELD(fade), .max = 60, .standard = 0.3, .decimals = 1,
                        .unit = "seconds", .low = 0, .high = 5,
                        .help = "how long blackout and bypass take to come and go, and a freeze to go"},
    [PARAMETER_SAVED_PRESET] = {"saved-preset", TYPE_WHOLE, NEED_NOTHING, FIELD(saved_preset), .max = 9999, .high = 64,
                                .from = "0",
                                .help = "which preset of the file of --presets was taken last; another number takes "
                                        "that one"},
    [PARAMETER_SPLIT] = {"split", TYPE_SWITCH, NEED_NOTHING, FIELD(split), .from = "",
                         .help = "before and after side by side"},
    [PARAMETER_SPLIT_AT] = {"split-at", TYPE_REAL, NEED_NOTHING, FIELD(split_at), .max = 1, .standard = 0.5,
                            .decimals = 2, .unit = "picture widths", .help = "left of it is the input"},
    [PARAMETER_FULLSCREEN] = {"fullscreen", TYPE_SWITCH, NEED_NOTHING, FIELD(fullscreen), .from = "",
                              .help = "fill the screen"},
    [PARAMETER_OPERATOR] = {"operator", TYPE_SWITCH, NEED_NOTHING, FIELD(with_operator), .from = "",
                            .help =
                                "a second window for the operator, with the picture, figures, the prompt line and all "
                                "parameters; the other one then has the picture and nothing else, and fills its "
                                "display where there are two"},
    [PARAMETER_HUD] = {"hud", TYPE_SWITCH, NEED_NOTHING, FIELD(hud), .standard = 1,
                       .help = "the figures on the picture"},
    [PARAMETER_HELP] = {"help", TYPE_SWITCH, NEED_NOTHING, FIELD(help), .help = "what the keys do, on the picture"},
    [PARAMETER_MIDI_LEARN] = {"midi-learn", TYPE_TEXT, NEED_NOTHING, FIELD(midi_learn),
                              .help = "what the next knob of MIDI that is moved sets: a parameter, a command as in "
                                      "new-seed or prompt=3, or last, the parameter changed last"},
};
