#include "app/options/options_table.h"

#include <stddef.h>
#include <stdio.h>

enum {
  LIVE = 1 << COMMAND_LIVE,
  RENDER = 1 << COMMAND_RENDER,
  JOIN = 1 << COMMAND_JOIN,
  BENCH = 1 << COMMAND_BENCH,
  INFO = 1 << COMMAND_INFO,
  ENGINE = LIVE | RENDER | BENCH,
  ALL = ENGINE | JOIN | INFO | 1 << COMMAND_FETCH | 1 << COMMAND_NONE,
};

#define AT(field) .offset = offsetof(struct options, field)
#define COUNT_MAX 1e9

const struct option option_table[] = {
    {"model", 'm', OPTION_SEVERAL, GROUP_PICTURE, ENGINE | INFO, "MODEL", AT(models), .value = VALUE_MODEL,
     .parameter = PARAMETER_MODEL},
    {"vae", 0, OPTION_SEVERAL, GROUP_PICTURE, ENGINE | INFO, "MODEL", AT(vaes), .value = VALUE_MODEL,
     .parameter = PARAMETER_VAE},
    {"unet", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "MODEL", .value = VALUE_MODEL,
     .parameter = PARAMETER_UNET},
    {"config", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "DIR", .value = VALUE_MODEL,
     .parameter = PARAMETER_CONFIG},
    {"prediction", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_PREDICTION},
    {"zero-snr", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_ZERO_SNR},
    {"clip-skip", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "N", .parameter = PARAMETER_CLIP_SKIP},
    {"lora", 0, OPTION_LORA, GROUP_PICTURE, ENGINE | INFO, "FILE[:WEIGHT]", .value = VALUE_MODEL,
     .parameter = PARAMETER_LORA},
    {"spare-lora", 0, OPTION_TEXTS, GROUP_PICTURE, LIVE, "FILE", AT(spare_loras), .value = VALUE_MODEL,
     .help = "a LoRA that the key L puts in the place of the one chosen, in turn with those of --lora; several times"},
    {"lora-lenient", 0, OPTION_ON, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_LORA_LENIENT},
    {"control", 0, OPTION_CONTROL, GROUP_PICTURE, ENGINE | INFO, "KIND[:MODEL[:X]]", .value = VALUE_MAP,
     .parameter = PARAMETER_CONTROL},
    {"spare-control", 0, OPTION_CONTROL_OFF, GROUP_PICTURE, LIVE, "KIND[:MODEL[:X]]", .value = VALUE_MAP,
     .help = "a control that is not part of the picture until the key C puts it in, which takes it out, too"},
    {"control-with", 0, OPTION_CONTROL_WITH, GROUP_PICTURE, ENGINE | INFO, "K=X,...",
     .help = "of the --control before it: weight; start and end of the noise it acts in, from 0, pure noise, to 1, the "
             "picture; guess=1; and what its map has: low and high (canny, mask), low, radius and gain (lineart), low, "
             "radius and half (softedge), radius (blur), cell (color, tile), speed and every (depth)"},
    {"depth-model", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "MODEL", .value = VALUE_MODEL,
     .parameter = PARAMETER_DEPTH_MODEL},
    {"show", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_SHOW},
    {"ip-adapter", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "FILE", .value = VALUE_MODEL,
     .parameter = PARAMETER_IP_ADAPTER},
    {"image-encoder", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "DIR", .value = VALUE_DIR,
     .parameter = PARAMETER_IMAGE_ENCODER},
    {"style", 0, OPTION_STYLE, GROUP_PICTURE, ENGINE, "FILE[:WEIGHT]", .value = VALUE_FILE,
     .parameter = PARAMETER_STYLE},
    {"spare-style", 0, OPTION_TEXTS, GROUP_PICTURE, LIVE, "PICTURE", AT(spare_styles), .value = VALUE_FILE,
     .help = "a style picture that the key Y puts in the first one's place, in turn with those of --style; several "
             "times"},
    {"style-layers", 0, OPTION_LAYERS, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_STYLE_LAYERS},
    {"prompt", 'p', OPTION_PROMPT, GROUP_PICTURE, ENGINE, "TEXT", .parameter = PARAMETER_PROMPT},
    {"blend", 0, OPTION_BLEND, GROUP_PICTURE, ENGINE, "N[:X],...", .parameter = PARAMETER_BLEND},
    {"negative", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "TEXT", .parameter = PARAMETER_NEGATIVE},
    {"prompt-syntax", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_PROMPT_SYNTAX},
    {"text-fix", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_TEXT_FIX},
    {"guidance", 'g', OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "X", .parameter = PARAMETER_GUIDANCE},
    {"image-guidance", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_IMAGE_GUIDANCE},
    {"guidance-mode", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_GUIDANCE_MODE},
    {"delta", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_DELTA},
    {"guidance-rescale", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_GUIDANCE_RESCALE},
    {"strength", 's', OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_STRENGTH},
    {"steps", 'n', OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "N", .parameter = PARAMETER_STEPS},
    {"stream-batch", 0, OPTION_ON, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_STREAM_BATCH},
    {"batch", 0, OPTION_INT, GROUP_PICTURE, RENDER | BENCH, "N", AT(batch), .min = 1, .max = BATCH_MAX,
     .help = "frames that go through the networks together, 1 to 4: more are faster on a GPU, and take more memory; "
             "excludes --stream-batch, --control and what needs the frame before (--bank, --canvas follow, --noise "
             "carried, "
             "--feedback) (default: in render as many as are faster on the device and find "
             "room there, in bench 1)"},
    {"bank", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "N", .parameter = PARAMETER_BANK},
    {"bank-room", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "N", .parameter = PARAMETER_BANK_ROOM},
    {"bank-every", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "K", .parameter = PARAMETER_BANK_EVERY},
    {"bank-layers", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, .parameter = PARAMETER_BANK_LAYERS},
    {"seed", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "N", .parameter = PARAMETER_SEED},
    {"seed-position", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_SEED_POSITION},
    {"seed-walk", 0, OPTION_PARAMETER, GROUP_PICTURE, LIVE | RENDER, "X", .parameter = PARAMETER_SEED_WALK},
    {"canvas", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_CANVAS},
    {"noise", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_NOISE},
    {"feedback", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_FEEDBACK},
    {"detail", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_DETAIL},
    {"size", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE | INFO, "WxH", .parameter = PARAMETER_SIZE},
    {"fit", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_FIT},
    {"sampler", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_SAMPLER},
    {"spacing", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_SPACING},
    {"eta", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, "X", .parameter = PARAMETER_ETA},
    {"strength-grid", 0, OPTION_PARAMETER, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_STRENGTH_GRID},
    {"text-to-image", 0, OPTION_ON, GROUP_PICTURE, ENGINE, .parameter = PARAMETER_TEXT_TO_IMAGE},

    {"device", 'd', OPTION_TEXT, GROUP_DEVICE, ENGINE | INFO, "NAME", AT(device.name),
     .help = "auto, cpu, cpu:plain (the slow definition), cuda or cuda:N; render takes several: cuda:0,1 or cuda:all "
             "(default: auto)"},
    {"threads", 't', OPTION_INT, GROUP_DEVICE, ENGINE | INFO, "N", AT(device.threads), .min = 1, .max = 1024,
     .help = "CPU threads (default: one a core)"},
    {"precision", 0, OPTION_CHOICE, GROUP_DEVICE, ENGINE | INFO, NULL, "f32|bf16|auto", AT(device.precision),
     .help = "CPU arithmetic; auto takes bf16 where the processor has matrix units for it (default: auto)"},
    {"memory-limit", 0, OPTION_BYTES, GROUP_DEVICE, ENGINE | INFO, "BYTES", AT(device.memory_limit), .min = 1,
     .max = 1e15, .help = "device memory that may be used; K, M and G are understood (default: what there is)"},
    {"graph", 0, OPTION_CHOICE, GROUP_DEVICE, ENGINE, NULL, "on|off", AT(device.graph),
     .help = "GPU: a frame as one captured graph, or, to compare, its operations launched one by one (default: on)"},
    {"real-time", 0, OPTION_CHOICE, GROUP_DEVICE, LIVE | BENCH, NULL, "auto|no", AT(real_time),
     .help = "auto: where pictures are computed on a GPU, the few threads that a picture waits for come before other "
             "programs, as far as the system permits that (default: auto)"},
    {"awake", 0, OPTION_FLAG, GROUP_DEVICE, LIVE | BENCH, AT(awake),
     .help =
         "keep all processors from sleeping while live, or bench --live, runs: pictures come sooner and more evenly "
         "where a processor that sleeps wakes late, as on a virtual machine; it takes the power of a machine under "
         "full load, and holds no other program up"},

    {"input-format", 0, OPTION_TEXT, GROUP_INPUT, LIVE | RENDER, "NAME", AT(input_format),
     .help = "FFmpeg demuxer or device, such as v4l2, x11grab or lavfi (default: found from the name)"},
    {"input-options", 0, OPTION_TEXT, GROUP_INPUT, LIVE | RENDER | JOIN, "K=V:K=V", AT(input_options),
     .help = "options for it, such as rtsp_transport=udp, or protocol_whitelist=file,http,https,tls,tcp for a playlist "
             "in a "
             "file that names servers; otherwise it may only name files beside it, and one from a pipe nothing"},
    {"hwdec", 0, OPTION_CHOICE, GROUP_INPUT, ENGINE, NULL, "auto|no|nvdec|yes|cuda", AT(hwdec),
     .help =
         "what decodes the input: auto (also: yes) takes the GPU's decoder where pictures are computed on an NVIDIA "
         "GPU that decodes the codec, and software elsewhere; no leaves all to software; with nvdec (also: cuda) it is "
         "an error if the GPU cannot (default: auto)"},
    {"deinterlace", 0, OPTION_CHOICE, GROUP_INPUT, LIVE | RENDER, NULL, "auto|yes|no", AT(deinterlace),
     .help =
         "make whole pictures of interlaced video, so that what moves has no combs; auto: in render alone, since it "
         "shows each picture one later (default: auto)"},
    {"tone-map", 0, OPTION_CHOICE, GROUP_INPUT, LIVE | RENDER, NULL, "auto|yes|no", AT(tone_map),
     .help = "map HDR video (PQ, HLG) to SDR, whose colours come out pale otherwise; auto: in render alone, since it "
             "takes the processor's time for each frame (default: auto)"},
    {"mask", 0, OPTION_TEXT, GROUP_INPUT, LIVE | RENDER, "FILE", .value = VALUE_FILE, AT(mask),
     .help = "what an inpainting model repaints: where a picture, or a video that runs beside the input, is white; "
             "alpha: where the input itself is transparent"},
    {"control-source", 0, OPTION_TEXT, GROUP_INPUT, ENGINE, "INPUT", .value = VALUE_FILE, AT(control_source),
     .help =
         "a second source, which a --control of KIND@source sees instead of the frame: a file goes along with the "
         "input's times, of a camera, screen or stream there is the newest frame; --start, --duration and --loop are "
         "for both"},
    {"list-devices", 0, OPTION_LIST_DEVICES, GROUP_INPUT, 1u << COMMAND_NONE | LIVE,
     .help = "list cameras with their formats, sizes and rates, which of them --input-size and --input-fps would take, "
             "screens, and inputs of sound"},
    {"input-size", 0, OPTION_SIZE, GROUP_INPUT, LIVE | RENDER | BENCH, "WxH", AT(input_width), .min = 1, .max = 16384,
     .help = "size asked of a camera, screen or the test pattern; sizes may have names, too, as in hd720"},
    {"input-pixels", 0, OPTION_CHOICE, GROUP_INPUT, BENCH, NULL, "yuv420p|nv12|p010", AT(input_pixels),
     .help = "pixel format of the test pattern: software decoders give yuv420p, those in hardware nv12, and p010 of "
             "ten bits (default: yuv420p)"},
    {"input-fps", 0, OPTION_RATE, GROUP_INPUT, ENGINE, "X", AT(input_fps), .min = 0.01, .max = 1000,
     .help = "frame rate asked of a camera, screen or the test pattern; of a picture sequence (default: 25); of "
             "bench --live (default: 60)"},
    {"mirror", 0, OPTION_PARAMETER, GROUP_INPUT, LIVE, .parameter = PARAMETER_MIRROR},
    {"playlist", 0, OPTION_TEXT, GROUP_INPUT, LIVE, "FILE", .value = VALUE_FILE, AT(playlist),
     .help = "file that names sources, one a line, as M3U does; they follow those of the command line"},
    {"still", 0, OPTION_SECONDS, GROUP_INPUT, LIVE, "TIME", AT(still), .min = 0.01, .max = COUNT_MAX,
     .help = "how long a still picture among several sources stays (default: until the next is asked for)"},
    {"loop", 0, OPTION_FLAG, GROUP_INPUT, LIVE, AT(loop),
     .help = "start again at the end of a file, or of a list of sources; a still picture stays anyway"},
    {"start", 0, OPTION_SECONDS, GROUP_INPUT, LIVE | RENDER, "TIME", AT(start), .min = 0, .max = COUNT_MAX,
     .help = "begin so far into the input: seconds, or as in 500ms, 0:02, 1:02:03.5"},
    {"input", 0, OPTION_TEXT, GROUP_INPUT, JOIN, "IN", .value = VALUE_FILE, AT(input),
     .help = "the input that the shards were made of, if it is not where the manifests say; sound, metadata and other "
             "tracks are copied from it"},
    {"warmup", 0, OPTION_LONG, GROUP_INPUT, BENCH | RENDER, "N", AT(warmup), .min = 0, .max = COUNT_MAX,
     .help = "render: frames before --start that are run first, so that the picture knows of them (default: 0); bench: "
             "frames before measuring begins (default: 5; with --live 30)"},
    {"duration", 0, OPTION_SECONDS, GROUP_INPUT, ENGINE, "TIME", AT(duration), .min = 0.001, .max = COUNT_MAX,
     .help = "render so much of the input; live: quit after so long; bench --live: measure for so long (default: 10)"},
    {"source-fade", 0, OPTION_PARAMETER, GROUP_INPUT, LIVE, "SECONDS", .parameter = PARAMETER_SOURCE_FADE},
    {"clip-speed", 0, OPTION_PARAMETER, GROUP_INPUT, LIVE, "N", .parameter = PARAMETER_CLIP_SPEED},
    {"clip-loop", 0, OPTION_PARAMETER, GROUP_INPUT, LIVE, .parameter = PARAMETER_CLIP_LOOP},
    {"fallback", 0, OPTION_TEXT, GROUP_INPUT, LIVE, "FILE", .value = VALUE_FILE, AT(fallback),
     .help = "what is shown, again and again and without sound, while a camera or stream is lost, until it is back"},
    {"fallback-after", 0, OPTION_PARAMETER, GROUP_INPUT, LIVE, "SECONDS", .parameter = PARAMETER_FALLBACK_AFTER},
    {"read-timeout", 0, OPTION_SECONDS, GROUP_INPUT, LIVE, "TIME", AT(read_timeout), .min = 0.05, .max = COUNT_MAX,
     .help = "a stream or camera that gives nothing for so long is lost, and opened again until it is back (default: "
             "2)"},
    {"frames", 0, OPTION_LONG, GROUP_INPUT, ENGINE, "N", AT(frames), .min = 1, .max = COUNT_MAX,
     .help = "stop after so many frames"},
    {"repeat", 0, OPTION_INT, GROUP_INPUT, RENDER, "N", AT(repeat), .min = 1, .max = 10000,
     .help = "render the file, or the picture sequence, so many times in a row, as one input with its sound: times and "
             "numbers of frames go on, and --start, --duration, --range, --frames and --shard count in the whole"},
    {"range", 0, OPTION_RANGE, GROUP_INPUT, RENDER, "A-B[:STEP]", AT(range),
     .help = "take frames A to B of a file, the first of which is number 0, or the pictures of a sequence that have "
             "these numbers in their names, of those every STEP-th: cut as by --start, with the sound; A- goes to the "
             "end"},
    {"shard", 0, OPTION_SHARD, GROUP_INPUT, RENDER, "I/N", AT(shard),
     .help = "make one of N parts, from 1/N to N/N, or frames A-B, each with the same values as in the whole render: a "
             "file OUT.shard-I-of-N without sound, or the pictures of a sequence under their own numbers"},

    {"output-format", 0, OPTION_TEXT, GROUP_OUTPUT, RENDER, "NAME", AT(output_format),
     .help = "FFmpeg muxer or file extension, such as mkv, nut, mpegts or yuv4mpegpipe (default: by OUT's extension; "
             "matroska for -, flv for rtmp://, mpegts for other streams)"},
    {"fps", 0, OPTION_RATE, GROUP_OUTPUT, RENDER, "X", AT(fps), .min = 0.01, .max = 1000,
     .help =
         "constant rate of OUT, as in 25, 29.97 or 24000/1001: at each of its moments the frame that IN shows then, so "
         "that frames are repeated, or left out and not made; sound and length stay (default: IN's times)"},
    {"beside", 0, OPTION_FLAG, GROUP_OUTPUT, RENDER, AT(beside),
     .help = "put IN's frame and the picture side by side, in an OUT of double width"},
    {"no-sound", 0, OPTION_FLAG, GROUP_OUTPUT, RENDER | JOIN, AT(no_sound),
     .help = "write the pictures alone, without IN's sound; join then does without IN"},
    {"sound-track", 0, OPTION_INT, GROUP_OUTPUT, RENDER, "N", AT(sound_track), .min = 1, .max = 1000,
     .help = "copy this track of IN's sound alone, counted from 1 (default: all of them)"},
    {"codec", 'c', OPTION_TEXT, GROUP_OUTPUT, LIVE | RENDER, "NAME", AT(codec),
     .help = "FFmpeg encoder or codec, such as libx264, hevc, ffv1 (default: H.264 where the container takes it)"},
    {"quality", 0, OPTION_REAL, GROUP_OUTPUT, LIVE | RENDER, "X", AT(quality), .min = 0, .max = 63,
     .help = "the encoder's quality scale, lower is better; for H.264 the CRF (default: 18), for WebP, JPEG XL and "
             "Theora from 0, the best, to 63"},
    {"crf", 0, OPTION_REAL, GROUP_OUTPUT, LIVE | RENDER, "X", AT(quality), .min = 0, .max = 63,
     .help = "the same as --quality"},
    {"output-size", 0, OPTION_OUTPUT_SIZE, GROUP_OUTPUT, RENDER, "source|WxH", AT(output_width), .min = 1, .max = 16384,
     .help = "size of the pictures in OUT: IN's, or any other, to which what the model makes at --size is scaled "
             "(default: as the model makes them); --fit then says how IN comes into the shape of OUT"},
    {"encoder-options", 0, OPTION_TEXT, GROUP_OUTPUT, LIVE | RENDER, "K=V:K=V", AT(encoder_options),
     .help = "options of the encoder, as FFmpeg names them: preset=slow:tune=film, profile=dnxhr_hq, or b=8M, a bit "
             "rate, in place of --quality; they win over those that the program sets"},
    {"pixel-format", 0, OPTION_TEXT, GROUP_OUTPUT, LIVE | RENDER, "NAME", AT(pixel_format),
     .help = "pixels that the encoder gets, as FFmpeg names them, such as yuv444p or yuv422p10le (default: yuv420p "
             "where it takes that, or RGB)"},
    {"progress", 0, OPTION_CHOICE, GROUP_OUTPUT, RENDER | JOIN, NULL, "auto|none|percent|json|openjd", AT(progress),
     .help =
         "how far the render, or the join, is: auto, a bar on a terminal and elsewhere a line a minute; or lines for "
         "programs, on "
         "standard output (standard error where OUT is that): percent (NN%), json, openjd (default: auto; none with "
         "-q)"},
    {"resume", 0, OPTION_FLAG, GROUP_OUTPUT, RENDER, AT(resume),
     .help = "go on from OUT.part, which a render with the same options left that was interrupted or killed; begin if "
             "there is none"},
    {"skip-existing", 0, OPTION_FLAG, GROUP_OUTPUT, RENDER, AT(skip_existing),
     .help = "leave pictures of a sequence, and files, that are there already and whole; one of another size, or that "
             "says that it was made with other values, ends the render (with -y it is made again)"},
    {"yes", 'y', OPTION_FLAG, GROUP_OUTPUT, LIVE | RENDER | JOIN | BENCH, AT(overwrite),
     .help = "overwrite OUT, a FILE of live's --record and --to, or of bench's --json, without asking"},
    {"record", 0, OPTION_TEXT, GROUP_OUTPUT, LIVE, "FILE", .value = VALUE_FILE, AT(record),
     .help = "record what is shown from the first picture on, each picture at the time it was shown; the key R ends "
             "that, and begins a recording that is named after the time, in the folder of snapshots"},
    {"record-sound", 0, OPTION_TEXT, GROUP_OUTPUT, LIVE, "INPUT", .value = VALUE_FILE, AT(record_sound),
     .help = "the sound of recordings: source, that of what is shown (default); none; or an input as --sound takes it, "
             "as in pulse:default, a microphone, which is recorded as it was heard when the pictures were captured, "
             "in pauses, too, and silent while it is away"},
    {"to", 0, OPTION_TEXTS, GROUP_OUTPUT, LIVE, "URL", AT(to), .value = VALUE_FILE,
     .help =
         "send what is shown there, too: udp://, srt://, rtmp://, tcp://, http://, a pipe, - for standard output, all "
         "at a constant rate and tried again while nobody is there; pipewire:NAME, a camera for programs of the "
         "desktop; /dev/videoN, a loopback camera; or a file, which is recorded to; several times"},

    {"json", 0, OPTION_TEXT, GROUP_BENCH, BENCH, "FILE", .value = VALUE_FILE, AT(json),
     .help = "write the figures as JSON, to standard output for -"},
    {"live", 0, OPTION_FLAG, GROUP_BENCH, BENCH, AT(live),
     .help = "measure the window: frames that carry a marker are read back from it, so that what is counted is what a "
             "user sees, from capture to engine, picture and screen, with misses, drops, and the pictures until a new "
             "prompt is visible"},
    {"profile", 0, OPTION_FLAG, GROUP_BENCH, BENCH, AT(profile),
     .help = "say where the time of a frame goes, op by op, in place of frame rates; --frames sets how often each is "
             "measured"},
    {"sweep", 0, OPTION_CHOICE, GROUP_BENCH, BENCH, NULL, "none|size|steps|batch", AT(sweep),
     .help =
         "the time of a frame over its size, its steps or the frames of a run in place of frame rates, beside what its "
         "arithmetic alone would take"},
    {"steadiness", 0, OPTION_FLAG, GROUP_BENCH, BENCH, AT(steadiness),
     .help = "measure how steady pictures are from frame to frame, in place of frame rates: in clips of known motion "
             "made of the first frame of each CLIP, and in the CLIPs (default: the sample clip); pictures are 256x256 "
             "without --size, and --frames sets how many of each CLIP are taken (default: 24)"},
    {"trace", 0, OPTION_TEXT, GROUP_BENCH, BENCH, "FILE", .value = VALUE_FILE, AT(trace),
     .help = "write what capture, upload, graph and output did when, frame by frame, for chrome://tracing or "
             "ui.perfetto.dev"},
    {"report", 0, OPTION_TEXT, GROUP_BENCH, BENCH, "FILE", .value = VALUE_FILE, AT(report),
     .help = "write the figures as an HTML page with plots that needs no other file; on a GPU also its clocks, and how "
             "long "
             "each kernel took that could do a layer, which is measured anew for it"},
    {"save", 0, OPTION_TEXT, GROUP_BENCH, BENCH, "FILE", .value = VALUE_FILE, AT(save),
     .help = "keep the figures in a file for --compare, beside what is printed"},
    {"compare", 0, OPTION_TEXT, GROUP_BENCH, BENCH, "FILE", .value = VALUE_FILE, AT(compare),
     .help = "say what has changed since a report that --save or --json wrote, row by row, and what chance alone "
             "changes"},

    {"budget", 'b', OPTION_BUDGET, GROUP_WINDOW, LIVE, "MS|display", AT(budget_ms), .min = 0.1, .max = 60000,
     .help = "time a frame may take, or as long as the display shows one: where frames are late the picture becomes "
             "smaller, then of fewer steps, and comes back when there is room; frames that would be late are left out, "
             "and the figures count pictures that were (default: none)"},
    {"budget-floor", 0, OPTION_SIZE, GROUP_WINDOW, LIVE, "WxH", AT(budget_floor_width), .min = 16, .max = 8192,
     .help = "the budget leaves the picture as many pixels as this has (default: a quarter of those asked for)"},
    {"fade", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "SECONDS", .parameter = PARAMETER_FADE},
    {"show-file", 0, OPTION_TEXT, GROUP_WINDOW, LIVE, "FILE", .value = VALUE_FILE, AT(show_file),
     .help = "a show: options, sources, values, keys and presets, which the key V saves there; what the command line "
             "gives counts before it"},
    {"trust-show", 0, OPTION_FLAG, GROUP_WINDOW, LIVE, AT(trust_show),
     .help = "the show file may name files outside its folder, devices and addresses, and set all options"},
    {"presets", 0, OPTION_TEXT, GROUP_WINDOW, LIVE, "FILE", .value = VALUE_FILE, AT(presets),
     .help = "JSON file of named sets of values, or a picture that s has saved, which holds one: a and A step through "
             "them, S adds what is set now; read again when it changes, and made by S where it is not there"},
    {"tempo", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "BPM", .parameter = PARAMETER_TEMPO},
    {"tempo-from", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, .parameter = PARAMETER_TEMPO_FROM},
    {"bar-beats", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "N", .parameter = PARAMETER_BAR_BEATS},
    {"preset-fade", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "SECONDS", .parameter = PARAMETER_PRESET_FADE},
    {"preset-at", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, .parameter = PARAMETER_PRESET_AT},
    {"saved-preset", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "N", .parameter = PARAMETER_SAVED_PRESET,
     .help = "begin with that preset of the file"},
    {"script", 0, OPTION_TEXT, GROUP_PICTURE, LIVE | RENDER, "FILE", .value = VALUE_FILE, AT(script),
     .help =
         "plays values by time, as lines of JSON: see SCRIPTS. In live the time is that since the engine was open, in "
         "render that since the first frame, and what needs another size, step count or file stays as it begins"},
    {"script-loop", 0, OPTION_FLAG, GROUP_WINDOW, LIVE, AT(script_loop), .help = "plays the script again at its end"},
    {"record-script", 0, OPTION_TEXT, GROUP_WINDOW, LIVE, "FILE", .value = VALUE_FILE, AT(record_script),
     .help = "writes all that is set while the window runs, so that --script plays it again; where the program has to "
             "start itself anew, what follows goes into another file, which begins at time 0 with all values"},
    {"fullscreen", 'f', OPTION_ON, GROUP_WINDOW, LIVE, .parameter = PARAMETER_FULLSCREEN},
    {"window", 0, OPTION_SIZE, GROUP_WINDOW, LIVE | BENCH, "WxH", AT(window_width), .min = 16, .max = 16384,
     .help = "size of the window"},
    {"display", 0, OPTION_TEXT, GROUP_WINDOW, LIVE, "N|NAME", AT(display),
     .help =
         "display the picture is shown on: its number, from 0, or its name or part of it (default: 0, with --operator "
         "1)"},
    {"operator", 0, OPTION_ON, GROUP_WINDOW, LIVE | BENCH, .parameter = PARAMETER_OPERATOR},
    {"output-fit", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, .parameter = PARAMETER_OUTPUT_FIT},
    {"output-zoom", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "X", .parameter = PARAMETER_OUTPUT_ZOOM},
    {"output-rotation", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, "DEGREES", .parameter = PARAMETER_OUTPUT_ROTATION},
    {"output-flip", 0, OPTION_PARAMETER, GROUP_WINDOW, LIVE, .parameter = PARAMETER_OUTPUT_FLIP},
    {"test-card", 0, OPTION_ON, GROUP_WINDOW, LIVE, .parameter = PARAMETER_TEST_CARD},
    {"no-hud", 0, OPTION_OFF, GROUP_WINDOW, LIVE, .parameter = PARAMETER_HUD,
     .help = "start without the figures on the picture"},
    {"split", 0, OPTION_ON, GROUP_WINDOW, LIVE, .parameter = PARAMETER_SPLIT,
     .help = "start with before and after side by side"},
    {"snapshot-dir", 0, OPTION_TEXT, GROUP_WINDOW, LIVE, "DIR", .value = VALUE_DIR, AT(snapshot_dir),
     .help = "where snapshots go (default: the working directory)"},

    {"ipc", 0, OPTION_TEXT, GROUP_REMOTE, LIVE, "SOCKET", .value = VALUE_FILE, AT(ipc),
     .help = "a Unix socket, for this user alone, at which other programs read, set and observe every parameter by "
             "lines of JSON in mpv's form"},
    {"osc", 0, OPTION_TEXT, GROUP_REMOTE, LIVE | BENCH, "[HOST:]PORT", AT(osc),
     .help = "listen to OSC messages: /reverie/strength 0.5, /reverie/prompt/2 TEXT, /reverie/command/new-seed; "
             "without HOST only those of this machine (0.0.0.0: of all that reach it)"},
    {"osc-to", 0, OPTION_TEXTS, GROUP_REMOTE, LIVE, "[HOST:]PORT", AT(osc_to),
     .help = "send OSC messages of all values, of each that changes, and of the figures; several times"},
    {"midi", 0, OPTION_TEXT, GROUP_REMOTE, LIVE | BENCH, "SOURCE", .value = VALUE_FILE, AT(midi), .optional = true,
     .help = "MIDI knobs and pads set what they have learnt to (key u, then move one): from a port of ALSA's sequencer "
             "that others connect to, from one of its ports by name or number, or from a raw device, file or named "
             "pipe, as in --midi=/dev/snd/midiC1D0"},
    {"midi-out", 0, OPTION_TEXT, GROUP_REMOTE, LIVE, "TARGET", .value = VALUE_FILE, AT(midi_out), .optional = true,
     .help = "send the values of what MIDI knobs and pads set back to them, as they change: to motor faders and lights "
             "of pads; at a port of ALSA's sequencer that others connect to, to one of its ports by name or number, or "
             "to a raw device or named pipe, as in --midi-out=/dev/snd/midiC1D0"},
    {"sound", 0, OPTION_TEXT, GROUP_REMOTE, LIVE | BENCH, "INPUT", .value = VALUE_FILE, AT(sound),
     .help =
         "what --modulate and --tempo-from sound follow: source, the sound of what is shown, in step with its "
         "pictures; or an input of "
         "FFmpeg's: pulse:default, alsa:hw:0 (see --list-devices), a URL, or a file, which is heard at its own pace, "
         "again and again; nobody else hears it"},
    {"modulate", 0, OPTION_TEXTS, GROUP_REMOTE, LIVE | BENCH, "P=V*X[~S]", AT(modulate),
     .help = "what the sound of --sound moves: adds up to X to the parameter P, within its range, as V says: level, "
             "bass, mid or treble, against the loudest of late, beat, which falls from 1 after each, or onset, which "
             "is 1 for --onset-hold after any sound sets in; smoothed over "
             "S seconds; as in strength=bass*0.3~0.2; the value that is set stays as it is; several times"},
    {"sound-bass", 0, OPTION_PARAMETER, GROUP_REMOTE, LIVE, "HZ", .parameter = PARAMETER_SOUND_BASS},
    {"sound-treble", 0, OPTION_PARAMETER, GROUP_REMOTE, LIVE, "HZ", .parameter = PARAMETER_SOUND_TREBLE},
    {"onset-hold", 0, OPTION_PARAMETER, GROUP_REMOTE, LIVE, "SECONDS", .parameter = PARAMETER_ONSET_HOLD},
    {"lfo", 0, OPTION_LFO, GROUP_REMOTE, LIVE | BENCH, "P=W*X@T", .parameter = PARAMETER_LFO,
     .help = "a wave that moves the parameter P by up to X to either side of its value, within its range; W is sine, "
             "triangle, saw, square or random; T, with b or s behind it, is how many beats or seconds it takes; "
             "+PHASE may follow, 0 to 1; as in strength=sine*0.2@4b+0.25; up to four times"},
    {"web", 0, OPTION_TEXT, GROUP_REMOTE, LIVE | BENCH, "[HOST:]PORT", AT(web), .optional = true,
     .help = "a page with the same controls and the picture, for a browser on this machine (port 8080), or with "
             "--web=0.0.0.0:8080 for others on its network, who need the token in the address that is printed"},

    {"no-config", 0, OPTION_FLAG, GROUP_GENERAL, LIVE, AT(no_config),
     .help = "leave reverie.conf, keys.conf and displays.json unread, which are in reverie in XDG_CONFIG_HOME "
             "(~/.config): options as here, one a line without --, keys, and where displays show the picture; a switch "
             "that is on there is turned off with =no, as in --fullscreen=no"},
    {"verbose", 'v', OPTION_VERBOSE, GROUP_GENERAL, ALL, .help = "say more; twice: much more"},
    {"quiet", 'q', OPTION_QUIET, GROUP_GENERAL, ALL, .help = "say nothing but errors"},
    {"help", 'h', OPTION_HELP, GROUP_GENERAL, ALL, .help = "show help, also of one command"},
    {"version", 0, OPTION_VERSION, GROUP_GENERAL, ALL, .help = "show the version; with -v also what it was built with"},
    {"generate", 0, OPTION_GENERATE, GROUP_GENERAL, ALL, NULL, "man|bash|zsh|fish|models"},
};
const int option_count = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= OPTIONS_MAX, "the parser keeps a bool a row");

const struct command_text command_table[] = {
    {COMMAND_LIVE, "live", "[SOURCE...]", "show a camera, screen or video restyled in a window",
     "SOURCE is a file or URL that FFmpeg opens, a camera (/dev/video0), a screen (screen, or :0.0+100,100 for what "
     "lies "
     "right of and below that), a filter graph (lavfi:testsrc2), what another program of the desktop offers "
     "(pipewire:NAME), pattern, or - for standard input; the spellings of ffmpeg and mpv are taken (x11grab::0.0, "
     "v4l2:/dev/video0, av://lavfi:testsrc2, tv://). Without it the first "
     "camera is taken, or the sample clip where there is none. Of several the first is shown; at a file's end, and "
     "with "
     "the key g, the next one is, which is open by then. A file dropped on the window is the next source at once. "
     "The newest frame is always the one shown; what comes in between is skipped and counted.",
     0, FILES_MAX},
    {COMMAND_RENDER, "render", "IN... OUT", "restyle video files frame by frame into others",
     "Every frame of IN (a video, a picture sequence such as f%04d.png, - for standard input) is rendered and keeps "
     "its timestamp; sound is copied. The pixels of OUT are square; where those of IN are not, its shape is the one it "
     "is meant to be seen in. OUT's extension chooses the container. - is standard output (reverie render IN - | mpv "
     "-), and URLs that FFmpeg can write are streamed to (udp://, rtmp://, srt://, tcp://), those that are watched "
     "live no faster than they are to be seen. null: throws the frames away and hash:FILE (hash:- for standard output) "
     "writes a checksum a frame. An OUT that exists is asked about on a terminal and refused elsewhere, unless -y is "
     "given. Ctrl-C ends with a playable file of the frames so far, a second one at once. Several INs, or a glob that "
     "is quoted ('shots/*.mp4'), are rendered one after the other, with the model loaded once: OUT then has {name} in "
     "it, which stands for IN's name without folder and extension, or {number}.",
     2, 1 + FILES_MAX},
    {COMMAND_JOIN, "join", "OUT [SHARD...]", "put the shards of a render together",
     "Joins what render --shard made, each SHARD with its manifest SHARD.json beside it, into the file that one render "
     "would have made. Without SHARD all OUT.shard-* beside OUT are taken; a shell's glob may give them in any order. "
     "Pictures are copied as they are, sound and other tracks come from the input once. Shards of other options, "
     "models or encoders are refused, and what is missing is named; a line says where devices or drivers differ. The "
     "shards stay. The pictures of a sequence need no joining.",
     1, 1 + FILES_MAX},
    {COMMAND_BENCH, "bench", "[CLIP...]", "measure frame rate and latency",
     "Renders a built-in moving pattern and prints how long frames take: the engine alone, and the whole way from "
     "source to sink; with --live, from capture to what the window presents. CLIP of --live is a file whose frames "
     "carry "
     "markers (tests/marked_clip.c of the sources makes them): it is decoded and shown again and again in place of the "
     "pattern, and a frame counts as captured when it is due. CLIPs of --steadiness are any sources, pictures, too.",
     0, FILES_MAX},
    {COMMAND_INFO, "info", "[MODEL]", "say what a checkpoint contains, and which models and devices there are",
     "MODEL is a checkpoint: a name, a folder or one file; of another file it says what that is. Without MODEL it says "
     "this of the built-in mini model, and lists the models that can be given by name. Tried with --size, --steps and "
     "--guidance, it also says how much memory a frame needs on the device, and whether it fits. -v lists every "
     "tensor.",
     0, 1},
    {COMMAND_FETCH, "fetch", "REPO [FILE...]", "get a model from Hugging Face's hub, to be given by its name",
     "REPO is ORG/NAME, or ORG/NAME@REVISION, as the hub's pages call it. Of a model in diffusers' layout the files "
     "that "
     "reverie reads are fetched: configs, tokenizers, and the half-precision weights where there are some, else the "
     "plain "
     "ones. Of a repository with several files of weights, say which: FILE. Pickles are never fetched. The model comes "
     "into reverie/models/ORG/NAME in XDG_DATA_HOME, and --model ORG/NAME finds it there. Each file is checked by its "
     "checksum before it takes its name; after Ctrl-C or a lost connection the same command goes on where it was. "
     "HF_TOKEN, or the token of `hf auth login`, is sent to the hub alone; HF_ENDPOINT names another hub, and proxies "
     "are "
     "those of https_proxy and its kin.",
     1, 1 + FETCH_FILES_MAX},
};
const int command_count = sizeof command_table / sizeof *command_table;

const char *const option_group_titles[GROUPS] = {
    [GROUP_PICTURE] = "Picture",       [GROUP_DEVICE] = "Device",   [GROUP_INPUT] = "Input",
    [GROUP_OUTPUT] = "Output",         [GROUP_BENCH] = "Figures",   [GROUP_WINDOW] = "Window",
    [GROUP_REMOTE] = "Remote control", [GROUP_GENERAL] = "General",
};

const char *option_choices(const struct option *option) {
  bool of_parameter = option->kind == OPTION_PARAMETER || option->kind == OPTION_LAYERS;
  return of_parameter ? parameter_row(option->parameter)->choices : option->choices;
}

bool option_is_switch(const struct option *option) {
  return option->kind == OPTION_FLAG || option->kind == OPTION_ON || option->kind == OPTION_OFF;
}

bool option_is_hidden(const struct option *option) {
  return !option->help && option->parameter == PARAMETER_NONE;
}

/* Returns the words with which a parameter's help describes its default; "": the help does not describe it. `words`, of
 * `size` bytes, is a buffer that the result may use. */
static const char *default_words(enum parameter id, char *words, size_t size) {
  struct parameters values;
  const struct parameter_row *row = parameter_row(id);
  if (row->from)
    return row->from;
  parameters_init(&values);
  return parameters_print(&values, id, row->first, words, size);
}

const char *option_help(const struct option *option, char help[OPTION_HELP_MAX]) {
  char words[64];
  if (option->help || option->parameter == PARAMETER_NONE)
    return option->help;
  const char *standard = default_words(option->parameter, words, sizeof words);
  snprintf(help, OPTION_HELP_MAX, *standard ? "%s (default: %s)" : "%s", parameter_row(option->parameter)->help,
           standard);
  return help;
}
