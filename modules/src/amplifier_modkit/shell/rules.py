"""What the safety profiles refuse and what they ask about, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.predicates import (
    Predicate,
    both,
    changes_protected,
    either,
    has_odd_name,
    has_open_arguments,
    has_open_words,
    has_word,
    is_dynamic,
    marked,
    may_be_more,
    mentions_danger,
    named,
    opens_connection,
    reads_endlessly,
    redirects_anywhere,
    removes_above,
    removes_all_found,
    removes_here,
    removes_protected,
    searches_protected,
    sets_library_variable,
    sets_loaded_variable,
    signals_everybody,
    word_fits,
    writes_anywhere,
    writes_device,
    writes_startup_file,
    writes_system_file,
)
from amplifier_modkit.shell.scenarios import Scenario, fork_bombs, hidden_scripts, sent_secrets, written_then_run
from amplifier_modkit.shell.terms import Decision, Profile
from amplifier_modkit.shell.words import listed

Level = Literal["ruinous", "privileged", "harmful", "doubtful", "unfollowed", "unseen"]

DECISIONS: dict[Level, dict[Profile, Decision]] = {
    # Beyond repair, whoever asks for it.
    "ruinous": {"strict": "deny", "standard": "deny", "permissive": "deny"},
    # For administrators.
    "privileged": {"strict": "deny", "standard": "deny", "permissive": "allow"},
    "harmful": {"strict": "deny", "standard": "ask", "permissive": "allow"},
    "doubtful": {"strict": "ask", "standard": "ask", "permissive": "allow"},
    # What is run cannot be told from the text.
    "unfollowed": {"strict": "ask", "standard": "ask", "permissive": "ask"},
    # Code in another language is run, which is not read here.
    "unseen": {"strict": "ask", "standard": "allow", "permissive": "allow"},
}
"""What each level means in each profile; ``unrestricted`` allows everything."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A danger in one command."""

    id: str
    level: Level
    reason: str
    when: Predicate


@dataclass(frozen=True, slots=True)
class TextRule:
    """A danger in a text as a whole."""

    id: str
    level: Level
    reason: str
    when: Scenario


_FORMATS = listed(
    "blkdiscard cfdisk cryptsetup fdisk gdisk hdparm lvremove mdadm mke2fs mkfs "
    "mkfs.* mkswap newfs* "
    "parted pvremove sfdisk sgdisk vgremove wipefs zpool"
)
_ACCOUNTS = listed(
    "addgroup adduser chage chfn chgpasswd chpasswd chsh delgroup deluser dscl "
    "gpasswd groupadd groupdel "
    "groupmod newusers passwd useradd userdel usermod vigr vipw visudo"
)
_KERNEL = listed(
    "depmod dmsetup insmod kexec losetup modprobe mount pivot_root rmmod setcap "
    "setenforce swapoff "
    "swapon switch_root umount"
)

RULES: tuple[Rule, ...] = (
    Rule("remove-root", "ruinous", "it removes a folder that nobody removes as a whole", removes_protected),
    Rule("remove-above", "ruinous", "it removes the folder above", removes_above),
    Rule(
        "remove-here",
        "doubtful",
        "it removes everything in the current folder",
        either(both(named("rm"), removes_here), both(named("find", "gfind"), removes_all_found)),
    ),
    Rule("remove-unknown", "ruinous", "it is not known what it removes", both(named("rm"), may_be_more)),
    Rule(
        "remove-found",
        "ruinous",
        "it removes what it finds in a folder that nobody removes as a whole",
        both(named("find", "gfind", "fd", "fdfind"), has_word("rm", "shred", "unlink", "mv"), searches_protected),
    ),
    Rule(
        "open-words",
        "unseen",
        "a word that is not known may be options or several paths",
        either(
            both(named("chmod", "chown", "chgrp", "dd", "mv", "shred", "crontab", "systemctl", "init"), has_open_words),
            both(named("kill"), has_open_arguments),
        ),
    ),
    Rule(
        "unknown-target",
        "unseen",
        "it is not known where it writes",
        either(redirects_anywhere, both(named("tee", "dd"), writes_anywhere)),
    ),
    Rule("mentions-danger", "unseen", "it may run its words, which would be dangerous", mentions_danger),
    Rule("format-disk", "ruinous", "it formats or partitions disks", named(*_FORMATS)),
    Rule("write-device", "ruinous", "it writes to a device", writes_device),
    Rule(
        "endless-input",
        "privileged",
        "it copies from an endless device",
        both(named("dd"), reads_endlessly),
    ),
    Rule(
        "change-root",
        "ruinous",
        "it changes rights or owner of a folder of the system",
        both(named("chmod", "chown", "chgrp", "setfacl", "chattr"), changes_protected),
    ),
    Rule(
        "become-another",
        "privileged",
        "it runs as another user",
        either(
            named(
                "sudo",
                "su",
                "doas",
                "pkexec",
                "runuser",
                "sudoedit",
                "gksu",
                "gksudo",
                "kdesu",
                "kdesudo",
                "run0",
                "runas",
                "gsudo",
                "gosu",
                "su-exec",
                "sudo-rs",
            ),
            both(
                named("nsenter", "chroot", "systemd-run", "machinectl", "setpriv", "unshare"),
                has_word("-t", "-r", "--target"),
            ),
        ),
    ),
    Rule("accounts", "privileged", "it changes users or passwords", named(*_ACCOUNTS)),
    Rule("kernel", "privileged", "it changes mounts or the kernel", named(*_KERNEL)),
    Rule(
        "kernel-settings",
        "privileged",
        "it changes settings of the kernel",
        both(named("sysctl"), either(has_word("-w", "-p", "--write"), word_fits(r"[\w./-]+=.*"))),
    ),
    Rule(
        "power",
        "privileged",
        "it stops the machine",
        either(
            named("shutdown", "reboot", "halt", "poweroff"),
            both(named("init", "telinit"), word_fits("[06sS]")),
            both(
                named("systemctl", "loginctl"),
                has_word("poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency"),
            ),
        ),
    ),
    Rule(
        "signal-all",
        "harmful",
        "it ends every process",
        either(both(named("kill"), signals_everybody), named("killall5")),
    ),
    Rule("startup-file", "harmful", "it writes a file that runs by itself", writes_startup_file),
    Rule("system-file", "harmful", "it writes a file of the system", writes_system_file),
    Rule("crontab-remove", "harmful", "it removes scheduled jobs", both(named("crontab"), has_word("-r"))),
    Rule("crontab", "doubtful", "it changes scheduled jobs", both(named("crontab"), word_fits(r"(?!-l$|-u$).*"))),
    Rule(
        "firewall",
        "harmful",
        "it changes the firewall",
        either(
            both(
                named("iptables", "ip6tables", "iptables-*", "ip6tables-*"),
                has_word("-F", "-X", "-P", "-D", "-I", "-A", "--flush", "--policy"),
            ),
            both(named("nft"), has_word("flush", "delete", "add", "-f")),
            both(named("ufw"), has_word("disable", "reset", "delete")),
            both(named("pfctl"), has_word("-F", "-d")),
            named("iptables-restore", "ip6tables-restore"),
        ),
    ),
    Rule("connection", "harmful", "a redirection opens a network connection", opens_connection),
    Rule(
        "container-host",
        "harmful",
        "it gives a container the machine itself",
        both(
            named("docker", "podman", "nerdctl"),
            either(
                has_word("--privileged", "--pid=host", "--userns=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN"),
                word_fits(r"(?:-v|--volume=)?/(?:etc|usr|root|home|var/run/docker\.sock)?/?:.*|.*(?:src|source)=/,.*"),
            ),
        ),
    ),
    Rule(
        "loaded-variable",
        "doubtful",
        "it sets a variable that changes which programs run, or what they load",
        sets_loaded_variable,
    ),
    Rule(
        "shell-behaviour",
        "doubtful",
        "it changes how the shell reads what follows",
        either(
            named("alias", "bind", "fc", "complete", "compgen"),
            both(named("hash"), has_word("-p")),
            both(named("enable"), has_word("-f", "-n", "-d")),
            both(named("shopt"), has_word("-s", "-o")),
            both(named("set"), either(has_word("-k", "-H"), word_fits("history|histexpand|posix|keyword|physical"))),
        ),
    ),
    Rule("library-variable", "unseen", "it sets a variable that says from where code is loaded", sets_library_variable),
    Rule("odd-name", "doubtful", "the name of the program is easily mistaken", has_odd_name),
    Rule("dynamic-command", "unfollowed", "it is not known which program runs", is_dynamic),
    Rule("hidden-command", "unfollowed", "it runs commands that the text does not show", marked(Mark.OPAQUE)),
    Rule("inline-code", "unseen", "it runs code that is not read here", marked(Mark.RUNS_CODE)),
    Rule(
        "unknown-option",
        "unseen",
        "a word that is not known may be an option with which it runs something",
        marked(Mark.UNSURE),
    ),
)

TEXT_RULES: tuple[TextRule, ...] = (
    TextRule("fork-bomb", "ruinous", "a function starts itself again and again", fork_bombs),
    TextRule("hidden-script", "harmful", "a shell runs what was fetched or decoded", hidden_scripts),
    TextRule("sent-secret", "harmful", "it sends data away and names secrets", sent_secrets),
    TextRule("written-then-run", "doubtful", "it runs a file that it has written itself", written_then_run),
)
