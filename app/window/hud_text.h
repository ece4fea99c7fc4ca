/* What the overlay's panels say, as text with marks: a byte of enum tone switches the colour of what follows. Knows
 * nothing of drawing, so that tests can read it. */
#ifndef APP_WINDOW_HUD_TEXT_H
#define APP_WINDOW_HUD_TEXT_H

#include <stddef.h>

#include "app/window/hud.h"

enum tone { TONE_PLAIN = 1, TONE_DIM, TONE_ALERT, TONE_TITLE, TONES };

enum { HUD_TEXT_MAX = 8192 };

/* Each writes "" where there is nothing to show. text holds HUD_TEXT_MAX bytes. */
void hud_figures_text(char *text, const struct hud_content *content);
void hud_notice_text(char *text, const struct hud_content *content);
/* Breaks lines that are longer than so many columns, at spaces where they have some. */
void hud_text_fold(char *text, int columns);
/* Breaks lines of figures that are longer than so many columns between two figures, so that none is cut. */
void hud_text_fold_figures(char *text, int columns);
void hud_help_text(char *text, const struct hud_content *content);
/* A line for each alert with its reason, where there are no more than so many lines; else several in a line, without
 * reasons, then without their times, of at most so many columns. Returns how many lines they take. */
int hud_alerts_text(char *text, const struct hud_content *content, int columns, int lines);
/* Leaves of a text that page, from 0, which has room for so many lines in one or more columns so many characters wide
 * altogether, and under it which one it is. Returns how many pages there are; of more than one each is as long. */
int hud_text_page(char *text, int page, int width, int lines);
/* Between columns of lines that lie side by side. */
enum { HUD_COLUMN_GAP = 2 };
void hud_text_measure(const char *text, int *lines, int *columns);
const char *hud_text_next_line(const char *text);
/* A line a row: '>' where it is chosen, what is filled of its bar in thousandths (-1: it has none) in 4 characters, its
 * name in HUD_NAME_COLUMNS, its value. */
void hud_list_text(char *text, const struct hud_content *content);
/* What the line that is typed looks like, all of it. */
void hud_line_text(char *text, const struct hud_content *content);

#endif
