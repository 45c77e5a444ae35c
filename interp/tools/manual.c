/* The manual page in troff's man macros, and completions for three shells. */
#include "interp/tools/manual.h"

#include <string.h>

static bool takes(const manual *m, int option, int verb) {
    return (m->option[option].verbs >> verb & 1) != 0;
}

/* Words of a choice, separated by `between`. */
static void put_choices(const char *value, const char *between, FILE *to) {
    for (; *value != '\0'; value++) {
        if (*value == '|') {
            fputs(between, to);
        } else {
            fputc(*value, to);
        }
    }
}

/* ---- --help ---- */

void manual_print_option(const manual_option *o, int column, FILE *to) {
    enum { WIDTH = 80 };
    int at = fprintf(to, "  %s%s%s%s%s", o->flag, o->short_form[0] != '\0' ? ", " : "", o->short_form,
                     o->value[0] != '\0' ? " " : "", o->value);
    if (at > column - 2) {
        fputc('\n', to);
        at = 0;
    }
    for (const char *word = o->help; *word != '\0';) {
        int length = (int)strcspn(word, " \n");
        if (at > column && at + 1 + length > WIDTH) {
            fputc('\n', to);
            at = 0;
        }
        at += fprintf(to, "%*s%.*s", at < column ? column - at : 1, "", length, word);
        word += length + (word[length] != '\0');
    }
    fputc('\n', to);
}

/* ---- man ---- */

/* Text in which nothing is taken for a request; `fill`: its line ends are spaces. */
static void put_troff(const char *s, bool fill, FILE *to) {
    bool start = true;
    for (; *s != '\0'; s++) {
        bool end = *s == '\n';
        if (start && (*s == '.' || *s == '\'')) fputs("\\&", to);
        if (*s == '\\') {
            fputs("\\e", to);
        } else if (*s == '-') {
            fputs("\\-", to);
        } else {
            fputc(end && fill ? ' ' : *s, to);
        }
        start = end && !fill;
    }
}

static void man_option(const manual *m, int i, FILE *to) {
    const manual_option *o = &m->option[i];
    fputs(".TP\n\\fB", to);
    put_troff(o->flag, true, to);
    if (o->short_form[0] != '\0') {
        fputs("\\fR, \\fB", to);
        put_troff(o->short_form, true, to);
    }
    fputs("\\fR", to);
    if (o->value[0] != '\0') {
        fputs(" \\fI", to);
        put_troff(o->value, true, to);
        fputs("\\fR", to);
    }
    fputc('\n', to);
    put_troff(o->help, true, to);
    unsigned every = (1u << m->verb_count) - 1;
    if ((o->verbs & every) != every) {
        const char *before = " (";
        for (int v = 0; v < m->verb_count; v++) {
            if (!takes(m, i, v)) continue;
            fprintf(to, "%s%s", before, m->verb[v].word[0] != '\0' ? m->verb[v].word : "a run");
            before = ", ";
        }
        fputc(')', to);
    }
    fputs(".\n", to);
}

static void put_verb(const manual *m, int v, FILE *to) {
    put_troff(m->program, true, to);
    if (m->verb[v].word[0] != '\0') fprintf(to, " %s", m->verb[v].word);
}

static void write_man(const manual *m, FILE *to) {
    fputs(".TH ", to);
    put_troff(m->program, true, to);
    fputs(" 1 \"\" Kina\n.SH NAME\n", to);
    put_troff(m->program, true, to);
    fprintf(to, " \\- %s\n.SH SYNOPSIS\n", m->about);
    for (int v = 0; v < m->verb_count; v++) {
        fputs(v > 0 ? ".br\n\\fB" : "\\fB", to);
        put_verb(m, v, to);
        fputs("\\fR [OPTION]... ", to);
        put_troff(m->verb[v].operands, true, to);
        fputc('\n', to);
    }
    fputs(".SH DESCRIPTION\n", to);
    for (int v = 0; v < m->verb_count; v++) {
        fputs(".TP\n\\fB", to);
        put_verb(m, v, to);
        fputs("\\fR\n", to);
        put_troff(m->verb[v].summary, true, to);
        fputs(".\n", to);
    }
    fputs(".SH OPTIONS\n\\-\\-option VALUE and \\-\\-option=VALUE are the same.\n", to);
    for (int i = 0; i < m->option_count; i++) man_option(m, i, to);
    fputs(".SH EXAMPLES\n.nf\n", to);
    for (int v = 0; v < m->verb_count; v++) put_troff(m->verb[v].examples, false, to);
    fputs(".fi\n.SH EXIT STATUS\n", to);
    put_troff(m->exit_codes, true, to);
    fputc('\n', to);
}

/* ---- what the shells share ---- */

/* "_kina_interp" */
static void put_function(const manual *m, FILE *to) {
    fputc('_', to);
    for (const char *p = m->program; *p != '\0'; p++) fputc(*p == '-' ? '_' : *p, to);
}

/* Those of the verbs whose bits are set that have a word. */
static void put_verbs(const manual *m, unsigned verbs, const char *between, FILE *to) {
    const char *before = "";
    for (int v = 0; v < m->verb_count; v++) {
        if ((verbs >> v & 1) == 0 || m->verb[v].word[0] == '\0') continue;
        fprintf(to, "%s%s", before, m->verb[v].word);
        before = between;
    }
}

/* The first line of a text inside of single quotes; characters of `special` with a backslash. */
static void put_quoted(const char *s, const char *special, FILE *to) {
    for (; *s != '\0' && *s != '\n'; s++) {
        if (*s == '\'') {
            fputs("'\\''", to);
            continue;
        }
        if (strchr(special, *s) != NULL) fputc('\\', to);
        fputc(*s, to);
    }
}

/* ---- bash ---- */

static void bash_values(const manual *m, FILE *to) {
    fputs("    case $before in\n", to);
    for (int i = 0; i < m->option_count; i++) {
        const manual_option *o = &m->option[i];
        if (o->value[0] == '\0') continue;
        if (o->choice) {
            fprintf(to, "    %s) COMPREPLY=($(compgen -W '", o->flag);
            put_choices(o->value, " ", to);
            fputs("' -- \"$word\")); return ;;\n", to);
        } else {
            fprintf(to, "    %s) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", o->flag);
        }
    }
    fputs("    esac\n", to);
}

static void write_bash(const manual *m, FILE *to) {
    put_function(m, to);
    fputs("() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= options= i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in ", to);
    put_verbs(m, ~0u, "|", to);
    fputs(") verb=${COMP_WORDS[i]}; break ;; esac\n    done\n", to);
    bash_values(m, to);
    fputs("    case $verb in\n", to);
    for (int v = 0; v < m->verb_count; v++) {
        fprintf(to, "    %s) options='", m->verb[v].word[0] != '\0' ? m->verb[v].word : "''");
        for (int i = 0; i < m->option_count; i++) {
            if (takes(m, i, v)) fprintf(to, "%s ", m->option[i].flag);
        }
        fputs("' ;;\n", to);
    }
    fputs("    esac\n"
          "    if [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "        [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W '", to);
    put_verbs(m, ~0u, " ", to);
    fputs("' -- \"$word\"))\n    fi\n    return 0\n}\ncomplete -o filenames -F ", to);
    put_function(m, to);
    fprintf(to, " %s\n", m->program);
}

/* ---- zsh ---- */

static void zsh_option(const manual_option *o, FILE *to) {
    fprintf(to, "            '%s[", o->flag);
    put_quoted(o->help, "[]\\", to);
    fputc(']', to);
    if (o->choice) {
        fputs(":word:(", to);
        put_choices(o->value, " ", to);
        fputc(')', to);
    } else if (o->value[0] != '\0') {
        fputc(':', to);
        put_quoted(o->value, ":\\", to);
        fputs(":_files", to);
    }
    fputs("'\n", to);
}

static void write_zsh(const manual *m, FILE *to) {
    fprintf(to, "#compdef %s\n\n", m->program);
    put_function(m, to);
    fputs("() {\n    local -a verbs options\n    verbs=(\n", to);
    for (int v = 0; v < m->verb_count; v++) {
        if (m->verb[v].word[0] == '\0') continue;
        fprintf(to, "        '%s:", m->verb[v].word);
        put_quoted(m->verb[v].summary, "", to);
        fputs("'\n", to);
    }
    fputs("    )\n    case $words[2] in\n", to);
    for (int v = m->verb_count - 1; v >= 0; v--) {
        fprintf(to, "    %s)\n        options=(\n", m->verb[v].word[0] != '\0' ? m->verb[v].word : "*");
        for (int i = 0; i < m->option_count; i++) {
            if (takes(m, i, v)) zsh_option(&m->option[i], to);
        }
        fputs("        ) ;;\n", to);
    }
    fputs("    esac\n"
          "    (( CURRENT == 2 )) && _describe verb verbs\n"
          "    _arguments -S $options '*:file:_files'\n"
          "}\n\n", to);
    put_function(m, to);
    fputs(" \"$@\"\n", to);
}

/* ---- fish ---- */

/* When an option may stand, by the verbs on the line. */
static void fish_condition(const manual *m, int i, FILE *to) {
    unsigned every = (1u << m->verb_count) - 1, with = m->option[i].verbs & every, plain = 0;
    for (int v = 0; v < m->verb_count; v++) {
        if (m->verb[v].word[0] == '\0') plain |= 1u << v;
    }
    if (with == every) return;
    bool often = (with & plain) != 0;
    fputs(often ? " -n 'not __fish_seen_subcommand_from " : " -n '__fish_seen_subcommand_from ", to);
    put_verbs(m, often ? every & ~with : with, " ", to);
    fputc('\'', to);
}

static void write_fish(const manual *m, FILE *to) {
    for (int v = 0; v < m->verb_count; v++) {
        if (m->verb[v].word[0] == '\0') continue;
        fprintf(to, "complete -c %s -n __fish_use_subcommand -a %s -d '", m->program, m->verb[v].word);
        put_quoted(m->verb[v].summary, "", to);
        fputs("'\n", to);
    }
    for (int i = 0; i < m->option_count; i++) {
        const manual_option *o = &m->option[i];
        bool longer = o->flag[1] == '-';
        fprintf(to, "complete -c %s", m->program);
        fish_condition(m, i, to);
        fprintf(to, longer ? " -l %s" : " -s %s", o->flag + (longer ? 2 : 1));
        if (o->short_form[0] != '\0') fprintf(to, " -s %s", o->short_form + 1);
        if (o->choice) {
            fputs(" -x -a '", to);
            put_choices(o->value, " ", to);
            fputc('\'', to);
        } else if (o->value[0] != '\0') {
            fputs(" -r", to);
        }
        fputs(" -d '", to);
        put_quoted(o->help, "", to);
        fputs("'\n", to);
    }
}

bool manual_write(const manual *m, const char *form, FILE *to) {
    static const struct {
        const char *form;
        void (*write)(const manual *m, FILE *to);
    } forms[] = {{"man", write_man}, {"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(form, forms[i].form) != 0) continue;
        forms[i].write(m, to);
        return true;
    }
    return false;
}
