"""A corpus of bundles as people write them, for the tests of reading, loading and planning."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from amplifier.paths import Places


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes ``files`` (path: text) below ``folder``, and gives the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


def places_in(folder: Path) -> Places:
    """Places of a user and a project below ``folder``; both folders are made."""
    places = Places(folder / "home", folder / "cache", folder / "project", folder / "project", folder / "managed.yaml")
    for each in (places.home, places.working_dir):
        each.mkdir(parents=True, exist_ok=True)
    return places


FOUNDATION = {
    "bundle.md": """\
        ---
        bundle:
          name: foundation
          version: 1.2.0
          description: What all our agents have
        includes:
          - bundle: foundation:behaviors/sessions
          - bundle: ./behaviors/agents.yaml
        session:
          orchestrator:
            module: loop-streaming
            source: git+https://example.org/loop-streaming@main
            config:
              extended_thinking: true
          context:
            module: context-simple
            config: {max_tokens: 200000}
        tools:
          - module: tool-filesystem
            source: git+https://example.org/tool-filesystem@main
          - module: tool-bash
            config:
              allowed_commands: [git status]
        spawn:
          exclude_tools: [tool-task]
        context:
          include:
            - foundation:context/shared.md
        ---
        You are an agent. @foundation:context/rules.md
        """,
    "behaviors/sessions.yaml": """\
        bundle: {name: behavior-sessions, version: 0.1.0}
        hooks:
          - module: hooks-logging
            config: {mode: session-only}
        context:
          include: [foundation:context/sessions.md]
        """,
    "behaviors/agents.yaml": """\
        bundle:
          name: behavior-agents
        tools:
          - module: tool-task
            config:
              exclude_tools: [tool-task]
        agents:
          include:
            - foundation:zen-architect
            - foundation:explorer
        """,
    "agents/zen-architect.md": """\
        ---
        meta:
          name: zen-architect
          description: Designs simple things.
        provider_preferences:
          - provider: anthropic
            model: claude-*
        model_role: reasoning
        tools:
          - module: tool-search
        agents: none
        ---
        Design. @foundation:context/rules.md
        """,
    "agents/explorer.md": """\
        ---
        meta:
          name: explorer
          description: Looks around.
        ---
        Look.
        """,
    "context/shared.md": "Shared.\n",
    "context/rules.md": "Rules. @./more.md\n",
    "context/more.md": "More.\n",
    "context/sessions.md": "Sessions.\n",
    "providers/mock.yaml": """\
        bundle: {name: provider-mock-only}
        providers:
          - module: provider-mock
            config: {default_model: mock-1, priority: 1}
        """,
}
