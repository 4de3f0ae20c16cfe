"""Paths as a shell would come to them, and the places whose loss or change is beyond repair."""

from __future__ import annotations

import re
from collections.abc import Iterable

from amplifier_modkit.shell.answers import Answer, fits, may_fit, names_pattern, one_of, yes_if
from amplifier_modkit.shell.words import ANYTHING, Kind, Word, listed

PROTECTED = listed(
    "/ /applications /bin /boot /c /cygdrive /cygdrive/* /dev /etc /home /home/* "
    "/lib /lib32 /lib64 "
    "/library /media /mnt /mnt/c /opt /private /private/etc /private/var /proc /root "
    "/run /sbin /srv "
    "/sys /system /users /users/* /usr /usr/* /var /var/db /var/lib /var/log "
    "/var/mail /var/spool /var/www /volumes /volumes/* /windows c: "
    "c:/windows ~ ~* "
    "~/.config ~/.gnupg ~/.local ~/.ssh ~/desktop ~/documents ~/downloads ~/library "
    "~/pictures"
)
"""Folders that nobody removes as a whole; what is in a home folder is left to other rules."""
_HARMLESS_TREES = ("/dev/shm/*", "/var/tmp/*", "/var/folders/*", "/tmp/*")
_PROTECTED_TREES = ("/proc/*", "/sys/*", "/dev/*", "/boot/*")
SYSTEM_TREES = listed(
    "/etc/* /boot/* /usr/* /bin/* /sbin/* /lib/* /lib32/* /lib64/* /sys/* /proc/* "
    "/system/* /library/* "
    "/private/etc/* c:/windows/* /var/spool/cron*"
)
_OWN_TREES = ("/usr/local/*", "/usr/src/*")
STARTUP_FILES = listed(
    "~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases "
    "~/.profile ~/.zshrc "
    "~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout ~/.cshrc ~/.tcshrc ~/.kshrc ~/.login "
    "~/.logout "
    "~/.inputrc ~/.config/fish/* ~/.ssh/* ~/.pam_environment ~/.xprofile ~/.xinitrc "
    "~/.xsession* "
    "~/.config/autostart/* ~/.config/systemd/* ~/library/launchagents/* ~/.gitconfig "
    "~/.config/git/* "
    "~/.vimrc ~/.emacs* ~/.pythonrc* ~/.npmrc ~/.curlrc ~/.wgetrc ~/.direnvrc "
    "~/.local/bin/* "
    "~/.tmux.conf"
)
"""Files that run by themselves, or decide what runs."""
_WILD = re.compile(r"[*?\[]")
_WHOLE_FOLDER = re.compile(r"\.?(?:[*?]|\[[^\[\]]*\])*\*")
_HOMES = re.compile(r"(?:/home/[^/\0]+|/users/[^/\0]+|/root)(?=/|$)")
_MOST_FOLDERS = 8
_LONGEST = 300
# A star in a place stands for one name.
_PROTECTED_PLACE = re.compile("|".join(re.escape(place).replace(r"\*", "[^/]*") for place in PROTECTED))

_is_harmless = one_of(_HARMLESS_TREES)
_is_in_protected_tree = one_of(_PROTECTED_TREES)
_is_in_own_tree = one_of(_OWN_TREES)
_is_in_system_tree = one_of(SYSTEM_TREES)
_is_startup = one_of(STARTUP_FILES)


def spelled(word: Word) -> str:
    """The path as text, in lower case; home folders begin with ``~``, and ``ANYTHING`` stands for what is not known."""
    parts: list[str] = []
    for number, piece in enumerate(piece for piece in word.pieces if piece.text or piece.kind is Kind.TILDE):
        if piece.kind in (Kind.TEXT, Kind.GLOB):
            parts.append(piece.text)
        elif piece.kind is Kind.TILDE:
            parts.append("~" + piece.text.strip("+-"))
        elif piece.kind is Kind.NUMBER:
            parts.append("0")
        else:
            parts.append("~" if number == 0 and piece.kind is Kind.VARIABLE and piece.text == "HOME" else ANYTHING)
    return "".join(parts).casefold().replace("\\", "/")


def normal(path: str) -> str:
    """``path`` without detours; what leads above its start stays as ``..``.

    Above a home folder are the homes; what is above a place that is not known is not known either.
    """
    root = "/" if path.startswith("/") else ""
    names: list[str] = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        last = names[-1] if names else ""
        if name != ".." or (last in ("", "..") and not root):
            names.append(name)
        elif last.startswith("~") and len(names) == 1 and not root:
            root, names = "/", ["home"]
        elif ANYTHING in last:
            names[-1] = ANYTHING
        else:
            names = names[:-1]
    return root + "/".join(names) or "."


def whereabouts(path: str, folders: Iterable[str]) -> list[str]:
    """The normal paths that ``path`` may be, from here and from each of ``folders``."""
    if path.startswith(("/", "~")):
        return [normal(path)]
    return [normal(path), *(normal(f"{folder}/{path}") for folder in folders)]


def few(folders: Iterable[str]) -> list[str]:
    """The same without repetitions; if there are too many, one stands for whatever they are."""
    found = list(dict.fromkeys(folders))
    return found if len(found) <= _MOST_FOLDERS else [*found[:_MOST_FOLDERS], ANYTHING]


def is_protected(path: str) -> Answer:
    """Whether a normal path is a place to protect, or all that is in one."""
    folder, _, last = path.rpartition("/")
    is_contents = _WHOLE_FOLDER.fullmatch(last) is not None
    candidates = [path, folder or "/"] if is_contents and "/" in path else [path]
    return max(map(_is_one, candidates)) or yes_if(_is_in_protected_tree(path) and not _is_harmless(path))


def _is_one(path: str) -> Answer:
    folder, _, last = path.rpartition("/")
    if ANYTHING in last:
        # It may lead anywhere, over as many folders as it has dots for.
        return Answer.MAYBE
    if ANYTHING in folder:
        is_one = len(path) > _LONGEST or any(may_fit(place, path) for place in PROTECTED if "*" not in place)
        return Answer.MAYBE if is_one else Answer.NO
    if not _WILD.search(path):
        return yes_if(_PROTECTED_PLACE.fullmatch(path) is not None)
    # A wildcard of the shell stands for names that are there, so it is the pattern.
    is_rooted = path.startswith(("/", "~"))
    return yes_if(is_rooted and any(_stands_for(path, place) for place in PROTECTED if "*" not in place))


def _stands_for(path: str, place: str) -> bool:
    return path.count("/") == place.count("/") and fits(names_pattern(path), place)


def is_here(path: str) -> bool:
    """Whether a normal path is the current folder, or all that is in it."""
    return path == "." or _WHOLE_FOLDER.fullmatch(path) is not None


def is_above(path: str) -> bool:
    """Whether a normal path is a folder above the current one, or all that is in it."""
    *folders, last = path.split("/")
    return path.startswith("..") and all(name == ".." for name in folders) and (last == ".." or is_here(last))


def is_system_file(path: str) -> Answer:
    """Whether a normal path is inside of what belongs to the system."""
    return yes_if(_is_in_system_tree(path) and not _is_in_own_tree(path) and not _is_harmless(path))


def is_startup_file(path: str) -> Answer:
    """Whether a normal path is a file that runs by itself, in whatever home folder."""
    return yes_if(_is_startup(_HOMES.sub("~", path)))
