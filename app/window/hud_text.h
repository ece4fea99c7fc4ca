/* Writes the text of the overlay's panels. A byte of enum tone in the text is a mark: it switches the colour of what
 * follows. Nothing here draws, so that tests can read the text. */
#ifndef APP_WINDOW_HUD_TEXT_H
#define APP_WINDOW_HUD_TEXT_H

#include <stddef.h>

#include "app/window/hud.h"

enum tone { TONE_PLAIN = 1, TONE_DIM, TONE_ALERT, TONE_TITLE, TONES };

enum { HUD_TEXT_MAX = 8192 };

/* Each of these functions writes "" if there is nothing to show. text holds HUD_TEXT_MAX bytes. */
void hud_figures_text(char *text, const struct hud_content *content);
void hud_notice_text(char *text, const struct hud_content *content);
/* Breaks lines that are longer than this many columns, at a space if they have one. */
void hud_text_fold(char *text, int columns);
/* Breaks lines of figures that are longer than this many columns. It breaks them between two figures, so that no figure
 * is cut. */
void hud_text_fold_figures(char *text, int columns);
/* Writes a line for each command that has a label. */
void hud_help_text(char *text, const struct hud_content *content);
/* Writes a line for each alert with its reason if they fit into this many lines. Otherwise a line of at most `columns`
 * holds several alerts, without reasons, and if that is still too much also without times. Returns the number of
 * lines. */
int hud_alerts_text(char *text, const struct hud_content *content, int columns, int lines);
/* Keeps one page of the text, number `page` from 0, and adds a line with its number. A page has `lines` lines, in as
 * many columns of text side by side as fit into a width of `width` characters. Returns the number of pages; a text of
 * one page stays as it is. */
int hud_text_page(char *text, int page, int width, int lines);
/* Characters between two columns of text that are side by side. */
enum { HUD_COLUMN_GAP = 2 };
/* Stores the number of lines and the columns of the longest one. */
void hud_text_measure(const char *text, int *lines, int *columns);
/* Returns the beginning of the next line, or the text's end. */
const char *hud_text_next_line(const char *text);
/* Writes one line for each row: '>' if the row is selected, or a space; the length of its bar in thousandths in 4
 * characters (-1: it has no bar); its name in HUD_NAME_COLUMNS; its value. */
void hud_list_text(char *text, const struct hud_content *content);
/* Writes the label, cursor and text of the line that the user is typing. */
void hud_line_text(char *text, const struct hud_content *content);

#endif
