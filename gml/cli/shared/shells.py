"""How shells are told what may come next: their scripts, and their ways of quoting.

A script hands the line up to the cursor to `gml completion SHELL --line`, which answers with a line
that says what follows (`files`: complete a path; `more`: no space after a word; `word`) and a line
per candidate, its description after a tab.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BASH = r"""# Completion of gml for bash (4.4 or later): source <(gml completion bash)
_gml_complete() {
    local kind
    COMPREPLY=()
    {
        read -r kind
        mapfile -t COMPREPLY
    } < <("$1" completion bash --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" \
        2>/dev/null)
    case $kind in
        files) COMPREPLY=() && compopt -o default ;;
        more) compopt -o nospace ;;
    esac
}
complete -o nosort -F _gml_complete gml
"""

ZSH = r"""#compdef gml
# Completion of gml for zsh: source <(gml completion zsh), or save it as _gml in a folder of $fpath
_gml() {
    local -a answer found shown
    local line
    answer=("${(@f)$("${(Q)words[1]}" completion zsh \
        --line "${(j: :)words[1,CURRENT-1]} ${QIPREFIX}${PREFIX}" 2>/dev/null)}")
    if [[ $answer[1] == files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        _files
        return
    fi
    for line in "${(@)answer[2,-1]}"; do
        [[ -n $line ]] || continue
        found+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#found )) || return 1
    if [[ $answer[1] == more ]]; then
        compadd -Q -U -V gml -S '' -d shown -a found
    else
        compadd -Q -U -V gml -d shown -a found
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _gml "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
    compdef _gml gml
fi
"""

FISH = r"""# Completion of gml for fish: gml completion fish | source
function __gml_complete
    set -l words (commandline -opc)
    set -l answer ($words[1] completion fish --line (commandline -cp | string collect) 2>/dev/null)
    if test "$answer[1]" = files
        set -l token (commandline -ct)
        set -l option (string match -r -- '^--[^=]+=' $token)
        set -l path (string replace -r -- '^--[^=]+=' '' $token)
        for found in (__fish_complete_path $path)
            printf '%s%s\n' "$option" $found
        end
    else if set -q answer[2]
        printf '%s\n' $answer[2..]
    end
end
complete --command gml --erase
complete --command gml --no-files --keep-order --arguments '(__gml_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The script of each shell."""

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^\-]|[^\x00-\x7f]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class TypedLine(NamedTuple):
    """A command line up to the cursor.

    `words` come before the one at the cursor, without the command itself; of the latter `raw` is
    what was typed, `value` what it means, and `quote` the mark that is still open, opened at
    `opened`.
    """

    words: list[str]
    raw: str
    value: str
    quote: str
    opened: int


def typed_line(line: str) -> TypedLine:
    r"""Split a line as shells do; the last word may be incomplete.

    Examples
    --------
    >>> typed_line("gml pc 'my data.csv' -c age,\"bl")
    TypedLine(words=['pc', 'my data.csv', '-c'], raw='age,"bl', value='age,bl', quote='"', opened=4)
    """
    words: list[str] = []
    start, value, quote, opened, at = 0, "", "", -1, 0
    is_word = False
    while at < len(line):
        character = line[at]
        if character == "\\" and quote != "'":
            value += line[at + 1 : at + 2]
            at, is_word = at + 2, True
            continue
        if quote and character == quote:
            quote, opened = "", -1
        elif not quote and character in "'\"":
            quote, opened, is_word = character, at - start, True
        elif not quote and character.isspace():
            if is_word:
                words.append(value)
            start, value, is_word = at + 1, "", False
        else:
            value, is_word = value + character, True
        if not is_word:
            start = at + 1
        at += 1
    while words and _ASSIGNMENT.match(words[0]):
        del words[0]
    return TypedLine(words[1:], line[start:], value, quote, opened)


def as_typed(word: str, typed: TypedLine, shell: str, breaks: str = "") -> str | None:
    """Write a candidate as a shell is to insert it; None if what it keeps of the line differs.

    `breaks` are the characters at which bash begins a new word. Only fish quotes by itself.
    """
    if not word.isprintable():
        return None
    if shell == "fish":
        return word
    kept = _kept(typed, shell, breaks)
    before = typed_line("gml " + typed.raw[:kept]).value
    if not word.startswith(before):
        return None
    rest = word[len(before) :]
    if typed.quote and kept > typed.opened:
        return _within(rest, typed.quote)
    return "".join(character if _PLAIN.match(character) else f"\\{character}" for character in rest)


def _kept(typed: TypedLine, shell: str, breaks: str) -> int:
    """How much of the word a shell keeps in front of what it inserts."""
    if typed.quote and (shell == "bash" or typed.opened == 0):
        return typed.opened + 1
    kept = 0
    for k, character in enumerate(typed.raw):
        is_escaped = k > 0 and typed.raw[k - 1] == "\\"
        if character in breaks and not is_escaped and character not in "'\"":
            kept = k + 1
    return kept


def _within(text: str, quote: str) -> str:
    """Text inside quotes that stay open."""
    if quote == "'":
        return text.replace("'", "'\\''")
    return re.sub(r'([\\"$`])', r"\\\1", text)
