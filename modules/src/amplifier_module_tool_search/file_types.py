"""Kinds of files that a search can be narrowed to, each with the globs of its names."""

from __future__ import annotations

from amplifier_module_tool_search.globs import FileFilter
from amplifier_module_tool_search.problems import InputError

_GLOBS = {
    "asm": "*.asm *.s *.S",
    "bazel": "*.bazel *.bzl BUILD WORKSPACE",
    "c": "*.c *.h *.H",
    "clojure": "*.clj *.cljc *.cljs *.cljx",
    "cmake": "*.cmake CMakeLists.txt",
    "config": "*.cfg *.conf *.config *.ini",
    "cpp": "*.C *.cc *.cpp *.cxx *.h *.H *.hh *.hpp *.hxx *.inl",
    "cs": "*.cs",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "dart": "*.dart",
    "docker": "*Dockerfile*",
    "elixir": "*.ex *.eex *.exs *.heex",
    "erlang": "*.erl *.hrl",
    "fsharp": "*.fs *.fsi *.fsx",
    "go": "*.go",
    "graphql": "*.graphql *.graphqls",
    "groovy": "*.gradle *.groovy",
    "haskell": "*.hs *.lhs",
    "html": "*.htm *.html",
    "java": "*.java *.jsp",
    "js": "*.js *.jsx *.mjs *.cjs *.vue",
    "json": "*.json *.jsonl",
    "julia": "*.jl",
    "jupyter": "*.ipynb",
    "kotlin": "*.kt *.kts",
    "less": "*.less",
    "lisp": "*.el *.lisp *.lsp",
    "lock": "*.lock package-lock.json",
    "log": "*.log",
    "lua": "*.lua",
    "make": "[Mm]akefile *.mk GNUmakefile",
    "markdown": "*.md *.markdown *.mdx *.mkd *.mdown",
    "nix": "*.nix",
    "objc": "*.h *.m *.mm",
    "ocaml": "*.ml *.mli",
    "perl": "*.perl *.pl *.pm *.t",
    "php": "*.php *.phtml",
    "protobuf": "*.proto",
    "ps": "*.ps1 *.psd1 *.psm1",
    "py": "*.py *.pyi",
    "r": "*.R *.r *.Rmd",
    "rst": "*.rst",
    "ruby": "*.gemspec *.rb *.rbw Gemfile Rakefile",
    "rust": "*.rs",
    "sass": "*.sass *.scss",
    "scala": "*.sbt *.scala",
    "sh": "*.bash *.sh *.zsh *.ksh .bashrc .profile .zshrc",
    "sql": "*.sql",
    "svelte": "*.svelte",
    "svg": "*.svg",
    "swift": "*.swift",
    "tex": "*.bib *.cls *.sty *.tex",
    "tf": "*.tf *.tfvars",
    "toml": "*.toml",
    "ts": "*.ts *.tsx *.mts *.cts",
    "txt": "*.txt",
    "vim": "*.vim",
    "vue": "*.vue",
    "xml": "*.xml *.xsd *.xsl *.xslt",
    "yaml": "*.yaml *.yml",
    "zig": "*.zig",
}
ALIASES = {
    "bash": "sh",
    "c#": "cs",
    "c++": "cpp",
    "csharp": "cs",
    "dockerfile": "docker",
    "golang": "go",
    "hs": "haskell",
    "javascript": "js",
    "jsx": "js",
    "kt": "kotlin",
    "latex": "tex",
    "makefile": "make",
    "md": "markdown",
    "objective-c": "objc",
    "powershell": "ps",
    "proto": "protobuf",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "terraform": "tf",
    "text": "txt",
    "tsx": "ts",
    "typescript": "ts",
    "yml": "yaml",
    "zsh": "sh",
}
"""Other names that people and models use."""


def type_filter(name: str) -> FileFilter:
    """The files of one kind; raises ``InputError`` for a kind that is not known."""
    known = name.lower().lstrip(".")
    globs = _GLOBS.get(ALIASES.get(known, known))
    if globs is None:
        raise InputError(f"{name[:50]!r} is no known type of file. Known are {', '.join(_GLOBS)}; or use 'glob'.")
    return FileFilter.from_texts(globs.split())
