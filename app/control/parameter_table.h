/* The table of parameters, with a row for each. The ids (enum parameter), the fields of struct parameters and the
 * entries that parameter_row returns are made from this table, in the order of the rows. The command line and clients
 * list parameters in this order; windows and pages have the order of app/control/parameter_order.h.
 *
 * A row is TYPE(ID, NAME, NEED, GROUP, LABEL, FIELD, ...): PARAMETER_ID; the name that users type; what must be done
 * before a change has an effect (NEED_...); the group under which windows and pages list the parameter
 * (PARAMETER_GROUP_...), and the name that they show; the field of struct parameters; and other members of struct
 * parameter_row by their names. FIELD is ONE(field), or EACH(field, COUNT) for instances 1 to COUNT, whose NAME and
 * LABEL have [] instead of the number.
 *
 * The rows that frames and their preparation need are in unet/base/frame_parameters.h and come first; the rows of this
 * file are the program's own. If FRAME_ROWS_ALONE is defined, the table has only the rows of frame_parameters.h.
 *
 * This file is included once for each thing that is made from the table. Before each inclusion, a macro is defined for
 * each type of row that is wanted: TEXT, SIZE, REAL, WHOLE, CHOICE and SWITCH, or PARAMETER(TYPE, ...) for all of them.
 * Rows of other types expand to nothing. */
#ifdef PARAMETER
#define TEXT(...) PARAMETER(TEXT, __VA_ARGS__)
#define SIZE(...) PARAMETER(SIZE, __VA_ARGS__)
#define REAL(...) PARAMETER(REAL, __VA_ARGS__)
#define WHOLE(...) PARAMETER(WHOLE, __VA_ARGS__)
#define CHOICE(...) PARAMETER(CHOICE, __VA_ARGS__)
#define SWITCH(...) PARAMETER(SWITCH, __VA_ARGS__)
#endif
#ifndef TEXT
#define TEXT(...)
#endif
#ifndef SIZE
#define SIZE(...)
#endif
#ifndef REAL
#define REAL(...)
#endif
#ifndef WHOLE
#define WHOLE(...)
#endif
#ifndef CHOICE
#define CHOICE(...)
#endif
#ifndef SWITCH
#define SWITCH(...)
#endif
#ifndef ONE
#define ONE(field) field
#define EACH(field, count) field[count]
#endif

#include "unet/base/frame_parameters.h"

#ifndef FRAME_ROWS_ALONE
WHOLE(SOURCE, "source", NOTHING, SOURCE, "Source", ONE(source), .min = 1, .max = PLAYLIST_MAX, .low = 1, .high = 9,
      .standard = 1, .help = "which source of several is shown")
REAL(CLIP_POSITION, "clip-position", NOTHING, SOURCE, "Clip position", ONE(clip_position), .max = 1e6, .low = 0,
     .high = 600, .decimals = 1, .unit = "seconds",
     .help = "place in the file that is shown, from its beginning or --start; it changes with each second, and another "
             "value goes there")
REAL(CLIP_TIME_LEFT, "clip-time-left", NOTHING, SOURCE, "Time left", ONE(clip_time_left), .max = 1e6, .low = 0,
     .high = 600, .decimals = 1, .unit = "seconds",
     .help = "time until that file ends; 0: the source has no end; another value goes to so long before it")
REAL(CLIP_IN, "clip-in", NOTHING, SOURCE, "Clip in", ONE(clip_in), .max = 1e6, .low = 0, .high = 600, .decimals = 2,
     .unit = "seconds", .help = "place in that file where it begins")
REAL(CLIP_OUT, "clip-out", NOTHING, SOURCE, "Clip out", ONE(clip_out), .max = 1e6, .low = 0, .high = 600, .decimals = 2,
     .unit = "seconds", .help = "place in that file where it ends; 0, or a place not behind clip-in: its own end")
REAL(
    CLIP_SPEED, "clip-speed", NOTHING, SOURCE, "Clip speed", ONE(clip_speed), .min = 0.1, .max = 8, .low = 0.25,
    .high = 2, .standard = 1, .decimals = 2,
    .help = "how fast files are played; 1: as they were made. Their sound goes with it, lower or higher, in recordings")
/* The choices of the parameter clip-loop have the order of enum clip_loop. */
CHOICE(
    CLIP_LOOP, "clip-loop", NOTHING, SOURCE, "Clip's end", ONE(clip_loop), .choices = "list|loop|hold",
    .help = "what follows when a file ends: the list's next source, the file again, or its last picture, which stays")
WHOLE(CUED_SOURCE, "cued-source", NOTHING, SOURCE, "Source cued", ONE(cued_source), .max = PLAYLIST_MAX, .low = 0,
      .high = 9, .help = "which source comes next, at the end of the file that is shown; 0: none is cued")
REAL(FALLBACK_AFTER, "fallback-after", NOTHING, SOURCE, "Fallback after", ONE(fallback_after), .max = 3600, .low = 0,
     .high = 30, .standard = 3, .decimals = 1, .unit = "seconds",
     .help = "how long a camera or stream is lost until the file of --fallback comes in its place")
REAL(SOURCE_FADE, "source-fade", NOTHING, SOURCE, "Source fade", ONE(source_fade), .max = 60, .low = 0, .high = 10,
     .decimals = 1, .unit = "seconds", .help = "within how long another source, or another place in a file, fades in")
/* The choices of the parameter mirror have the order of enum mirror_wish. */
CHOICE(MIRROR, "mirror", NOTHING, SOURCE, "Mirror", ONE(mirror), .choices = "auto|on|off",
       .help = "the source as a mirror shows it, from its next frame on; auto: cameras are, capture "
               "cards, screens and files are not")
SWITCH(PAUSE, "pause", NOTHING, SOURCE, "Pause", ONE(pause), .help = "no new frames are taken")
SWITCH(RECORDING, "recording", NOTHING, OUTPUT, "Record", ONE(recording),
       .help = "what is shown is recorded, each picture at its time")
SWITCH(FREEZE, "freeze", NOTHING, OUTPUT, "Freeze", ONE(freeze), .order = 1,
       .help = "the picture shown stays, while the engine goes on")
SWITCH(BYPASS, "bypass", NOTHING, OUTPUT, "Bypass", ONE(bypass), .order = 3,
       .help = "the source is shown as it is, past the engine")
SWITCH(BLACKOUT, "blackout", NOTHING, OUTPUT, "Black", ONE(blackout), .order = 2, .help = "the picture is black")
REAL(FADE, "fade", NOTHING, OUTPUT, "Fade", ONE(fade), .rank = 15, .order = 5, .max = 60, .standard = 0.3,
     .decimals = 1, .unit = "seconds", .low = 0, .high = 5,
     .help = "how long blackout and bypass take to come and go, and a freeze to go")
WHOLE(SAVED_PRESET, "saved-preset", NOTHING, SCENE, "Scene", ONE(saved_preset), .max = 9999, .high = 64, .from = "0",
      .help = "which preset of the file of --presets was taken last; another number takes "
              "that one")
TEXT(SCENE, "scene", NOTHING, SCENE, "Scene's name", ONE(scene),
     .help = "name of the preset of the file of --presets that was taken last; another name takes that one")
REAL(TEMPO, "tempo", NOTHING, TEMPO, "Tempo", ONE(tempo), .max = 400, .low = 60, .high = 180, .decimals = 2,
     .unit = "beats per minute", .from = "",
     .help =
         "tempo of the beat, in beats a minute, until something else sets it: the key T, tapped on the beat, a MIDI "
         "clock, or --tempo-from sound; 0: there is none, and nothing beats")
/* The choices of the parameter tempo-from have the order of enum tempo_from. */
CHOICE(TEMPO_FROM, "tempo-from", NOTHING, TEMPO, "Tempo from", ONE(tempo_from), .choices = "hand|midi|sound",
       .standard = 1,
       .help = "what sets tempo and beat, beside taps and values that are set: nothing else, a MIDI clock "
               "while there is one, or the onsets of --sound")
WHOLE(BAR_BEATS, "bar-beats", NOTHING, TEMPO, "Beats in a bar", ONE(bar_beats), .min = 1, .max = 16, .standard = 4,
      .help = "beats in a bar")
REAL(BEAT, "beat", NOTHING, TEMPO, "Beat", ONE(beat), .max = 1e9, .low = 0, .high = 64, .decimals = 3,
     .help = "number of the beat, from 0; it changes as each beat begins, and a value that is set is that "
             "of this moment")
REAL(BAR_PHASE, "bar-phase", NOTHING, TEMPO, "Bar phase", ONE(bar_phase), .max = 1, .decimals = 3,
     .help = "which part of the bar had passed when the beat began; a value that is set moves the bar, "
             "so that 0 begins one at this moment")
REAL(SOUND_BASS, "sound-bass", NOTHING, SOUND, "Bass below", ONE(sound_bass), .min = 20, .max = 20000, .low = 40,
     .high = 500, .standard = 200, .decimals = 0, .unit = "Hz",
     .help = "the bass of --sound is what lies below this frequency")
REAL(SOUND_TREBLE, "sound-treble", NOTHING, SOUND, "Treble above", ONE(sound_treble), .min = 20, .max = 20000,
     .low = 1000, .high = 8000, .standard = 2500, .decimals = 0, .unit = "Hz",
     .help = "the treble of --sound is what lies above this frequency")
REAL(ONSET_HOLD, "onset-hold", NOTHING, SOUND, "Onset hold", ONE(onset_hold), .max = 10, .low = 0, .high = 1,
     .standard = 0.1, .decimals = 2, .unit = "seconds",
     .help = "how long the onset of --modulate stays 1 after the sound has set in")
TEXT(LFO, "lfo[]", NOTHING, WAVE, "Wave []", EACH(lfo, LFOS_MAX),
     .help = "which parameter a wave moves, as in strength or lora[1].weight; none: that wave rests")
/* The choices of the parameters lfo[].wave and lfo[].unit have the order of enum lfo_wave and enum lfo_unit. */
CHOICE(LFO_WAVE, "lfo[].wave", NOTHING, WAVE, "Wave [] form", EACH(lfo_wave, LFOS_MAX),
       .choices = "sine|triangle|saw|square|random",
       .help = "the form of that wave; random: another value in each period")
REAL(LFO_PERIOD, "lfo[].period", NOTHING, WAVE, "Wave [] period", EACH(lfo_period, LFOS_MAX), .min = 0.01, .max = 10000,
     .low = 0.25, .high = 32, .standard = 4, .decimals = 2, .help = "how many beats or seconds that wave takes")
CHOICE(LFO_UNIT, "lfo[].unit", NOTHING, WAVE, "Wave [] unit", EACH(lfo_unit, LFOS_MAX), .choices = "beats|seconds",
       .help = "what the period of that wave is counted in; by beats, it rests until there is a tempo")
REAL(LFO_PHASE, "lfo[].phase", NOTHING, WAVE, "Wave [] phase", EACH(lfo_phase, LFOS_MAX), .max = 1, .decimals = 2,
     .help = "which part of its period that wave is ahead")
REAL(LFO_AMOUNT, "lfo[].amount", NOTHING, WAVE, "Wave [] amount", EACH(lfo_amount, LFOS_MAX), .min = -1e9, .max = 1e9,
     .low = -1, .high = 1, .standard = 0.25, .decimals = 2,
     .help = "how far that wave moves the parameter to either side of its value")
SWITCH(MODULATION, "modulation", NOTHING, WAVE, "Modulation", ONE(modulation), .standard = 1,
       .help = "whether waves and sound move values")
REAL(PRESET_FADE, "preset-fade", NOTHING, SCENE, "Scene fade", ONE(preset_fade), .rank = 14, .max = 600, .low = 0,
     .high = 30, .decimals = 1, .unit = "seconds",
     .help = "within how long a preset comes that says nothing about that: numbers go evenly, prompts are "
             "blended, and the rest changes at the middle")
/* The choices of the parameter preset-at have the order of enum preset_at. */
CHOICE(PRESET_AT, "preset-at", NOTHING, SCENE, "Scene begins", ONE(preset_at), .choices = "once|beat|bar",
       .help = "when a preset begins to come: at once, or with the next beat or bar")
WHOLE(CUED_PRESET, "cued-preset", NOTHING, SCENE, "Scene cued", ONE(cued_preset), .max = 9999, .high = 64,
      .help = "which preset comes next, by the key K; 0: none is cued")
TEXT(CUED_SCENE, "cued-scene", NOTHING, SCENE, "Cued scene's name", ONE(cued_scene),
     .help = "name of the preset that comes next; another name cues that one, and none cues nothing")
SWITCH(SPLIT, "split", NOTHING, OUTPUT, "Split", ONE(split), .order = 8, .from = "",
       .help = "before and after side by side")
REAL(SPLIT_AT, "split-at", NOTHING, OUTPUT, "Split at", ONE(split_at), .order = 8, .max = 1, .standard = 0.5,
     .decimals = 2, .unit = "picture widths", .help = "left of it is the input")
SWITCH(FULLSCREEN, "fullscreen", NOTHING, OUTPUT, "Full screen", ONE(fullscreen), .order = 8, .from = "",
       .help = "fill the screen")
SWITCH(OPERATOR, "operator", NOTHING, WINDOW, "Operator's window", ONE(with_operator), .from = "",
       .help = "a second window for the operator, with the picture, figures, the prompt line and all "
               "parameters; the other one then has the picture and nothing else, and fills its "
               "display where there are two")
/* The choices of the parameters output-fit and output-flip have the order of enum output_fit and enum output_flip. */
CHOICE(OUTPUT_FIT, "output-fit", NOTHING, OUTPUT, "Window fit", ONE(output_fit), .order = 9,
       .choices = "fit|fill|stretch",
       .help = "how the picture comes into the window: whole, with bars where its shape is another; filling it, cut at "
               "two sides; or stretched. Recordings, --to and snapshots stay as they are")
REAL(OUTPUT_ZOOM, "output-zoom", NOTHING, OUTPUT, "Window zoom", ONE(output_zoom), .order = 9, .min = 0.1, .max = 10,
     .low = 0.5, .high = 2, .standard = 1, .decimals = 3,
     .help = "how large the window shows the picture; 1: as --output-fit says")
REAL(OUTPUT_ROTATION, "output-rotation", NOTHING, OUTPUT, "Window rotation", ONE(output_rotation), .order = 9,
     .min = -360, .max = 360, .low = -180, .high = 180, .decimals = 1, .unit = "degrees",
     .help = "how far the window turns the picture clockwise")
CHOICE(OUTPUT_FLIP, "output-flip", NOTHING, OUTPUT, "Window flip", ONE(output_flip), .order = 9,
       .choices = "no|horizontal|vertical|both",
       .help = "the window as a mirror shows it (horizontal, for projection from behind), or upside down (both)")
REAL(CORNER_X, "corner[].x", NOTHING, OUTPUT, "Corner [] right", EACH(corner_x, OUTPUT_CORNERS), .order = 9, .min = -1,
     .max = 1, .low = -0.5, .high = 0.5, .decimals = 4, .unit = "window widths",
     .help = "how far that corner of the window is moved to the right: 1 is top left, then clockwise")
REAL(CORNER_Y, "corner[].y", NOTHING, OUTPUT, "Corner [] down", EACH(corner_y, OUTPUT_CORNERS), .order = 9, .min = -1,
     .max = 1, .low = -0.5, .high = 0.5, .decimals = 4, .unit = "window heights",
     .help = "how far that corner of the window is moved down")
WHOLE(CORNER_EDIT, "corner-edit", NOTHING, OUTPUT, "Edit corner", ONE(corner_edit), .order = 9, .max = OUTPUT_CORNERS,
      .help = "which corner of the window arrow keys move, while the mouse drags any; 0: none is edited")
SWITCH(TEST_CARD, "test-card", NOTHING, OUTPUT, "Test card", ONE(test_card), .order = 9,
       .help = "a grid with circles and the display's name in the place of the picture")
SWITCH(HUD, "hud", NOTHING, WINDOW, "Figures", ONE(hud), .standard = 1, .help = "the figures on the picture")
SWITCH(PAGE_CODE, "page-code", NOTHING, WINDOW, "Page's code", ONE(page_code),
       .help =
           "the address of the page of --web as a QR code for a phone's camera; it is in the operator's window where "
           "there is one, else on the picture")
SWITCH(HELP, "help", NOTHING, WINDOW, "Help", ONE(help), .help = "what the keys do, on the picture")
TEXT(MIDI_LEARN, "midi-learn", NOTHING, WINDOW, "MIDI learn", ONE(midi_learn),
     .help = "what the next knob of MIDI that is moved sets: a parameter, a command as in "
             "new-seed or prompt=3, or last, the parameter changed last")
#endif

#undef PARAMETER
#undef TEXT
#undef SIZE
#undef REAL
#undef WHOLE
#undef CHOICE
#undef SWITCH
#undef ONE
#undef EACH
#undef FRAME_ROWS_ALONE
