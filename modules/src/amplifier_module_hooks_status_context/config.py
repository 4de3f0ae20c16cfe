"""The config of the module: which facts are told, and how much of them.

Annotations are evaluated here on purpose: pydantic builds models faster from types than from their source text.
"""

from pydantic import Field

from amplifier_modkit.module_config import ModuleConfig

# Tools that change no file; after any other the state of the repository is looked up again.
_READING = (
    "read_file",
    "glob",
    "grep",
    "web_fetch",
    "web_search",
    "todo",
)


class StatusConfig(ModuleConfig):
    """What a plan may say about the facts."""

    working_dir: str | None = None
    """The directory that the facts are about, in place of the session's own."""
    include_environment: bool = True
    """Working directory and platform."""
    include_datetime: bool = True
    """The date. Never the time: a text that changes with every request can never be cached."""
    datetime_include_timezone: bool = False
    include_session: bool = True
    include_git: bool = True
    git_include_branch: bool = True
    git_include_main_branch: bool = True
    git_include_status: bool = True
    git_include_commits: int = Field(default=5, ge=0, le=50)
    git_status_include_untracked: bool = True
    git_status_max_lines: int = Field(default=40, ge=0)
    """Changed files that are named."""
    git_status_max_untracked: int = Field(default=20, ge=0)
    """Untracked files that are named."""
    git_timeout_s: float = Field(default=2.0, gt=0, le=60)
    read_only_tools: tuple[str, ...] = _READING
    """Tools after which the state of the repository is not looked up again."""
    priority: int = 50
