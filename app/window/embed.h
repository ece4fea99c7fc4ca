/* Files that the build compiles into the program (embed.sh): the shaders as C strings, and the files of the built-in
 * fonts: `font` is monospaced, `letters` proportional. */
#ifndef APP_WINDOW_EMBED_H
#define APP_WINDOW_EMBED_H

extern const char embed_present_vert[], embed_picture_frag[], embed_bicubic_frag[], embed_input_frag[];
extern const char embed_text_vert[], embed_text_frag[];
extern const unsigned char embed_font[], embed_font_end[];
extern const unsigned char embed_letters[], embed_letters_end[];

#endif
