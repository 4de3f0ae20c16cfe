"""Which programs run others, and how: shells, builtins, and languages with code on the command line.

Options are written as in ``option_table``: ``:`` for any value, ``!`` for shell text, ``%`` for code of another
language, ``@`` for a file of code, ``#`` for a program in a small language, ``=`` for ``key=text``, ``~`` for words,
``^`` if the option alone makes it run code, ``?`` if it only asks for information.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.programs import Form, Program, program
from amplifier_modkit.shell.tool_table import TOOLS
from amplifier_modkit.shell.wrapper_table import WRAPPERS

_WRAPPER = frozenset({Mark.WRAPPER})
_SHELL = (
    "-a -b -c -e -f -h -i -k -l -m -n -p -r -s -t -u -v -x -B -C -D -E -H -P -T -o: "
    "-O: --login --posix --norc --noprofile "
    "--noediting --restricted --verbose --debugger --dump-strings --dump-po-strings "
    "--version? --help? --rcfile@ --init-file@ "
    "-rcfile@ -init-file@ -norc -noprofile -noediting -login -posix -restricted "
    "-verbose -version? -help? -debugger"
)
_BASH = program(Form.SHELL, _SHELL, by_input="script")
_POSIX = program(Form.SHELL, _SHELL, by_input="script", dialect="posix")
_OTHER = program(Form.SHELL, _SHELL, by_input="script", dialect="other")

_BUILTINS = {
    ".": program(Form.FILE),
    "source": program(Form.FILE),
    "eval": program(Form.TEXT, marks=_WRAPPER),
    "trap": program(Form.FIRST_TEXT, "-l? -p?"),
    "alias": program(Form.DEFINITIONS, "-p"),
    "mapfile": program(Form.PLAIN, "-t -d: -n: -O: -s: -u: -C! -c:"),
    "readarray": program(Form.PLAIN, "-t -d: -n: -O: -s: -u: -C! -c:"),
    "complete": program(Form.PLAIN, "-C! -F! -W!", is_permuted=True),
    "compgen": program(Form.PLAIN, "-C! -F! -W!", is_permuted=True),
}

_SHELLS = {
    "bash": _BASH,
    "rbash": _BASH,
    **dict.fromkeys(("sh", "dash", "ash"), _POSIX),
    **dict.fromkeys(("zsh", "ksh", "mksh", "yash", "fish", "csh", "tcsh"), _OTHER),
    "at": program(Form.PLAIN, "-f@ -q: -t: -l? -c? -d? -m -M -v -V", by_input="script"),
    "batch": program(Form.PLAIN, "-f@ -q:", by_input="script"),
}


def _language(options: str, **facts: object) -> Program:
    return program(Form.FILE, options, by_input="code", **facts)


_LANGUAGES = {
    "python": _language(
        "-c% -m+ -W: -X: -b -B -d -E -h? -i -I -O -P -q -s -S -u -v -V? -x --version? --help? --check-hash-based-pycs:"
    ),
    "perl": _language(
        "-e% -E% -M# -m# -I: -n -p -i -l -a -w -W -X -s -S -t -T -u -U -v? -V? -c -d -D -f -F: -0 -C -x -h?",
        language="module",
    ),
    "ruby": _language("-e% -r@ -I: -n -p -a -l -s -S -w -W -v -c -d -i -x -C: -E: -F: -K: -T -U --version? --help?"),
    "node": _language(
        "-e% --eval% -p% --print% -r@ --require@ --import@ --loader@ -c --check -i -v? --version? --help?"
    ),
    "php": _language("-r% -R% -B% -E% -f@ -F@ -d% -c: -z@ -t: -S: -n -q -l -m -i -v? -h?"),
    "lua": _language("-e% -l@ -i -v -E -W"),
    "julia": _language("-e% -E% --eval% --print% -L@ --load@ -p: -t: -J: --project:"),
    "rscript": _language("-e%"),
    "osascript": _language("-e% -l: -s:"),
    "elixir": _language("-e% --eval% -r@ -S: -pa:"),
    "erl": _language("-eval% -s: -run: -noshell -pa:"),
    "groovy": _language("-e%"),
    "scala": _language("-e%"),
    "guile": _language("-c% -s@ -l@ -e:"),
    "sbcl": _language("--eval% --load@ --script@ --noinform --non-interactive"),
    "ghc": program(Form.PLAIN, "-e%", is_permuted=True),
    "bun": _language("-e% --eval% -p% --print% -r@ --preload@"),
    "deno": program(Form.SUBCOMMANDS, subcommands={"eval": program(Form.PLAIN, marks=frozenset({Mark.RUNS_CODE}))}),
    "tclsh": _language(""),
    "expect": _language("-c% -f@ -b@ -d -D: -i -n -N -v?"),
    "pwsh": _language("-c% -e% -ec% -enc% -Command% -EncodedCommand% -File@ -NoProfile -NoLogo -NonInteractive"),
    "clojure": _language("-e% --eval% -i@ --init@ -m:"),
    "gnuplot": _language("-e% -c@"),
    "jshell": _language("--startup@"),
    "kotlin": _language("-e% -howtorun:"),
    "mongosh": _language("--eval% -f@ --file@"),
    "ocaml": _language("-e% -init@"),
    "octave": _language("--eval% --persist"),
    "r": _language("-e% -f@ --file@ --args"),
    "racket": _language("-e% --eval% -f@ -l: -r@"),
    "sage": _language("-c%"),
    "swipl": _language("-g% -t% -s@ -f@ -l@"),
    "m4": _language("-D: -I: -P -E -g -s"),
    "dc": program(Form.FILE, "-e% --expression% -f@ --file@", by_input="code"),
    "gdb": program(
        Form.PLAIN, "-ex% -iex% -x@ -ix@ --eval-command% --command@ -batch -q -nx", is_permuted=True, by_input="code"
    ),
    "awk": program(
        Form.PROGRAM,
        "-F: -v: -f@ -e# -i@ -l@ -E@ --source# --file@ --include@ --load@ --assign: "
        "--field-separator: --exec@ --csv -b -c -C -d -D -h -k -L -M -n -N -o -O -p -P "
        "-r -s -S -t -V",
        language="awk",
    ),
    "sed": program(
        Form.PROGRAM,
        "-n -e# -f@ -E -r -i -l: -s -u -z --quiet --silent --expression# --file@ "
        "--regexp-extended "
        "--in-place --line-length: --separate --unbuffered --null-data --posix --sandbox "
        "--debug --follow-symlinks",
        is_permuted=True,
        language="sed",
    ),
    "sqlite3": program(
        Form.PROGRAM,
        "-cmd# -init@ -separator: -header -csv -json -line -batch -readonly",
        skip=1,
        language="sql",
        by_input="code",
    ),
    "psql": program(Form.PLAIN, "-c# --command# -f@ --file@", is_permuted=True, language="sql", by_input="code"),
    "mysql": program(Form.PLAIN, "-e# --execute# --pager!", is_permuted=True, language="sql", by_input="code"),
    "ed": program(Form.PLAIN, by_input="code"),
    **dict.fromkeys(
        ("vim", "vi", "nvim", "ex", "view", "vimdiff"),
        program(
            Form.PLAIN, "-c% --cmd% -S@ -e^ -E^ -s^ -u@ -U@ -i:", is_permuted=True, plus_is_code=True, by_input="code"
        ),
    ),
    **dict.fromkeys(
        ("emacs", "emacsclient"),
        program(Form.PLAIN, "-e% --eval% -l@ --load@ --script@ -f% --funcall% -batch --batch -Q -q", is_permuted=True),
    ),
}

# Other names of the same programs.
_ALIASES = {
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "original-awk": "awk",
    "gsed": "sed",
    "nodejs": "node",
    "pypy": "python",
    "luajit": "lua",
    "wish": "tclsh",
    "gxargs": "xargs",
    "gfind": "find",
    "gtar": "tar",
    "bsdtar": "tar",
    "genv": "env",
    "gtimeout": "timeout",
    "gnice": "nice",
    "gnohup": "nohup",
    "gstdbuf": "stdbuf",
    "mariadb": "mysql",
    "lldb": "gdb",
    "powershell": "pwsh",
    "ipython": "python",
    "tsx": "node",
    "ts-node": "node",
    "jruby": "ruby",
    "hhvm": "php",
    "irb": "ruby",
    "pry": "ruby",
    "ghci": "ghc",
    "mongo": "mongosh",
    "clj": "clojure",
}

_PROGRAMS = MappingProxyType({**TOOLS, **WRAPPERS, **_BUILTINS, **_SHELLS, **_LANGUAGES})
_VERSION = re.compile(r"[-.]?\d[\d.]*$")
_LOADER = re.compile(r"ld(?:-[\w.-]+)?\.so[\w.]*")


def program_for(name: str) -> Program | None:
    """How the program of that name runs others; versions behind the name do not matter."""
    name = _ALIASES.get(name, name)
    found = _PROGRAMS.get(name)
    if found is None and name:
        bare = _VERSION.sub("", name)
        found = _PROGRAMS.get("ld.so" if _LOADER.fullmatch(name) else _ALIASES.get(bare, bare))
    return found
