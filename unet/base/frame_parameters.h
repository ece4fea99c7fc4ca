/* The parameters that frames and their preparation need: rows of the parameter table that do not depend on a window or
 * a source. app/control/parameter_table.h explains rows, defines their macros, includes this file, and adds the
 * program's own rows. The library gives users these names (app/library/reverie.h), so a name must not change. */
TEXT(MODEL, "model", ENGINE, MODEL, "Model", ONE(model), .from = "mini, the built-in one",
     .help = "checkpoint: a folder in diffusers layout, one .safetensors file, or the name of one that "
             "`reverie info` lists, as ORG/NAME or NAME; live's key m steps through up to 16")
TEXT(VAE, "vae", ENGINE, MODEL, "Autoencoder", ONE(vae), .from = "own, the model's",
     .help = "autoencoder that replaces the checkpoint's own: a folder in diffusers layout, files, "
             "or a name; live's key v steps through them, and as many as there are models go with "
             "these in order")
TEXT(UNET, "unet", ENGINE, MODEL, "U-Net", ONE(unet),
     .help = "a U-Net in the place of the checkpoint's own: a file, as SDXL-Lightning and Hyper-SD "
             "publish theirs, or a folder with its config")
TEXT(CONFIG, "config", ENGINE, MODEL, "Configuration", ONE(config), .from = "those its family was published with",
     .help = "folder in diffusers layout whose configs and tokenizer a checkpoint that is one "
             "file has")
CHOICE(PREDICTION, "prediction", ENGINE, MODEL, "Prediction", ONE(prediction), .choices = "auto|epsilon|v|sample",
       .from = "auto, what the checkpoint says", .help = "what the network predicts; one file does not always tell")
CHOICE(ZERO_SNR, "zero-snr", ENGINE, MODEL, "Zero terminal SNR", ONE(zero_snr), .choices = "auto|on|off",
       .from = "auto, what the checkpoint says",
       .help = "zero terminal SNR: the noise schedule ends in noise alone, as models of v "
               "prediction may have been trained, which one file does not always tell")
WHOLE(CLIP_SKIP, "clip-skip", ENGINE, MODEL, "Clip skip", ONE(clip_skip), .max = 64,
      .from = "0, what is usual: 1, with SDXL 2", .low = 0, .high = 4,
      .help = "the layer of the text encoders that counts, as web UIs say it: 1 the last, 2 the "
              "one before it; for the negative prompt, too")
TEXT(LORA, "lora[]", ENGINE, MODEL, "LoRA []", EACH(lora, ADAPTERS_MAX), .from = "",
     .help = "LoRA, LoCon, LoHa, LoKr or DoRA file and its weight (1); up to 8 are added up")
REAL(LORA_WEIGHT, "lora[].weight", FRAME, MODEL, "LoRA [] weight", EACH(lora_weight, ADAPTERS_MAX), .rank = 4,
     .min = -100, .max = 100, .standard = 1, .decimals = 2, .low = -1, .high = 2,
     .help = "how much of it is added; 0 leaves the model as it is")
SWITCH(LORA_LENIENT, "lora-lenient", ENGINE, MODEL, "LoRA lenient", ONE(lora_lenient), .from = "",
       .help = "leave out, with a warning, what of a LoRA has no place in the model")
/* `control[]`: the value is the index of a word in .choices, which is a value of enum map_kind plus 1; 0: there is no
 * control. */
CHOICE(CONTROL, "control[]", ENGINE, CONTROL, "Control []", EACH(control, CONTROLS_MAX), .choices = MAP_WORDS,
       .from = "",
       .help = "a map that is made of each frame, and a ControlNet or T2I-Adapter that reads it, "
               "with its weight (1): canny, lineart, softedge, depth, color, tile, blur, gray, mask, or map, "
               "which is the picture as it is; without MODEL there is the map alone, "
               "for --show; up to 4")
TEXT(CONTROL_MODEL, "control[].model", ENGINE, CONTROL, "Control [] model", EACH(control_model, CONTROLS_MAX),
     .help = "the network that reads the map")
SWITCH(CONTROL_SOURCE, "control[].source", ENGINE, CONTROL, "Control [] source", EACH(control_source, CONTROLS_MAX),
       .help = "the map is made of the second source")
SWITCH(CONTROL_ON, "control[].on", PREPARATION, CONTROL, "Control [] on", EACH(control_on, CONTROLS_MAX), .standard = 1,
       .help = "it is part of the picture; taken out, it needs no time, and once it is back in "
               "another handle is prepared beside the frames")
REAL(CONTROL_WEIGHT, "control[].weight", FRAME, CONTROL, "Control [] weight", EACH(control_weight, CONTROLS_MAX),
     .rank = 2, .max = 10, .standard = 1, .decimals = 2, .low = 0, .high = 2,
     .help = "how much its network adds; 0: it does not run")
REAL(CONTROL_START, "control[].start", FRAME, CONTROL, "Control [] start", EACH(control_start, CONTROLS_MAX), .max = 1,
     .decimals = 2, .help = "where it begins to act, from 0, pure noise, to 1, the picture")
REAL(CONTROL_END, "control[].end", FRAME, CONTROL, "Control [] end", EACH(control_end, CONTROLS_MAX), .max = 1,
     .standard = 1, .decimals = 2, .help = "where it ends to")
SWITCH(CONTROL_GUESS, "control[].guess", FRAME, CONTROL, "Control [] guess", EACH(control_guess, CONTROLS_MAX),
       .help = "guess mode: the map leads without a prompt's help")
REAL(CONTROL_LOW, "control[].low", FRAME, CONTROL, "Control [] low", EACH(map_low, CONTROLS_MAX), .min = -1,
     .max = 2040, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0, .high = 255,
     .help = "canny: an edge as steep as this goes on; lineart, softedge: what is below does "
             "not count; mask: the darkest white; -1: what suits the map")
REAL(CONTROL_HIGH, "control[].high", FRAME, CONTROL, "Control [] high", EACH(map_high, CONTROLS_MAX), .min = -1,
     .max = 2040, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0, .high = 255,
     .help = "canny: an edge as steep as this begins one; mask: the brightest white")
REAL(CONTROL_RADIUS, "control[].radius", FRAME, CONTROL, "Control [] radius", EACH(map_radius, CONTROLS_MAX), .min = -1,
     .max = 16, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0, .high = 16,
     .help = "lineart, softedge, blur: how far it is softened, in pixels")
REAL(CONTROL_GAIN, "control[].gain", FRAME, CONTROL, "Control [] gain", EACH(map_gain, CONTROLS_MAX), .min = -1,
     .max = 64, .standard = -1, .decimals = 1, .from = "what suits the map", .low = 0, .high = 32,
     .help = "lineart: how bright lines are")
REAL(CONTROL_HALF, "control[].half", FRAME, CONTROL, "Control [] half", EACH(map_half, CONTROLS_MAX), .min = -1,
     .max = 1000, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 0, .high = 255,
     .help = "softedge: how steep an edge half as bright as can be is")
REAL(CONTROL_CELL, "control[].cell", FRAME, CONTROL, "Control [] cell", EACH(map_cell, CONTROLS_MAX), .min = -1,
     .max = 256, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 1, .high = 128,
     .help = "color, tile: pixels of a cell, each way")
REAL(CONTROL_SPEED, "control[].speed", FRAME, CONTROL, "Control [] speed", EACH(map_speed, CONTROLS_MAX), .min = -1,
     .max = 1, .standard = -1, .decimals = 2, .from = "what suits the map", .low = 0, .high = 1,
     .help = "depth: how fast its range follows the scene, a frame")
REAL(CONTROL_EVERY, "control[].every", FRAME, CONTROL, "Control [] every", EACH(map_every, CONTROLS_MAX), .min = -1,
     .max = 60, .standard = -1, .decimals = 0, .from = "what suits the map", .low = 1, .high = 30,
     .help = "depth: in which of so many frames it is made anew")
TEXT(DEPTH_MODEL, "depth-model", ENGINE, CONTROL, "Depth model", ONE(depth_model), .from = PARAMETER_DEPTH_USUAL,
     .help = "network that makes the maps of --control depth: a folder of Depth Anything V2 "
             "in the layout of transformers, or its name")
/* `show`: the value is the index of a word in .choices, which is a value of enum show. */
CHOICE(SHOW, "show", FRAME, CONTROL, "Show", ONE(show), .choices = "picture|map|beside",
       .help = "the picture, the map of a control in its place, or both side by side, each half as "
               "wide and high")
WHOLE(SHOW_CONTROL, "show-control", FRAME, CONTROL, "Control shown", ONE(show_control), .min = 1, .max = CONTROLS_MAX,
      .standard = 1, .help = "the control whose map that is")
TEXT(IP_ADAPTER, "ip-adapter", ENGINE, STYLE, "IP-Adapter", ONE(ip_adapter),
     .help = "IP-Adapter file (.safetensors) that reads the style of pictures, for SD 1.5 and "
             "SDXL: plain, plus or full-face; own: the one in the model's folder, as mini has one")
TEXT(IMAGE_ENCODER, "image-encoder", ENGINE, STYLE, "Image encoder", ONE(image_encoder),
     .from = "image_encoder beside the IP-Adapter, as published",
     .help = "folder of the vision network that the IP-Adapter was made for")
TEXT(STYLE, "style[]", READING, STYLE, "Style []", EACH(style, STYLES_MAX), .from = "",
     .help = "picture whose style is to be had, and its weight (1); up to 4; other models than "
             "mini need --ip-adapter; without that and without --prompt the prompt is photo; "
             "live's key y takes the frame that is shown as the first, Y another file")
REAL(STYLE_WEIGHT, "style[].weight", FRAME, STYLE, "Style [] weight", EACH(style_weight, STYLES_MAX), .rank = 3,
     .max = STYLE_WEIGHT_MAX, .standard = 1, .decimals = 2,
     .help = "how much the picture counts beside the prompt, 0 to 2")
/* `style[].layers`: the value is the index of a word in .choices, which is a value of enum style_layers. */
CHOICE(STYLE_LAYERS, "style[].layers", FRAME, STYLE, "Style [] layers", EACH(style_layers, STYLES_MAX),
       .max = STYLE_LAYERS - 1, .choices = "all|style|composition|both",
       .help = "what is taken of the picture: everything, its look alone, where things are "
               "alone, or these two")
TEXT(PROMPT, "prompt[]", ENCODING, PROMPT, "Prompt []", EACH(prompt, SLOT_PRESETS), .from = PARAMETER_PROMPT_DEFAULT,
     .help = "what to make of the picture; up to 9 of them are those of live's keys 1 to 9")
TEXT(NEGATIVE, "negative", ENCODING, PROMPT, "Negative prompt", ONE(negative),
     .help = "what to stay away from; acts with --guidance above 1 in the modes full and one-time")
CHOICE(PROMPT_SYNTAX, "prompt-syntax", START, PROMPT, "Prompt syntax", ONE(prompt_syntax), .choices = "weights|plain",
       .help = "weights: (word:1.2) and (word) count more, [word] less, \\( is a bracket, "
               "and long prompts are read to the end; plain: as diffusers reads them")
CHOICE(TEXT_FIX, "text-fix", START, PROMPT, "Text fix", ONE(text_fix), .choices = "ftfy|basic|fast",
       .help = "characters of prompts as pipelines of transformers 4 read them with ftfy (curly "
               "quotes straight, ligatures apart, HTML entities read), without it, or as the fast "
               "tokenizer of transformers 5 does")
WHOLE(SHOWN_PROMPT, "shown-prompt", FRAME, PROMPT, "Prompt shown", ONE(shown_prompt), .min = 1, .max = SLOT_PRESETS,
      .standard = 1, .help = "which prompt is shown where no blend is; another one is faded to")
REAL(BLEND, "blend[]", FRAME, PROMPT, "Blend []", EACH(blend, SLOT_PRESETS), .max = 1, .decimals = 2, .from = "",
     .help = "prompts to blend, by number, and their weights (1), as in 1:0.7,3:0.3; each counts by "
             "its share of the sum of the weights, and where all are 0, one prompt is shown")
REAL(GUIDANCE, "guidance", ROWS, GUIDANCE, "Guidance", ONE(guidance), .rank = 5, .max = 100, .standard = 1,
     .decimals = 2, .low = 1, .high = 10,
     .help = "classifier-free guidance scale; other than 1, the network runs on more rows; mini takes 1 alone")
REAL(IMAGE_GUIDANCE, "image-guidance", ROWS, GUIDANCE, "Image guidance", ONE(image_guidance), .rank = 6, .max = 100,
     .standard = 1.5, .decimals = 2, .low = 1, .high = 5,
     .help = "how closely InstructPix2Pix models follow the input picture")
/* `guidance-mode`: the value is the index of a word in .choices, which is a value of enum guidance_mode. */
CHOICE(GUIDANCE_MODE, "guidance-mode", PREPARATION, GUIDANCE, "Guidance mode", ONE(guidance_mode),
       .choices = "none|full|self|one-time", .standard = GUIDANCE_FULL,
       .help = "what --guidance leads away from: in each step the negative prompt, at twice the "
               "cost; the input itself, at none; or what the first step makes of the "
               "negative prompt, at the cost of one more")
REAL(DELTA, "delta", ROWS, GUIDANCE, "Delta", ONE(delta), .max = 10, .standard = 1, .decimals = 2, .low = 0, .high = 2,
     .help = "weight of what the guidance modes self and one-time lead away from")
REAL(GUIDANCE_RESCALE, "guidance-rescale", ROWS, GUIDANCE, "Guidance rescale", ONE(guidance_rescale), .max = 1,
     .decimals = 2, .help = "how far what guidance adds in contrast is taken back, 0 to 1")
REAL(STRENGTH, "strength", FRAME, PICTURE, "Strength", ONE(strength), .rank = 1, .order = 1, .max = 1, .standard = 0.5,
     .by_model = true, .decimals = 2, .from = "1 for models that see the input, else 0.5",
     .help = "0 keeps the input, 1 starts from noise alone; for mini the share of its picture beside the input")
WHOLE(STEPS, "steps", PREPARATION, PICTURE, "Steps", ONE(steps), .rank = 12, .min = 1, .max = STEPS_MAX, .standard = 1,
      .by_model = true, .unit = "steps", .from = "what suits the model", .low = 1, .high = 8,
      .help = "sampling steps, 1 to 50")
SWITCH(STREAM_BATCH, "stream-batch", PREPARATION, PICTURE, "Stream batch", ONE(stream_batch), .from = "",
       .help = "all steps in one call of the network, each for another frame: more frames a "
               "second, and each comes the steps but one later")
WHOLE(BANK, "bank", FRAME, TIME, "Bank", ONE(bank), .rank = 11, .max = BANK_ROOM_MAX, .unit = "frames",
      .help = "earlier frames to which self-attention attends as well, so that pictures keep what they show, 0 to 4: "
              "each takes time; changes at once up to --bank-room, beyond it another handle is prepared beside the "
              "frames")
WHOLE(BANK_ROOM, "bank-room", PREPARATION, TIME, "Bank room", ONE(bank_room), .max = BANK_ROOM_MAX, .unit = "frames",
      .from = "as many as --bank",
      .help = "frames for which the bank has memory: 39 MB for each frame, step and row with SD-Turbo at 512x512")
WHOLE(BANK_EVERY, "bank-every", FRAME, TIME, "Bank every", ONE(bank_every), .min = 1, .max = 1000, .standard = 1,
      .low = 1, .high = 16, .unit = "frames", .help = "the bank keeps one of so many frames: more reach further back")
/* `bank-layers`: the value is the index of a word in .choices, and at the same time an index in the array
 * values_bank_layers. */
CHOICE(BANK_LAYERS, "bank-layers", PREPARATION, TIME, "Bank layers", ONE(bank_layers), .choices = BANK_LAYER_WORDS,
       .from = "auto, the two finest: 1/8 and 1/16 with SD 1 and 2",
       .help = "the self-attention that has a bank, by its size beside the picture's")
WHOLE(SEED, "seed", FRAME, PICTURE, "Seed", ONE(seed), .order = 4, .max = PARAMETER_WHOLE_MAX, .standard = 1, .low = 0,
      .high = 127, .help = "seed of the fixed noise")
REAL(SEED_POSITION, "seed-position", FRAME, PICTURE, "Seed position", ONE(seed_position), .order = 4, .min = -1e9,
     .max = 1e9, .decimals = 3, .unit = "seeds", .low = -10, .high = 10,
     .help = "how far the noise has walked from --seed: at 2.25 it lies a quarter of the way from that of the "
             "second seed after it to that of the third")
REAL(SEED_WALK, "seed-walk", NOTHING, PICTURE, "Seed walk", ONE(seed_walk), .rank = 9, .order = 4, .min = -100,
     .max = 100, .decimals = 2, .unit = "seeds/s", .low = -2, .high = 2,
     .help = "seeds a second that --seed-position moves on by itself, for ever; in render by "
             "the frames' own times, so that a walk is the same every time")
/* `canvas`: the value is the index of a word in .choices, which is a value of enum canvas_mode. */
CHOICE(CANVAS, "canvas", PREPARATION, TIME, "Canvas", ONE(canvas), .choices = "fixed|follow", .by_model = true,
       .from = "follow live with mini, else fixed",
       .help = "where the picture is drawn: fixed, so that texture stays on the screen; follow, on a canvas that "
               "follows the camera, so that texture stays on the scene, for 10 to 30 % more time")
/* `noise`: the value is the index of a word in .choices, which is a value of enum noise_mode. */
CHOICE(NOISE, "noise", PREPARATION, TIME, "Noise", ONE(noise), .choices = "fixed|carried",
       .help = "fixed: the noise is the same in every frame, so that texture stays on the screen; carried: it moves "
               "with the picture, each part with its own motion")
REAL(FEEDBACK, "feedback", PREPARATION, TIME, "Feedback", ONE(feedback), .rank = 10, .max = 1, .decimals = 2,
     .help = "how much of the last picture, moved with the scene, takes the place of the input where that was seen "
             "before; not for models that start from noise alone, such as mini")
REAL(MIX, "mix", FRAME, PICTURE, "Mix", ONE(mix), .rank = 7, .order = 2, .max = 1, .standard = 1, .decimals = 2,
     .help = "0 shows the input, 1 the generated picture")
REAL(DETAIL, "detail", FRAME, PICTURE, "Detail", ONE(detail), .rank = 8, .order = 3, .max = 1, .by_model = true,
     .decimals = 2, .from = "what suits the style with mini, else 0",
     .help = "how much of the input's own detail, finer than a few pixels, is added to the generated picture")
SIZE(SIZE, "size", PREPARATION, PICTURE, "Size", ONE(size), .rank = 13, .min = 1, .max = 8192, .by_model = true,
     .unit = "pixels", .from = "the input's shape, longest side 512, live without a GPU 320; bench: the model's own",
     .help = "size of the generated picture: even numbers; models make multiples of 32 or 64, whose "
             "end is cut off")
CHOICE(FIT, "fit", START, PICTURE, "Fit", ONE(fit), .choices = "crop|letterbox|stretch",
       .help = "how an input of another shape is fitted in; pixels that are not square count by the "
               "shape they are meant to be seen in")
/* `sampler`: the value is the index of a word in .choices, which is a value of enum sampler. */
CHOICE(SAMPLER, "sampler", PREPARATION, PICTURE, "Sampler", ONE(sampler), .choices = SAMPLER_WORDS, .by_model = true,
       .from = "auto, the one the checkpoint names",
       .help = "how steps lead from noise to a picture; pndm, unipc, dpm++ (2M), dpm++-sde, lms and "
               "deis look back on earlier steps")
/* `spacing`: the value is the index of a word in .choices, which is a value of enum spacing. */
CHOICE(SPACING, "spacing", PREPARATION, PICTURE, "Spacing", ONE(spacing), .choices = SPACING_WORDS, .by_model = true,
       .from = "auto, that of the checkpoint, or the sampler's own",
       .help = "which timesteps are visited; karras and exponential space noise levels, for euler, "
               "unipc, dpm++, dpm++-sde, lms and deis")
REAL(ETA, "eta", FRAME, PICTURE, "Eta", ONE(eta), .max = 1, .by_model = true, .decimals = 2,
     .from = "0.3 with tcd, 0 with ddim",
     .help = "how much of each step is fresh noise, with ddim and tcd; Hyper-SD in one step wants 1")
CHOICE(STRENGTH_GRID, "strength-grid", START, PICTURE, "Strength grid", ONE(strength_grid),
       .choices = "continuous|diffusers|trained", .from = "",
       .help = "noise levels --strength may choose: any, diffusers' rounding, or a distilled "
               "model's trained points")
SWITCH(TEXT_TO_IMAGE, "text-to-image", START, PICTURE, "Text to image", ONE(text_to_image), .from = "",
       .help = "ignore the input picture; its timing is kept")
