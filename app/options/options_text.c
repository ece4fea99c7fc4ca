/* Writes everything that is derived from the option table: help, man page and shell completions. */
#include "app/control/keys.h"
#include "app/options/options_table.h"

#include <string.h>

static const struct {
  enum status status;
  const char *meaning;
} exit_table[] = {
    {STATUS_OK, "done"},
    {STATUS_FAILED, "failed for a reason without a number of its own"},
    {STATUS_USAGE, "the command line, with what it names for remote control: sockets, ports, MIDI devices"},
    {STATUS_INPUT, "the video, camera or screen that frames come from; render has completed what could be read of it"},
    {STATUS_MODEL, "the checkpoint; fetch: the hub or the way to it, or bytes that came damaged"},
    {STATUS_DEVICE, "the CPU or GPU that runs the network, or its memory"},
    {STATUS_OUTPUT,
     "the file, stream or window that frames go to; fetch: the folder of models, or no room on its disk"},
    {STATUS_INTERRUPTED, "interrupted by Ctrl-C or a signal; what was written is complete so far"},
};
enum { EXITS = sizeof exit_table / sizeof *exit_table };

static const struct {
  const char *name, *meaning;
} environment_table[] = {
    {"REVERIE_DATA_DIR", "folder that holds mini/model and sample.mp4; looked in before all others"},
    {"XDG_DATA_HOME", "models are looked for by name in reverie/models below it (default: ~/.local/share)"},
    {"XDG_CONFIG_HOME", "reverie/reverie.conf and keys.conf are read below it, and what MIDI knobs are bound to is "
                        "kept in midi.json there, where displays show the picture in displays.json "
                        "(default: ~/.config)"},
    {"XDG_CACHE_HOME", "tuning results and the prompts typed are kept in reverie/ below it (default: ~/.cache)"},
    {"HF_HUB_CACHE",
     "models are looked for there next, as Hugging Face's programs keep them (default: hub/ in HF_HOME)"},
    {"HF_HOME", "Hugging Face's folder (default: huggingface/ in XDG_CACHE_HOME)"},
    {"HF_TOKEN", "token that fetch shows the hub, for gated and private models (default: the file token in HF_HOME)"},
    {"HF_ENDPOINT", "hub that fetch asks (default: https://huggingface.co)"},
    {"CURL_CA_BUNDLE", "file of the certificate authorities that fetch trusts (default: the system's)"},
};
enum { ENVIRONMENTS = sizeof environment_table / sizeof *environment_table };

static bool shown(const struct option *option, enum command command) {
  return !option_is_hidden(option) && option->commands & 1u << command;
}

/* Writes an option's names and value as in "-p, --prompt TEXT". */
static void describe_syntax(const struct option *option, char *text, size_t size) {
  char letter[8] = "    ";
  if (option->letter)
    snprintf(letter, sizeof letter, "-%c, ", option->letter);
  const char *choices = option_choices(option);
  const char *value = choices ? choices : option->metavar ? option->metavar : "";
  if (option->optional)
    snprintf(text, size, "%s--%s[=%s]", letter, option->name, value);
  else
    snprintf(text, size, "%s--%s%s%s", letter, option->name, *value ? " " : "", value);
}

/* Prints text, wrapped into lines of at most `width` columns. The first line starts at column `column`; the others are
 * indented by `indent` columns. */
static void print_wrapped(FILE *out, const char *text, int column, int indent, int width) {
  while (*text) {
    int word = (int)strcspn(text, " ");
    if (column > indent && column + 1 + word > width) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', out);
      column++;
    }
    fprintf(out, "%.*s", word, text);
    column += word;
    text += word;
    text += strspn(text, " ");
  }
  fputc('\n', out);
}

enum { HELP_INDENT = 28, HELP_WIDTH = 100 };

static void help_option(FILE *out, const struct option *option) {
  char syntax[120];
  describe_syntax(option, syntax, sizeof syntax);
  int used = fprintf(out, "  %s", syntax);
  if (used >= HELP_INDENT - 1) {
    fputc('\n', out);
    used = 0;
  }
  fprintf(out, "%*s", HELP_INDENT - used, "");
  char help[OPTION_HELP_MAX];
  print_wrapped(out, option_help(option, help), HELP_INDENT, HELP_INDENT, HELP_WIDTH);
}

static void help_options(FILE *out, enum command command) {
  for (int group = 0; group < GROUPS; group++) {
    bool titled = false;
    for (int i = 0; i < option_count; i++) {
      const struct option *option = &option_table[i];
      if ((int)option->group != group || !shown(option, command))
        continue;
      if (!titled)
        fprintf(out, "\n%s\n", option_group_titles[group]);
      titled = true;
      help_option(out, option);
    }
  }
}

static void help_keys(FILE *out) {
  int count;
  const struct command_entry *entries = commands_table(&count);
  fputs("\nKeys\n", out);
  for (int i = 0; i < count; i++)
    if (entries[i].label)
      fprintf(out, "  %-*s%s\n", HELP_INDENT - 2, entries[i].label, entries[i].help);
}

static void help_exits(FILE *out) {
  fputs("\nExit status\n", out);
  for (int i = 0; i < EXITS; i++)
    fprintf(out, "  %3d  %s\n", exit_table[i].status, exit_table[i].meaning);
}

static void help_program(FILE *out) {
  fputs("reverie restyles video with a diffusion network, frame by frame.\n\nusage:\n", out);
  for (int i = 0; i < command_count; i++) {
    const struct command_text *command = &command_table[i];
    int used = fprintf(out, "  reverie %s %s", command->name, command->arguments);
    fprintf(out, "%*s%s\n", used < 27 ? 27 - used : 1, "", command->summary);
  }
  fputs("\n`reverie COMMAND --help` lists the options of a command.\n", out);
  help_options(out, COMMAND_NONE);
  help_exits(out);
}

void options_help(FILE *out, enum command command) {
  if (command == COMMAND_NONE) {
    help_program(out);
    return;
  }
  const struct command_text *text = &command_table[command - COMMAND_LIVE];
  fprintf(out, "usage: reverie %s%s%s [OPTIONS]: %s\n\n", text->name, *text->arguments ? " " : "", text->arguments,
          text->summary);
  print_wrapped(out, text->description, 0, 0, HELP_WIDTH);
  help_options(out, command);
  if (command == COMMAND_LIVE)
    help_keys(out);
  help_exits(out);
}

/* Prints text for roff: hyphens are escaped, and no line begins with a control character. */
static void man_text(FILE *out, const char *text) {
  if (*text == '.' || *text == '\'')
    fputs("\\&", out);
  for (; *text; text++) {
    if (*text == '-')
      fputs("\\-", out);
    else if (*text == '\\')
      fputs("\\e", out);
    else
      fputc(*text, out);
  }
  fputc('\n', out);
}

static void man_options(FILE *out) {
  for (int group = 0; group < GROUPS; group++) {
    fprintf(out, ".SS %s\n", option_group_titles[group]);
    for (int i = 0; i < option_count; i++) {
      const struct option *option = &option_table[i];
      if ((int)option->group != group || option_is_hidden(option))
        continue;
      char syntax[120], help[OPTION_HELP_MAX];
      describe_syntax(option, syntax, sizeof syntax);
      fputs(".TP\n.B ", out);
      man_text(out, syntax + strspn(syntax, " "));
      man_text(out, option_help(option, help));
      if (option->commands & 1u << COMMAND_NONE)
        continue;
      fputs("(", out);
      const char *separator = "";
      for (int j = 0; j < command_count; j++)
        if (option->commands & 1u << command_table[j].command) {
          fprintf(out, "%s%s", separator, command_table[j].name);
          separator = ", ";
        }
      fputs(")\n", out);
    }
  }
}

static void man_keys(FILE *out) {
  int count;
  const struct command_entry *entries = commands_table(&count);
  fputs(".SH KEYS\nIn the window of\n.BR live :\n", out);
  for (int i = 0; i < count; i++)
    if (entries[i].label) {
      fputs(".TP\n.B ", out);
      man_text(out, entries[i].label);
      man_text(out, entries[i].help);
    }
}

static void generate_man(FILE *out) {
  fprintf(out, ".TH REVERIE 1 \"\" \"reverie %s\" \"User Commands\"\n", REVERIE_VERSION);
  fputs(".SH NAME\nreverie \\- real\\-time video diffusion\n.SH SYNOPSIS\n", out);
  for (int i = 0; i < command_count; i++)
    fprintf(out, ".B reverie %s\n%s%s[\\fIOPTIONS\\fR]\n.br\n", command_table[i].name, command_table[i].arguments,
            *command_table[i].arguments ? " " : "");
  fputs(".SH DESCRIPTION\n", out);
  man_text(out,
           "reverie restyles video with a diffusion network, frame by frame: live in a window, or from file to file.");
  fputs(".SH COMMANDS\n", out);
  for (int i = 0; i < command_count; i++) {
    fprintf(out, ".TP\n.B %s%s%s\n", command_table[i].name, *command_table[i].arguments ? " " : "",
            command_table[i].arguments);
    man_text(out, command_table[i].description);
  }
  fputs(".SH OPTIONS\n", out);
  man_options(out);
  man_keys(out);
  fputs(".SH SCRIPTS\nA script is a file of lines of JSON, one for each value:\n.PP\n.nf\n"
        "{\"time\": 0, \"parameter\": \"strength\", \"value\": 0.3}\n"
        "{\"time\": 12.5, \"parameter\": \"strength\", \"value\": 0.8, \"ease\": \"linear\"}\n"
        "{\"time\": 12.5, \"parameter\": \"prompt[1]\", \"value\": \"ink drawing\"}\n.fi\n.PP\n"
        "time is in seconds, parameter the name of one that can change while the program runs, value a number, true or "
        "false, or in quotes a choice, a size or a text; null is no text. ease says how a number comes there from the "
        "entry before of the same parameter: step (at once, the default), linear or smooth. Lines may stand in any "
        "order; of two for one moment the later one counts.\n",
        out);
  fputs(".SH EXIT STATUS\n", out);
  for (int i = 0; i < EXITS; i++) {
    fprintf(out, ".TP\n.B %d\n", exit_table[i].status);
    man_text(out, exit_table[i].meaning);
  }
  fputs(".SH ENVIRONMENT\n", out);
  for (int i = 0; i < ENVIRONMENTS; i++) {
    fprintf(out, ".TP\n.B %s\n", environment_table[i].name);
    man_text(out, environment_table[i].meaning);
  }
  fputs(".SH FILES\n.TP\n.I share/reverie/farm\n", out);
  man_text(out,
           "beside the folder of the program: examples for schedulers that render in parts on many machines (Slurm, "
           "GNU Parallel, Make, Open Job Description, OpenCue). Each says at its top how it is called.");
  fputs(".SH EXAMPLES\n.nf\nreverie render clip.mp4 neon.mp4 \\-\\-prompt neon\n"
        "reverie render clip.mp4 \\- | mpv \\-\n"
        "reverie fetch stabilityai/sd\\-turbo && reverie live \\-\\-model sd\\-turbo\n"
        "reverie live /dev/video0 \\-\\-prompt \"pencil sketch\"\n"
        "reverie bench \\-\\-size 512x512 \\-\\-json \\-\n"
        "reverie bench \\-\\-live \\-\\-input\\-fps 60\n.fi\n.SH SEE ALSO\n.BR ffmpeg (1)\n",
        out);
}

static void print_spaced(FILE *out, const char *choices) {
  for (; *choices; choices++)
    fputc(*choices == '|' ? ' ' : *choices, out);
}

/* Returns the words, separated by |, that an option's value can be or begin with; NULL: there are none. */
static const char *words_of(const struct option *option) {
  return option->value == VALUE_MAP ? &MAP_WORDS[sizeof "none|" - 1] : option_choices(option);
}

static void bash_values(FILE *out) {
  fputs("  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n  case $prev in\n", out);
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    const char *choices = words_of(option);
    if (option_is_hidden(option) || option->optional || !(option->metavar || choices))
      continue;
    fprintf(out, "  --%s", option->name);
    if (option->letter)
      fprintf(out, "|-%c", option->letter);
    fputs(") ", out);
    if (choices) {
      fputs("COMPREPLY=($(compgen -W '", out);
      print_spaced(out, choices);
      fputs("' -- \"$cur\")); ", out);
    } else if (option->value == VALUE_MODEL) {
      fputs("_reverie_models \"$1\"; ", out);
    } else if (option->value != VALUE_WORD) {
      fprintf(out, "compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$cur\")); ",
              option->value == VALUE_DIR ? 'd' : 'f');
    }
    fputs("return ;;\n", out);
  }
  fputs("  esac\n", out);
}

static void generate_bash(FILE *out) {
  /* The bash script compares models' names itself, because compgen -W would expand them, and a file may have a name
   * such as $(command). */
  fputs("# bash completion for reverie\n_reverie_models() {\n  local IFS=$'\\n' name\n"
        "  compopt -o filenames\n"
        "  while read -r name; do\n"
        "    [[ -n $name && $name == \"$cur\"* ]] && COMPREPLY+=(\"$name\")\n"
        "  done <<<\"$(\"$1\" --generate models 2>/dev/null)\"\n"
        "  COMPREPLY+=($(compgen -f -- \"$cur\"))\n}\n"
        "_reverie() {\n  local cur=${COMP_WORDS[COMP_CWORD]} "
        "prev=${COMP_WORDS[COMP_CWORD-1]} command= word options\n  COMPREPLY=()\n",
        out);
  bash_values(out);
  fputs("  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case $word in\n    ", out);
  for (int i = 0; i < command_count; i++)
    fprintf(out, "%s%s", i ? "|" : "", command_table[i].name);
  fputs(") command=$word; break ;;\n    esac\n  done\n  case $command in\n", out);
  for (int i = -1; i < command_count; i++) {
    enum command command = i < 0 ? COMMAND_NONE : command_table[i].command;
    fprintf(out, "  %s) options='", i < 0 ? "''" : command_table[i].name);
    for (int j = 0; j < option_count; j++)
      if (shown(&option_table[j], command))
        fprintf(out, "--%s ", option_table[j].name);
    fputs("' ;;\n", out);
  }
  fputs("  esac\n  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
        "  elif [[ -z $command ]]; then\n    COMPREPLY=($(compgen -W '",
        out);
  for (int i = 0; i < command_count; i++)
    fprintf(out, "%s ", command_table[i].name);
  fputs("' -- \"$cur\"))\n  elif [[ $command == info ]]; then\n    _reverie_models \"$1\"\n  else\n    compopt -o "
        "filenames\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\n"
        "complete -F _reverie reverie\n",
        out);
}

/* Prints help inside a single-quoted zsh _arguments specification, where [ ] : end a field. */
static void zsh_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else if (strchr("[]:", *text))
      fprintf(out, "\\%c", *text);
    else
      fputc(*text, out);
  }
}

static void zsh_option(FILE *out, const struct option *option) {
  bool repeats = option->kind == OPTION_SEVERAL || option->kind == OPTION_TEXTS || option->kind == OPTION_PROMPT ||
                 option->kind == OPTION_LORA || option->kind == OPTION_CONTROL || option->kind == OPTION_CONTROL_OFF ||
                 option->kind == OPTION_CONTROL_WITH || option->kind == OPTION_STYLE || option->kind == OPTION_VERBOSE;
  const char *choices = words_of(option);
  bool valued = option->metavar || choices;
  char help[OPTION_HELP_MAX];
  for (int form = 0; form < 1 + (option->letter != 0); form++) {
    fprintf(out, "        '%s", repeats ? "*" : "");
    if (form)
      fprintf(out, "-%c%s[", option->letter, valued ? "+" : "");
    else
      fprintf(out, "--%s%s[", option->name, option->optional ? "=-" : valued ? "=" : "");
    zsh_text(out, option_help(option, help));
    fputc(']', out);
    if (choices) {
      fprintf(out, ":%s:(", option->name);
      print_spaced(out, choices);
      fputc(')', out);
    } else if (valued) {
      static const char *const actions[] = {" ", "_files", "_files -/", "_reverie_models"};
      fprintf(out, "%s:%s:%s", option->optional ? ":" : "", option->name, actions[option->value]);
    }
    fputs("' \\\n", out);
  }
}

static void generate_zsh(FILE *out) {
  fputs("#compdef reverie\n_reverie_models() {\n  local -a names\n"
        "  names=(${(f)\"$(_call_program models reverie --generate models 2>/dev/null)\"})\n"
        "  _alternative 'models:model:compadd -a names' 'files:file:_files'\n}\n_reverie() {\n  local context state "
        "line\n  _arguments -C '1:command:((",
        out);
  for (int i = 0; i < command_count; i++) {
    fprintf(out, "%s\\:\"", command_table[i].name);
    zsh_text(out, command_table[i].summary);
    fputs("\" ", out);
  }
  fputs("))' '*::argument:->rest' \\\n", out);
  for (int i = 0; i < option_count; i++)
    if (shown(&option_table[i], COMMAND_NONE))
      zsh_option(out, &option_table[i]);
  fputs("    && return\n  [[ $state == rest ]] || return\n  case $line[1] in\n", out);
  for (int i = 0; i < command_count; i++) {
    fprintf(out, "    %s)\n      _arguments \\\n", command_table[i].name);
    for (int j = 0; j < option_count; j++)
      if (shown(&option_table[j], command_table[i].command))
        zsh_option(out, &option_table[j]);
    fprintf(out, "        '*:file:%s' ;;\n", command_table[i].command == COMMAND_INFO ? "_reverie_models" : "_files");
  }
  fputs("  esac\n}\n_reverie \"$@\"\n", out);
}

static void fish_text(FILE *out, const char *text) {
  fputc('\'', out);
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\')
      fputc('\\', out);
    fputc(*text, out);
  }
  fputc('\'', out);
}

#define FISH_MODELS " -a '(reverie --generate models 2>/dev/null)'"

static void generate_fish(FILE *out) {
  fputs("# fish completion for reverie\n", out);
  for (int i = 0; i < command_count; i++) {
    fprintf(out, "complete -c reverie -n __fish_use_subcommand -f -a %s -d ", command_table[i].name);
    fish_text(out, command_table[i].summary);
    fputc('\n', out);
  }
  fputs("complete -c reverie -n '__fish_seen_subcommand_from info'" FISH_MODELS "\n", out);
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    const char *choices = words_of(option);
    char help[OPTION_HELP_MAX];
    if (option_is_hidden(option))
      continue;
    fputs("complete -c reverie", out);
    if (!shown(option, COMMAND_NONE)) {
      fputs(" -n '__fish_seen_subcommand_from", out);
      for (int j = 0; j < command_count; j++)
        if (shown(option, command_table[j].command))
          fprintf(out, " %s", command_table[j].name);
      fputc('\'', out);
    }
    fprintf(out, " -l %s", option->name);
    if (option->letter)
      fprintf(out, " -s %c", option->letter);
    if (choices) {
      fputs(" -x -a '", out);
      print_spaced(out, choices);
      fputc('\'', out);
    } else if (option->metavar && !option->optional) {
      static const char *const modes[] = {" -x", " -r -F", " -x -a '(__fish_complete_directories)'",
                                          " -r -F" FISH_MODELS};
      fputs(modes[option->value], out);
    }
    fputs(" -d ", out);
    fish_text(out, option_help(option, help));
    fputc('\n', out);
  }
}

int options_generate(FILE *out, const char *kind, struct error *err) {
  static const struct {
    const char *name;
    void (*write)(FILE *out);
  } kinds[] = {{"man", generate_man}, {"bash", generate_bash}, {"zsh", generate_zsh}, {"fish", generate_fish}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, kind)) {
      kinds[i].write(out);
      return fflush(out) || ferror(out) ? error_set(err, STATUS_OUTPUT, "standard output: cannot be written") : 0;
    }
  return error_set(err, STATUS_USAGE, "--generate %s: man, bash, zsh or fish is needed", kind);
}
