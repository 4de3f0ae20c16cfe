"""Variables that change which program runs, or what it loads and executes on the side."""

from __future__ import annotations

import re

from amplifier_modkit.shell.commands import Assignment

_LOADED = re.compile(
    r"PATH|CDPATH|IFS|ENV|SHELL|SHELLOPTS|BASHOPTS|BASH_ENV|BASH_FUNC_.*|BASH_LOADABLES_PATH|BASH_COMPAT"
    r"|POSIXLY_CORRECT|PS[0-4]|PROMPT_COMMAND|GLOBIGNORE|HOSTFILE|TEXTDOMAIN|TEXTDOMAINDIR|NLSPATH|LANGUAGE"
    r"|LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|MALLOC_.*|HOSTALIASES|RESOLV_.*|TZDIR"
    r"|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT|DIR$|WORK_TREE$|TRACE|MERGE_AUTOEDIT|LFS_).*"
    r"|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|LESS|EDITOR|VISUAL|FCEDIT|BROWSER|SUDO_.*|SSH_ASKPASS|CVS_RSH|RSYNC_RSH|RSH"
    r"|PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PYTHONBREAKPOINT|PERL5OPT|PERL5DB|RUBYOPT|NODE_OPTIONS"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|LUA_INIT.*|TAR_OPTIONS|MAKEFLAGS|GNUMAKEFLAGS"
    r"|RUSTC_WRAPPER|RUSTC|CARGO_.*_RUNNER|ZDOTDIR|PHPRC|PHP_INI_SCAN_DIR|R_PROFILE.*|OPENSSL_CONF|OPENSSL_ENGINES"
    r"|WGETRC|CURL_HOME|NETRC|INPUTRC|TERMINFO.*|XDG_CONFIG_.*|HOME|DOCKER_HOST|KUBECONFIG|SYSTEMD_.*"
)
_LIBRARIES = re.compile(
    r"PYTHONPATH|PYTHONUSERBASE|PERL5LIB|PERLLIB|RUBYLIB|GEM_.*|BUNDLE_GEMFILE|NODE_PATH|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS"
    r"|LUA_C?PATH.*|TCLLIBPATH|GOFLAGS|GOROOT|CARGO_HOME|RUSTFLAGS|CMAKE_.*|CC|CXX|PIP_.*|NPM_CONFIG_.*"
)
_SHOWS = frozenset(
    {"PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "BROWSER"}
)
_HARMLESS_PROGRAMS = frozenset({"", ":", "cat", "false", "less", "more", "nano", "true", "vi", "vim"})


def changes_programs(name: str, value: str | None) -> bool:
    """Whether a variable with that value, if it is known, makes programs run something that their names do not say."""
    if name in _SHOWS and value in _HARMLESS_PROGRAMS:
        return False
    return _LOADED.fullmatch(name) is not None


def changes_libraries(name: str) -> bool:
    """Whether a variable says from where the programs of a language load their code."""
    return _LIBRARIES.fullmatch(name) is not None


def changes_anything(assignment: Assignment) -> bool:
    """Whether an assignment does one of both."""
    return changes_programs(assignment.name, assignment.value.value) or changes_libraries(assignment.name)
