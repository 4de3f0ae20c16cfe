"""Tools with a trade of their own that run commands beside it: through options, settings or subcommands.

Options are written as in ``program_table``.
"""

from __future__ import annotations

from amplifier_modkit.shell.commands import Mark
from amplifier_modkit.shell.programs import Form, Program, program
from amplifier_modkit.shell.words import listed

_REMOTE = frozenset({Mark.REMOTE})
_CONTAINER = frozenset({Mark.CONTAINER})
_RUNS_FILE = frozenset({Mark.RUNS_FILE})

GIT_KEYS = listed(
    "alias.* browser.*.cmd browser.*.path core.alternaterefscommand core.askpass "
    "core.editor "
    "core.fsmonitor core.gitproxy core.hookspath core.pager core.sshcommand "
    "credential.helper "
    "credential.*.helper diff.external diff.*.command diff.*.textconv difftool.*.cmd "
    "difftool.*.path "
    "filter.*.clean filter.*.process filter.*.smudge gpg.program gpg.*.program "
    "guitool.*.cmd "
    "include.path includeif.*.path init.templatedir instaweb.browser instaweb.httpd "
    "interactive.difffilter man.*.cmd merge.*.driver "
    "mergetool.*.cmd mergetool.*.path "
    "pager.* remote.*.receivepack remote.*.uploadpack remote.*.vcs sequence.editor "
    "submodule.*.update "
    "tar.*.command trailer.*.cmd trailer.*.command uploadpack.packobjectshook "
    "web.browser"
)
_GIT = (
    "-C: -c= -p -P -h? -v? --version? --help? --git-dir: --work-tree: --namespace: "
    "--super-prefix: --config-env% --exec-path% "
    "--paginate --no-pager --bare --no-replace-objects --literal-pathspecs "
    "--no-optional-locks --attr-source:"
)
_GIT_FETCH = program(
    Form.PLAIN,
    "-u! --upload-pack! -c= --config= --template@ -o: --server-option: -j: -b: "
    "--depth: "
    "--branch: --origin: --reference: --jobs:",
    is_permuted=True,
    keys=GIT_KEYS,
)
_GIT_PUSH = program(Form.PLAIN, "--receive-pack! --exec! -o: --push-option:", is_permuted=True)
_GIT_REBASE = program(Form.PLAIN, "-x! --exec! -s: -X: -C: --onto:", is_permuted=True)
_GIT_FILTER = program(
    Form.PLAIN,
    "--env-filter! --tree-filter! --index-filter! --parent-filter! --msg-filter! "
    "--commit-filter! "
    "--tag-name-filter! --setup! -d: --subdirectory-filter: --original:",
    is_permuted=True,
)
_GIT_SUBCOMMANDS: dict[str, Program] = {
    "archive": program(Form.PLAIN, "--exec! --remote: --format: --prefix: -o: --output:", is_permuted=True),
    "bisect": program(Form.SUBCOMMANDS, subcommands={"run": program(Form.COMMAND)}),
    "clone": _GIT_FETCH,
    "commit": program(
        Form.PLAIN,
        "-m: -F: -C: -c: -t: --message: --file: --author: --date: --template: --trailer: --fixup: --squash:",
        is_permuted=True,
    ),
    "config": program(
        Form.SETTING,
        "-f: --file: --blob: --type: --default: --global --system --local --worktree "
        "--add --get? "
        "--get-all? --get-regexp? -l? --list? --unset? --unset-all? --replace-all -z",
        keys=GIT_KEYS,
    ),
    "difftool": program(Form.PLAIN, "-x! --extcmd! -t: --tool:", is_permuted=True),
    "fetch": _GIT_FETCH,
    "fetch-pack": _GIT_FETCH,
    "filter-branch": _GIT_FILTER,
    "grep": program(Form.PLAIN, "-O! --open-files-in-pager! -e: -f: -A: -B: -C: -m:", is_permuted=True),
    "instaweb": program(Form.PLAIN, "-b! --browser! -d! --httpd! -p: -m:", is_permuted=True),
    "ls-remote": _GIT_FETCH,
    "pull": _GIT_FETCH,
    "push": _GIT_PUSH,
    "rebase": _GIT_REBASE,
    "remote-ext": program(Form.TEXT, skip=1),
    "send-email": program(
        Form.PLAIN, "--smtp-server! --to-cmd! --cc-cmd! --sendmail-cmd! --header-cmd!", is_permuted=True
    ),
    "send-pack": _GIT_PUSH,
    "submodule": program(
        Form.SUBCOMMANDS,
        "-q --quiet --cached",
        subcommands={"foreach": program(Form.TEXT, "--recursive -q")},
    ),
}

_DOCKER_RUN = program(
    Form.COMMAND,
    "-d -i -t -P -q --rm --privileged --init --detach --interactive --tty "
    "--read-only --no-healthcheck --quiet --publish-all "
    "-a: -c: -e: -h: -l: -m: -p: -u: -v: -w: --add-host: --cap-add: --cap-drop: "
    "--cpus: --device: --dns: --entrypoint! --env: "
    "--env-file: --expose: --gpus: --hostname: --ip: --ipc: --label: --link: "
    "--log-driver: --log-opt: --memory: --mount: --name: "
    "--net: --network: --network-alias: --pid: --platform: --publish: --pull: "
    "--restart: --runtime: --security-opt: --shm-size: "
    "--stop-signal: --sysctl: --tmpfs: --ulimit: --user: --userns: --volume: "
    "--volumes-from: --workdir:",
    skip=1,
    marks=_CONTAINER,
)
_DOCKER_EXEC = program(
    Form.COMMAND,
    "-d -i -t --detach --interactive --tty --privileged -e: -u: -w: --env: "
    "--env-file: --user: --workdir: "
    "-c: -n: --container: --namespace: --index:",
    skip=1,
    resumes=True,
    marks=_CONTAINER,
)
_DOCKER = program(
    Form.SUBCOMMANDS,
    "-D -H: -l: -c: --config: --context: --host: --log-level: --debug --tls",
    subcommands={
        "run": _DOCKER_RUN,
        "create": _DOCKER_RUN,
        "exec": _DOCKER_EXEC,
        "container": program(
            Form.SUBCOMMANDS, subcommands={"run": _DOCKER_RUN, "create": _DOCKER_RUN, "exec": _DOCKER_EXEC}
        ),
        "compose": program(
            Form.SUBCOMMANDS,
            "-f: -p: --file: --project-name: --profile: --env-file:",
            subcommands={"run": _DOCKER_RUN, "exec": _DOCKER_EXEC},
        ),
    },
)

_SSH = (
    "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V? -v -X -x -Y -y -B: -b: "
    "-c: -D: -E: -e: -F@ -I@ -i: -J: -L: -l: "
    "-m: -O: -o= -P: -p: -Q: -R: -S: -W: -w:"
)
_SSH_KEYS = (
    "include",
    "proxycommand",
    "localcommand",
    "knownhostscommand",
    "pkcs11provider",
    "securitykeyprovider",
    "xauthlocation",
)
_RUN = program(
    Form.COMMAND,
    "-n: -p: -m: --name: --prefix: --with: --python: --extra: --group: --env-file: "
    "--directory: --project: "
    "--package: --only-group: --no-project --isolated --frozen --locked --offline "
    "--quiet -q -v",
)
_EXEC = program(Form.SUBCOMMANDS, subcommands={"exec": program(Form.COMMAND)})
_RUNNER = program(
    Form.SUBCOMMANDS,
    "-C: --directory: --project: -q",
    subcommands={"run": _RUN, "tool": program(Form.SUBCOMMANDS, subcommands={"run": _RUN})},
)
_EXEC_IN = program(
    Form.SUBCOMMANDS, subcommands={"exec": program(Form.COMMAND, skip=1), "run": program(Form.COMMAND, skip=1)}
)
_NPX = program(Form.COMMAND, "-c! --call! -p: --package: -y --yes -q --quiet --no --no-install")
_NPM = program(
    Form.SUBCOMMANDS,
    "-C: --prefix: -w: --workspace: -s --silent -g --script-shell! --shell! --editor! --viewer! --node-options%",
    subcommands={"exec": _NPX, "x": _NPX, "dlx": _NPX, "explore": program(Form.COMMAND, skip=1)},
)
_TAR = (
    "-c -x -t -r -u -A -d -v -z -j -J -Z -a -p -P -h -k -O -m -o -S -w -W -l -f: -C: "
    "-T: -X: -b: -g: -H: -K: -L: -N: -V: -I! -F! "
    "--checkpoint-action= --to-command! --use-compress-program! --info-script! "
    "--new-volume-script! --rsh-command! --rmt-command! "
    "--checkpoint: --file: --directory: --exclude: --files-from: --exclude-from: "
    "--transform: --strip-components: --owner: --group: "
    "--mode: --mtime: --format: --delete --extract --create --list --gzip --bzip2 "
    "--xz --zstd --verbose --get --append --update"
)

TOOLS: dict[str, Program] = {
    "git": program(Form.SUBCOMMANDS, _GIT, keys=GIT_KEYS, subcommands=_GIT_SUBCOMMANDS),
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "docker-compose": program(Form.SUBCOMMANDS, "-f: -p:", subcommands={"run": _DOCKER_RUN, "exec": _DOCKER_EXEC}),
    "kubectl": program(
        Form.SUBCOMMANDS, "-n: --namespace: --context: --kubeconfig:", subcommands={"exec": _DOCKER_EXEC}
    ),
    "ssh": program(Form.TEXT, _SSH, skip=1, resumes=True, keys=_SSH_KEYS, marks=_REMOTE, by_input="script"),
    "mosh": program(Form.TEXT, "--ssh! --server! -p: -a -n", skip=1, resumes=True, marks=_REMOTE),
    "scp": program(
        Form.PLAIN,
        "-S! -D! -o= -F@ -i: -c: -J: -l: -P: -X: -r -p -q -v -C -3 -4 -6 -A -B -O -s -T",
        keys=_SSH_KEYS,
        is_permuted=True,
    ),
    "sftp": program(
        Form.PLAIN, "-S! -D! -o= -b@ -F@ -i: -c: -J: -l: -P: -B: -R: -s: -X:", keys=_SSH_KEYS, is_permuted=True
    ),
    "rsync": program(
        Form.PLAIN,
        "-e! --rsh! --rsync-path! -f: --filter: --exclude: --include: --files-from: "
        "--out-format: -M: "
        "--log-file: --temp-dir: -T: -B:",
        is_permuted=True,
    ),
    "find": program(Form.ACTIONS, keys=("-exec", "-execdir", "-ok", "-okdir")),
    **dict.fromkeys(
        ("fd", "fdfind"),
        program(Form.ACTIONS, "-c: -d: -e: -E: -j: -o: -S: -t:", keys=("-x", "-X", "--exec", "--exec-batch")),
    ),
    "parallel": program(
        Form.TEMPLATE,
        "-j: -n: -N: -P: -I: -a: -S: -d: -L: --jobs: --arg-file: --colsep: --delay: "
        "--results: "
        "--joblog: --retries: --timeout: --sshlogin: --delimiter: -k -q -t -v -X -m -0 "
        "--bar --eta --dry-run "
        "--keep-order --pipe --progress --ungroup -u --will-cite --halt: --tmpdir: "
        "--no-run-if-empty -r",
    ),
    "watch": program(
        Form.TEXT, "-n: -d -b -c -e -g -p -q: -t -w -x --interval: --differences --exec --no-title --color"
    ),
    "script": program(
        Form.COMMAND,
        "-c! --command! -a -d -e -f -k -p -q -r -B: -E: -I: -O: -T: -m: -o: --append --flush --force --quiet --return",
        skip=1,
        resumes=True,
        by_input="script",
    ),
    "tar": program(Form.PLAIN, _TAR, is_permuted=True, is_bundled=True, keys=("exec",)),
    "make": program(
        Form.PLAIN,
        "--eval% -f@ --file@ --makefile@ -C: --directory: -I: -j -k -n -s -B -e -i -o: -W:",
        is_permuted=True,
        marks=_RUNS_FILE,
        language="make",
    ),
    "cmake": program(Form.PLAIN, "-P@ -C@", is_permuted=True),
    "man": program(Form.PLAIN, "-P! --pager! -H! --html! -C@ -l: -L: -M: -S:", is_permuted=True),
    "less": program(
        Form.PLAIN, "-k@ --lesskey-file@ --lesskey-src@ --lesskey-content%", plus_is_code=True, is_permuted=True
    ),
    "more": program(Form.PLAIN, plus_is_code=True, is_permuted=True),
    "zip": program(Form.PLAIN, "-TT! --unzip-command!", is_permuted=True),
    "sort": program(
        Form.PLAIN, "--compress-program! -k: -t: -o: -S: -T: --key: --output: --field-separator:", is_permuted=True
    ),
    "split": program(Form.PLAIN, "--filter! -a: -b: -C: -l: -n: -t: --lines: --bytes: --number:", is_permuted=True),
    "rg": program(
        Form.PLAIN,
        "--pre! --hostname-bin! -e: -f: -g: -t: -A: -B: -C: -m: -j: -r: --glob: --regexp: --type:",
        is_permuted=True,
    ),
    "tcpdump": program(Form.PLAIN, "-z! -w: -r: -i: -c: -C: -G: -W: -s: -F:", is_permuted=True),
    "nc": program(Form.PLAIN, "-e! -c! -p: -s: -w: -q: -x: -X: -i: -I: -O: -T: -V: -m:", is_permuted=True),
    "ncat": program(Form.PLAIN, "-e! -c! --exec! --sh-exec! --lua-exec@ -p: -s: -w:", is_permuted=True),
    "netcat": program(Form.PLAIN, "-e! -c! -p: -s: -w: -q:", is_permuted=True),
    "socat": program(
        Form.ADDRESSES, "-b: -t: -T: -l: -d -v -x -u -U", is_permuted=True, keys=("exec", "system", "shell")
    ),
    "watchexec": program(Form.TEXT, "-w: -e: -f: -i: -s: -n -r -c"),
    "start-stop-daemon": program(Form.PLAIN, "-a! -x! --startas! --exec!", is_permuted=True),
    "cmd": program(Form.PLAIN, marks=frozenset({Mark.RUNS_CODE})),
    **dict.fromkeys(("newgrp", "sg"), program(Form.PLAIN, "-c!", is_permuted=True, by_input="script")),
    "lxc": _EXEC_IN,
    "singularity": _EXEC_IN,
    "apptainer": _EXEC_IN,
    "multipass": _EXEC_IN,
    "aws-vault": _EXEC_IN,
    "chamber": _EXEC_IN,
    "perf": program(Form.SUBCOMMANDS, subcommands=dict.fromkeys(("stat", "record", "trace"), program(Form.COMMAND))),
    "npm": _NPM,
    "pnpm": _NPM,
    "yarn": _NPM,
    "npx": _NPX,
    "bunx": _NPX,
    "pnpx": _NPX,
    **dict.fromkeys(
        ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "op", "doppler"), _RUNNER
    ),
    "uvx": _RUN,
    **dict.fromkeys(("bundle", "pyenv", "rbenv", "nodenv", "asdf", "mise", "direnv"), _EXEC),
    "nix-shell": program(Form.PLAIN, "--run! --command! -p: -A: -E%", is_permuted=True, by_input="script"),
    "ssh-keygen": program(Form.PLAIN, "-D@ -w@ -f: -t: -C: -N: -P: -b:", is_permuted=True),
    "cargo": program(
        Form.PLAIN, "--config=", is_permuted=True, keys=("build.rustc-wrapper", "target.*.runner", "alias.*")
    ),
    "rustc": program(Form.PLAIN, "-C=", is_permuted=True, keys=("linker",)),
    "go": program(Form.PLAIN, "-toolexec! -exec! -vettool%", is_permuted=True),
    **dict.fromkeys(
        ("gcc", "g++", "cc", "c++", "clang", "clang++"),
        program(Form.PLAIN, "-wrapper% -fplugin% -specs% -B% -load%", is_permuted=True),
    ),
    "wget": program(Form.PLAIN, "--use-askpass! -e= --execute=", is_permuted=True, keys=("use_askpass", "use-askpass")),
    "gpg": program(
        Form.PLAIN, "--agent-program! --dirmngr-program! --photo-viewer! --pinentry-program!", is_permuted=True
    ),
    **dict.fromkeys(
        ("apt", "apt-get"),
        program(Form.PLAIN, "-o= --option= -c@ --config-file@", is_permuted=True, keys=("*-invoke*",)),
    ),
    "cpio": program(Form.PLAIN, "--rsh-command! -F: -I: -O: -H: -D: -E: -R:", is_permuted=True),
    "curl": program(
        Form.PLAIN,
        "-K@ --config@ -A: -b: -c: -C: -d: -D: -e: -E: -F: -h: -H: -m: -o: -P: -Q: -r: -t: -T: -u: -U: -w: -x: -X: -y: "
        "-Y: -z:",
        is_permuted=True,
    ),
    **dict.fromkeys(
        listed("latex lualatex pdflatex pdftex tex xelatex"),
        program(Form.PLAIN, "-shell-escape^ --shell-escape^ -enable-write18^ --enable-write18^", is_permuted=True),
    ),
    "nano": program(Form.PLAIN, "-s! --speller!", is_permuted=True),
    "openssl": program(Form.PLAIN, "-engine@ -provider@ -provider-path@", is_permuted=True),
    "xmllint": program(Form.PLAIN, "--shell^", is_permuted=True),
    "lftp": program(Form.PLAIN, "-c% -e% -f@", is_permuted=True, by_input="code"),
    "ftp": program(Form.PLAIN, by_input="code", is_permuted=True),
    "bat": program(Form.PLAIN, "--pager!", is_permuted=True),
    "fzf": program(Form.PLAIN, "--preview! --bind%", is_permuted=True),
    "nodemon": program(Form.PLAIN, "-x! --exec!", is_permuted=True),
    "ansible": program(Form.PLAIN, "-a!", is_permuted=True, marks=_REMOTE),
    "vagrant": program(
        Form.SUBCOMMANDS, subcommands={"ssh": program(Form.PLAIN, "-c! --command!", is_permuted=True, marks=_REMOTE)}
    ),
    "adb": program(Form.SUBCOMMANDS, "-s: -d -e", subcommands={"shell": program(Form.TEXT, marks=_REMOTE)}),
    "oc": program(Form.SUBCOMMANDS, "-n: --namespace:", subcommands={"exec": _DOCKER_EXEC, "rsh": _DOCKER_EXEC}),
    "toolbox": _RUNNER,
}
