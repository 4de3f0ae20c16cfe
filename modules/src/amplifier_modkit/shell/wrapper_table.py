"""Programs whose trade it is to run another one: under a limit, in another place, as another user.

Options are written as in ``program_table``.
"""

from __future__ import annotations

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.programs import Form, Program, program
from amplifier_modkit.shell.words import listed

_WRAPPER = frozenset({Mark.WRAPPER})
_PRIVILEGED = frozenset({Mark.PRIVILEGED})
_SUDO = (
    "-A -b -E -e -H -i -K -k -l? -n -P -S -s -V? -v? -C: -D: -g: -h: -p: -R: -r: -T: "
    "-t: -U: -u: --askpass --background "
    "--preserve-env --edit --login --non-interactive --stdin --shell --user: "
    "--group: --chdir: --prompt: --host: --role: "
    "--type: --list? --version? --set-home --reset-timestamp --remove-timestamp "
    "--validate? --close-from: --chroot: "
    "--command-timeout: --other-user: --preserve-groups --bell"
)
_ENV = (
    "-i -0 -v -u: -C: -S~ -a: --ignore-environment --null --unset: --chdir: "
    "--split-string~ --debug --argv0: "
    "--block-signal --default-signal --ignore-signal --list-signal-handling"
)
_XARGS = (
    "-0 -r -t -p -x -o -I: -i -n: -P: -L: -l -s: -d: -a: -E: -e --null "
    "--no-run-if-empty --verbose --interactive --exit "
    "--open-tty --replace --max-args: --max-procs: --max-lines --max-chars: "
    "--delimiter: --arg-file: --eof "
    "--process-slot-var: --show-limits"
)
WRAPPERS: dict[str, Program] = {
    "-": program(Form.COMMAND, marks=_WRAPPER),
    "builtin": program(Form.COMMAND, marks=_WRAPPER),
    "command": program(Form.COMMAND, "-p -v? -V?", marks=_WRAPPER),
    "env": program(Form.COMMAND, _ENV, takes_assignments=True, marks=_WRAPPER),
    "exec": program(Form.COMMAND, "-c -l -a:", marks=_WRAPPER),
    "ionice": program(Form.COMMAND, "-c: -n: -p? -P? -u? -t --class: --classdata: --pid? --ignore", marks=_WRAPPER),
    "nice": program(Form.COMMAND, "-n: --adjustment:", marks=_WRAPPER),
    "nohup": program(Form.COMMAND, marks=_WRAPPER),
    "noglob": program(Form.COMMAND, marks=_WRAPPER),
    "setsid": program(Form.COMMAND, "-c -f -w --ctty --fork --wait", marks=_WRAPPER),
    "stdbuf": program(Form.COMMAND, "-i: -o: -e: --input: --output: --error:", marks=_WRAPPER),
    "time": program(
        Form.COMMAND, "-p -v -a -q -o: -f: --portability --verbose --append --output: --format:", marks=_WRAPPER
    ),
    "timeout": program(
        Form.COMMAND,
        "-v -k: -s: --verbose --foreground --preserve-status --kill-after: --signal:",
        skip=1,
        marks=_WRAPPER,
    ),
    "unbuffer": program(Form.COMMAND, "-p", marks=_WRAPPER),
    "chrt": program(Form.COMMAND, "-b -d -f -i -o -r -R -a -p? -m? -v", skip=1),
    "taskset": program(Form.COMMAND, "-a -p? -c --all-tasks --pid? --cpu-list", skip=1),
    "caffeinate": program(Form.COMMAND, "-d -i -m -s -u -t: -w:"),
    "faketime": program(Form.COMMAND, "-m -f --exclude-monotonic", skip=1),
    "fakeroot": program(Form.COMMAND, "-u -l: -f: -i: -s: -b: --lib: --faked: --unknown-is-real", by_input="script"),
    "flock": program(
        Form.COMMAND,
        "-s -x -e -u -n -o -F -v -w: -E: -c! --shared --exclusive --unlock --nonblock "
        "--close --no-fork --verbose --timeout: --wait: --conflict-exit-code: --command!",
        skip=1,
        resumes=True,
    ),
    "prlimit": program(Form.COMMAND),
    "proxychains": program(Form.COMMAND, "-q -f:"),
    "proxychains4": program(Form.COMMAND, "-q -f:"),
    "torsocks": program(Form.COMMAND),
    "torify": program(Form.COMMAND),
    "setpriv": program(Form.COMMAND),
    "setarch": program(Form.COMMAND, "-R -v", skip=1, may_skip_none=True, by_input="script"),
    "linux32": program(Form.COMMAND, "-R -v", by_input="script"),
    "linux64": program(Form.COMMAND, "-R -v", by_input="script"),
    "strace": program(
        Form.COMMAND,
        "-f -ff -c -C -d -D -i -k -n -q -r -t -T -v -V -w -x -y -z -Z -a: -b: -e: -E: "
        "-I: -o: -O: -p: "
        "-P: -s: -S: -u: -U: -X:",
    ),
    "ltrace": program(
        Form.COMMAND, "-b -c -C -f -i -L -r -S -t -T -V -a: -A: -D: -e: -F: -l: -n: -o: -p: -s: -u: -w: -x:"
    ),
    "valgrind": program(Form.COMMAND),
    "xvfb-run": program(Form.COMMAND, "-a -l -n: -e: -f: -p: -s: -w: --auto-servernum --server-num: --server-args:"),
    "dbus-run-session": program(Form.COMMAND),
    "entr": program(Form.COMMAND, "-a -c -d -n -p -r -s -x -z"),
    "rlwrap": program(Form.COMMAND),
    "busybox": program(Form.COMMAND, "--list? --help?"),
    "toybox": program(Form.COMMAND, "--list? --help?"),
    "xargs": program(Form.COMMAND, _XARGS, appends_input=True, marks=_WRAPPER),
    "chroot": program(Form.COMMAND, "--userspec: --groups: --skip-chdir", skip=1, marks=_PRIVILEGED),
    "unshare": program(Form.COMMAND, by_input="script"),
    "nsenter": program(Form.COMMAND, marks=_PRIVILEGED),
    "bwrap": program(Form.COMMAND),
    "firejail": program(Form.COMMAND, by_input="script"),
    "systemd-run": program(Form.COMMAND, marks=_PRIVILEGED),
    "sudo": program(Form.COMMAND, _SUDO, takes_assignments=True, marks=_PRIVILEGED),
    "doas": program(Form.COMMAND, "-L? -n -s -C: -u: -a:", marks=_PRIVILEGED),
    "pkexec": program(Form.COMMAND, "--user: --disable-internal-agent --keep-cwd", marks=_PRIVILEGED),
    "su": program(
        Form.PLAIN,
        "-l -m -p -f -P -c! -s: -g: -G: -w: --command! --login --shell: --session-command! --group:",
        is_permuted=True,
        marks=_PRIVILEGED,
    ),
    "runuser": program(
        Form.COMMAND, "-l -m -p -f -P -c! -s: -u: -g: -G: --command! --login --user:", marks=_PRIVILEGED
    ),
    "ld.so": program(Form.COMMAND, "--list? --verify? --inhibit-cache --library-path: --preload@ --argv0: --audit@"),
    "cgexec": program(Form.COMMAND, "-g: --sticky"),
    "chpst": program(
        Form.COMMAND, "-u: -U: -b: -e: -m: -d: -o: -p: -f: -c: -t: -l: -L: -v -V -P -0 -1 -2", marks=_PRIVILEGED
    ),
    "gosu": program(Form.COMMAND, skip=1, marks=_PRIVILEGED),
    "su-exec": program(Form.COMMAND, skip=1, marks=_PRIVILEGED),
    "setuidgid": program(Form.COMMAND, skip=1, marks=_PRIVILEGED),
    "s6-setuidgid": program(Form.COMMAND, skip=1, marks=_PRIVILEGED),
    "envdir": program(Form.COMMAND, skip=1),
    "trickle": program(Form.COMMAND, "-s -d: -u: -w: -t: -l: -n: -L:"),
    "sshpass": program(Form.COMMAND, "-p: -f: -d: -e -P: -v"),
    "cpulimit": program(Form.COMMAND, "-l: -p: -e: -i -z -v --limit:"),
    "numactl": program(Form.COMMAND),
    "tini": program(Form.COMMAND, "-s -g -w -v -p: -e:"),
    **dict.fromkeys(
        listed(
            "catatonit catchsegv choom chronic cross-env daemonize dbus-launch dotenv "
            "dumb-init eatmydata env-cmd "
            "fakechroot flatpak-spawn gamemoderun gpg-agent ifne mpiexec mpirun "
            "proot runcon srun ssh-agent "
            "systemd-inhibit uclampset xinit"
        ),
        program(Form.COMMAND, takes_assignments=True),
    ),
    # Their words are shell texts in a way of their own, or typed into a terminal that lives on.
    **dict.fromkeys(
        listed("abduco byobu capsh concurrently coreutils dtach hyperfine npm-run-all pdsh pee pssh screen tmux xterm"),
        program(Form.PLAIN, marks=frozenset({Mark.OPAQUE})),
    ),
}
