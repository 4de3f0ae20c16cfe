"""Which words of well-known programs are paths, and what happens to them.

Options are written with ``:`` for any value, ``%`` for a path that is read, ``!`` for one that is written and ``#`` for
a text in which a path stands behind an ``@``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amplifier_modkit.shell.commands import Access
from amplifier_modkit.shell.options import OptionTable, option_table
from amplifier_modkit.shell.words import listed


@dataclass(frozen=True, slots=True)
class PathWords:
    """How one program takes paths."""

    rest: Access | None = None
    """What happens to the words that are no options."""
    last: Access | None = None
    """What happens to the last of them, if there are several and no option names it."""
    skip: int = 0
    """How many of them are no paths."""
    options: OptionTable = field(default_factory=OptionTable)
    recursive: frozenset[str] = frozenset()
    """Options with which everything below a path is meant."""
    only_with: frozenset[str] = frozenset()
    """Options without which nothing is written, only read."""
    skip_unless: frozenset[str] = frozenset()
    """Options that stand for the skipped words."""
    keys: dict[str, Access] = field(default_factory=dict[str, Access])
    """What happens to ``key=path``."""
    is_bundled: bool = False
    """Whether the first word may be a row of options without a dash."""
    names_by_address: frozenset[str] | None = None
    """Options with which a file gets the last name of an address; none needed if the set is empty."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _paths(rest: Access | None, options: str = "", **facts: object) -> PathWords:
    return PathWords(rest, options=option_table(options), **facts)  # pyright: ignore[reportArgumentType]


_RECURSES = " -r -R --recursive"
_RECURSIVE = _words("-r -R --recursive")
_GREP = _paths(
    "read",
    "-e: -f% -m: -A: -B: -C: -d: -D: --regexp: --file% --include: --exclude: "
    "--exclude-dir: --max-count: --color "
    "-r -R --recursive",
    skip=1,
    skip_unless=_words("-e -f --regexp --file"),
    recursive=_RECURSIVE,
)
_COPY = (
    "-t! --target-directory! -S: --suffix: --backup --reflink --sparse: --preserve "
    "--no-preserve: -Z --context -a --archive" + _RECURSES
)
_TRANSFER = "-e: --rsh: -f: --exclude: --include: --files-from% --out-format: -P: -i: -o: "
"-F: -l: -c: -J: -S: -T: -B: --log-file!"

_WRITES_ALL = (
    "chattr",
    "mkfifo",
    "mknod",
    "sponge",
    "tee",
    "touch",
    "truncate",
    "vi",
    "vim",
    "nano",
    "fallocate",
    "wipefs",
    "mkswap",
)
_REMOVES_ALL = ("rmdir", "unlink", "shred", "srm")
_READS_ALL = listed(
    "cat cmp comm egrep file more md5sum rev sha1sum sha256sum sha512sum tac "
    "zcat source . bat cd pushd readlink realpath wc"
)
# Programs that read all their words but for the values of these options.
_READS_BUT = {
    "base32": "-w: --wrap:",
    "base64": "-w: --wrap:",
    "cut": "-b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --output-delimiter:",
    "diff": "-I: -U: -W: -x: --exclude: --label:",
    "du": "-d: -t: --exclude: --max-depth:",
    "head": "-c: -n: --bytes: --lines:",
    "hexdump": "-e: -n: -s:",
    "join": "-1: -2: -a: -e: -j: -o: -t: -v:",
    "ls": "-I: -T: -w: --hide: --ignore:",
    "nl": "-b: -d: -f: -h: -i: -l: -n: -s: -v: -w:",
    "od": "-A: -j: -N: -S: -t: -w",
    "paste": "-d: --delimiters:",
    "stat": "-c: --format: --printf:",
    "strings": "-e: -n: -t:",
    "tail": "-c: -n: -s: --bytes: --lines: --pid: --sleep-interval:",
    "tree": "-I: -L: -P: -o!",
}
# Programs that print, unless a word or an option names a file to write.
READERS = frozenset(
    listed("awk curl fd fdfind find gawk gfind git gsed less mawk nawk perl sed shuf sort tree uniq wget xxd yq")
)
"""A rule about the name of such a program is no leave to write."""
_WRITES_BY_OPTION = listed("as c++ cc clang clang++ g++ gcc gpg iconv ld pandoc shuf strace tcpdump time")

PATH_WORDS: dict[str, PathWords] = {
    **dict.fromkeys(_READS_ALL, _paths("read")),
    **{name: _paths("read", options) for name, options in _READS_BUT.items()},
    **dict.fromkeys(
        _WRITES_ALL, _paths("write", "-s: --size: -r% --reference% -o: -l: -m: --mode: -c: -d: -t: --date:")
    ),
    **dict.fromkeys(_REMOVES_ALL, _paths("remove", "-n: -s: --iterations: --size:")),
    **dict.fromkeys(
        ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "compress"), _paths("write", "-S: -o!")
    ),
    **dict.fromkeys(("grep", "fgrep", "zgrep", "rg", "ag"), _GREP),
    "rm": _paths(
        "remove",
        "-r -R -f -i -I -d -v --recursive --force --dir --one-file-system --no-preserve-root --preserve-root",
        recursive=_RECURSIVE,
    ),
    "mkdir": _paths("write", "-m: --mode: -p -v"),
    "cp": _paths("read", _COPY, last="write", recursive=_words("-r -R -a --recursive --archive")),
    "mv": _paths("remove", _COPY, last="write", recursive=_words("")),
    "ln": _paths("read", _COPY, last="write"),
    "link": _paths("read", last="write"),
    "install": _paths("read", _COPY + " -m: -o: -g: --mode: --owner: --group: -d -D -v", last="write"),
    "dd": _paths(None, keys={"of": "write", "if": "read"}),
    "chmod": _paths("write", "--reference%" + _RECURSES, skip=1, recursive=_RECURSIVE),
    "chown": _paths("write", "--reference% --from:" + _RECURSES, skip=1, recursive=_RECURSIVE),
    "chgrp": _paths("write", "--reference%" + _RECURSES, skip=1, recursive=_RECURSIVE),
    "setfacl": _paths("write", "-m: -x: -M% -X%", recursive=_RECURSIVE),
    **dict.fromkeys(
        ("sed", "gsed"),
        _paths(
            "write",
            "-e: -f% -l: --expression: --file% -n -E -r -i -s -u -z",
            skip=1,
            only_with=_words("-i --in-place"),
            skip_unless=_words("-e -f --expression --file"),
        ),
    ),
    "perl": _paths("write", "-e: -E: -M: -I: -F: -n -p -i -l -a -w -0", only_with=_words("-i")),
    **dict.fromkeys(
        ("awk", "gawk", "mawk", "nawk"),
        _paths(
            "read",
            "-F: -v: -f% -o! -p! -d! --pretty-print! --profile! --dump-variables!",
            skip=1,
            skip_unless=_words("-f"),
        ),
    ),
    "git": _paths(None, "--output! --output-directory!"),
    "less": _paths("read", "-o! -O! -k% --log-file! --LOG-FILE! --lesskey-file%"),
    "uniq": _paths("read", "-f: -s: -w:", last="write"),
    "xxd": _paths("read", "-c: -g: -l: -o: -s:", last="write"),
    "yq": _paths("write", "-i --inplace", skip=1, only_with=_words("-i --inplace")),
    **dict.fromkeys(_WRITES_BY_OPTION, _paths(None, "-o! -w! --output!")),
    "jq": _paths("read", "-f% --arg: --indent: -r -c -n -s -e", skip=1, skip_unless=_words("-f")),
    "sort": _paths("read", "-o! --output! -k: -t: -S: -T: --key: --field-separator:"),
    "split": _paths("read", "-a: -b: -C: -l: -n: -t:", last="write"),
    "patch": _paths("write", "-i% -o! -d! -p: -B: -F: -r!"),
    "tar": _paths(
        "read",
        "-f! --file! -C! --directory! -T% -X% -I: -c -x -t -r -u -v -z -j -J --create --append --update --extract",
        is_bundled=True,
        only_with=_words("-c -r -u -x --create --append --update --extract --get --delete"),
    ),
    "zip": _paths("read", "-b! -i: -x: -t: -r -q"),
    "unzip": _paths("read", "-d! -x: -P: -o -q -l"),
    "rsync": _paths("read", _TRANSFER, last="write"),
    "scp": _paths("read", _TRANSFER, last="write", recursive=_RECURSIVE),
    "curl": _paths(
        None,
        "-o! --output! -T% --upload-file% -K% --config% -d# --data# --data-binary# "
        "--data-raw: --data-urlencode# "
        "-F# --form# -H: --header: -X: --request: -u: --user: -A: -e: -b# --cookie# -c! "
        "--cookie-jar! -E% --cert% --key% "
        "-x: --proxy: -m: --max-time: --retry: --connect-timeout: -w: --write-out: -D! "
        "--dump-header! -L -s -S -f -k -i "
        "-I -O -J -v -g -G --json# --url: --resolve: --output-dir!",
        names_by_address=_words("-O --remote-name -J"),
    ),
    "wget": _paths(
        None,
        "-O! --output-document! -o! --output-file! -a! -P! --directory-prefix! -i% "
        "--input-file% --post-file% "
        "--body-file% --post-data: --header: -U: -t: -T: -w: --user: --password: "
        "--load-cookies% --save-cookies! -q -c",
        names_by_address=frozenset[str](),
    ),
    **dict.fromkeys(("fd", "fdfind"), _paths("read", "-e: -t: -E: -d: -x: -X:", skip=1)),
    "mount": _paths("write", "-t: -o: -L: -U:"),
    "umount": _paths("write", "-t: -O:"),
    "crontab": _paths("read", "-u:"),
    **dict.fromkeys(("bash", "sh", "python", "python3", "node", "ruby"), _paths("read", "-c: -m: -e: -o: -W: -X: -r%")),
}
