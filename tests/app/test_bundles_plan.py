"""Mount plans: a bundle with variables, settings, overrides and the system prompt, and where each value comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app.bundle_corpus import FOUNDATION, places_in, write

from amplifier.bundles import installed
from amplifier.bundles.bundle import Bundle
from amplifier.bundles.installed import is_installed
from amplifier.bundles.load import load_bundle
from amplifier.bundles.plan import MountPlan, make_plan
from amplifier.paths import Places
from amplifier.problems import BundleProblem
from amplifier.settings import Settings
from amplifier_core import AmplifierSession
from amplifier_core.validation import MountPlanValidator

BASE = "bundle: {name: b}\nsession: {orchestrator: loop-basic, context: context-simple}\nproviders: [provider-mock]\n"


def planned(tmp_path: Path, more: str = "", settings: str = "", **options: Any) -> MountPlan:
    """The plan of a small bundle with ``more`` sections, in a project whose user has ``settings``."""
    places = places_in(tmp_path)
    write(places.working_dir, {"b.yaml": BASE + more})
    return plan_of(load_bundle("./b.yaml", places), places, settings, **options)


def plan_of(bundle: Bundle, places: Places, settings: str = "", **options: Any) -> MountPlan:
    """The plan of ``bundle``; every module counts as installed, and no variable is set, unless ``options`` say so."""
    write(places.home, {"settings.yaml": settings})
    given = {"environ": {}, "has_module": lambda _: True, **options}
    return make_plan(bundle, Settings.load(places, options.pop("flags", None), {}), places, **given)


def test_the_plan_is_one_that_the_kernel_takes(tmp_path: Path) -> None:
    """All sections are there; the kernel's own check has nothing to say but that it does not read ``spawn``."""
    places = places_in(tmp_path)
    write(places.working_dir, FOUNDATION)
    made = plan_of(load_bundle("./bundle.md", places), places)
    result = MountPlanValidator().validate(made.plan)
    assert (result.passed, [check.message for check in result.warnings]) == (
        True,
        ["Unknown sections will be ignored: ['spawn']"],
    )
    assert list(made.plan) == ["session", "providers", "tools", "hooks", "spawn", "agents"]
    assert made.plan["agents"]["foundation:explorer"] == {"description": "Looks around.", "instruction": "Look."}
    assert made.plan["agents"]["foundation:zen-architect"]["tools"] == [{"module": "tool-search"}]
    assert made.instruction == "\n\n".join(
        [
            "You are an agent. @foundation:context/rules.md",
            '<context_file name="foundation:context/rules.md">\nRules. @./more.md\n</context_file>',
            '<context_file name="./more.md">\nMore.\n</context_file>',
            '<context_file name="behavior-sessions:foundation:context/sessions.md">\nSessions.\n</context_file>',
            '<context_file name="foundation:foundation:context/shared.md">\nShared.\n</context_file>',
        ]
    )
    assert made.warnings == []


def test_origins_name_file_and_line_of_every_value(tmp_path: Path) -> None:
    """Values of bundles, of settings and of the command are told apart."""
    more = "tools: [{module: tool-a, config: {x: 1, list: [p, q]}}]\nspawn: {tools: [tool-a]}\n"
    more += "agents: {w: {description: W}}\n"
    made = planned(
        tmp_path,
        more,
        "overrides: {tool-a: {config: {x: 2}}}",
        overrides={"session": {"raw": True}, "tools": [{"module": "tool-b"}]},
    )
    told = {path: str(origin).replace(str(tmp_path), "") for path, origin in made.origins.items()}
    assert told == {
        "session": "bundle b (/project/b.yaml:2)",
        "session.orchestrator": "bundle b (/project/b.yaml:2)",
        "session.orchestrator.module": "bundle b (/project/b.yaml:2)",
        "session.context": "bundle b (/project/b.yaml:2)",
        "session.context.module": "bundle b (/project/b.yaml:2)",
        "session.raw": "flags (the command)",
        "providers.provider-mock": "bundle b (/project/b.yaml:3)",
        "providers.provider-mock.module": "bundle b (/project/b.yaml:3)",
        "tools.tool-a": "bundle b (/project/b.yaml:4)",
        "tools.tool-a.module": "bundle b (/project/b.yaml:4)",
        "tools.tool-a.config": "user (/home/settings.yaml:1)",
        "tools.tool-a.config.x": "user (/home/settings.yaml:1)",
        "tools.tool-a.config.list": "bundle b (/project/b.yaml:4)",
        "tools.tool-a.config.list[0]": "bundle b (/project/b.yaml:4)",
        "tools.tool-a.config.list[1]": "bundle b (/project/b.yaml:4)",
        "tools.tool-b": "flags (the command)",
        "tools.tool-b.module": "flags (the command)",
        "spawn": "bundle b (/project/b.yaml:5)",
        "spawn.tools": "bundle b (/project/b.yaml:5)",
        "spawn.tools[0]": "bundle b (/project/b.yaml:5)",
        "agents.w": "bundle b (/project/b.yaml:6)",
    }


def test_variables_are_put_in_and_secrets_are_never_shown(tmp_path: Path) -> None:
    """A key of the environment or of keys.env is in the plan, and masked wherever the plan is shown."""
    places = places_in(tmp_path)
    write(places.home, {"keys.env": "STORED_TOKEN=sk-stored\n"})
    places.keys_file.chmod(0o600)
    more = """
session: {orchestrator: {module: loop-basic, config: {note: "${NOTE:-none}"}}, context: context-simple}
tools:
  - module: tool-a
    config:
      api_key: ${SECRET_KEY}
      header: Bearer ${STORED_TOKEN}
      url: https://me:hidden@example.org/
      name: ${NAME}
      missing: ${NOT_SET}
      text: "<${NOT_SET}>"
      list: ["${NAME}", null]
      none: null
hooks:
  - module: hooks-shell
    config: {hooks: {Stop: [{hooks: [{command: "echo ${HOME}"}]}]}, timeout: "${NAME}"}
""".replace("session:", "# session:", 1)
    environ = {"SECRET_KEY": "sk-secret", "NAME": "amp", "HOME": "/h"}
    made = planned(tmp_path, more, environ=environ)
    config = made.plan["tools"][0]["config"]
    assert config == {
        "api_key": "sk-secret",
        "header": "Bearer sk-stored",
        "url": "https://me:hidden@example.org/",
        "name": "amp",
        "text": "<>",
        "list": ["amp", None],
        "none": None,
    }
    assert made.plan["hooks"][0]["config"] == {
        "hooks": {"Stop": [{"hooks": [{"command": "echo ${HOME}"}]}]},
        "timeout": "amp",
    }
    assert made.shown()["tools"][0]["config"] == {
        **config,
        "api_key": "***",
        "header": "Bearer ***",
        "url": "https://***@example.org/",
    }
    assert [warning.split(": ", 1)[1] for warning in made.warnings] == [
        "tools.tool-a.config.missing names ${NOT_SET}, which is not set",
        "tools.tool-a.config.text names ${NOT_SET}, which is not set",
    ]
    assert "sk-" not in str(made.shown())


def test_variables_of_the_session_s_modules_are_put_in_as_well(tmp_path: Path) -> None:
    """The two modules of the session may have variables like any other."""
    places = places_in(tmp_path)
    text = 'session: {orchestrator: {module: loop-basic, config: {note: "${NOTE:-none}"}}, context: context-simple}'
    write(places.working_dir, {"c.yaml": f"providers: [provider-mock]\n{text}"})
    made = plan_of(load_bundle("./c.yaml", places), places)
    assert made.plan["session"]["orchestrator"] == {"module": "loop-basic", "config": {"note": "none"}}


def test_the_process_s_own_variables_count_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another environment it is that of the process."""
    monkeypatch.setenv("MY_NOTE", "hello")
    made = planned(tmp_path, "tools: [{module: tool-a, config: {note: '${MY_NOTE}'}}]", environ=None)
    assert made.plan["tools"][0]["config"] == {"note": "hello"}


def test_a_plan_tells_how_to_load_its_bundle_again(tmp_path: Path) -> None:
    """A file is named by its path, since the working directory may be another one; what is built in by its name."""
    places = places_in(tmp_path)
    made = planned(tmp_path)
    assert (made.bundle, made.ref) == ("b", f"{places.working_dir}/b.yaml")
    assert load_bundle(made.ref, places).name == "b"
    assert plan_of(load_bundle("minimal", places), places).ref == "minimal"


def test_changing_a_plan_does_not_change_the_bundle(tmp_path: Path) -> None:
    """A plan is the caller's own."""
    places = places_in(tmp_path)
    write(places.working_dir, {"b.yaml": BASE})
    bundle = load_bundle("./b.yaml", places)
    plan_of(bundle, places).plan["session"]["orchestrator"]["module"] = "other"
    assert bundle.session["orchestrator"] == {"module": "loop-basic"}


def test_a_bundle_without_a_loop_is_told_what_is_missing(tmp_path: Path) -> None:
    """Behaviours are no agents: the message says what to build on."""
    places = places_in(tmp_path)
    write(places.working_dir, {"b.yaml": "tools: [tool-a]"})
    with pytest.raises(BundleProblem) as caught:
        plan_of(load_bundle("./b.yaml", places), places)
    assert caught.value.message == (
        f"{places.working_dir}/b.yaml: the bundle 'b' names no session.orchestrator, without which there is no session"
    )
    assert "includes: [{bundle: minimal}]" in caught.value.hint


@pytest.mark.parametrize(
    ("more", "line", "module", "hint"),
    [
        ("tools:\n  - module: tool-gone", 5, "tool-gone", "is the id right? "),
        ("hooks: [gone]", 4, "gone", "is the id right? Ids begin with provider-, tool-, hooks-, loop-, context-."),
        ("agents:\n  w: {tools: [tool-gone]}", 5, "tool-gone", "is the id right? "),
    ],
)
def test_a_module_that_is_nowhere_is_told_with_its_line(
    tmp_path: Path, more: str, line: int, module: str, hint: str
) -> None:
    """Neither installed nor with a source: an error that names the file and the line."""
    with pytest.raises(BundleProblem) as caught:
        planned(tmp_path, more, has_module=lambda each: "gone" not in each)
    place = f"{tmp_path}/project/b.yaml:{line}"
    assert caught.value.message == (
        f"{place}: the module '{module}' is not installed, and the bundle names no source for it"
    )
    assert caught.value.hint.endswith(hint)


def test_a_module_with_a_source_need_not_be_installed(tmp_path: Path) -> None:
    """It is in the plan, with a warning that it would have to be fetched."""
    made = planned(
        tmp_path, "tools: [{module: tool-far, source: git+https://e.org/x}]", has_module=lambda each: each != "tool-far"
    )
    assert made.plan["tools"] == [{"module": "tool-far", "source": "git+https://e.org/x"}]
    assert made.warnings == [
        f"{tmp_path}/project/b.yaml:4: the module 'tool-far' is not installed; it would come from its source"
    ]


def test_installed_modules_are_found_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package, an entry point or a folder of AMPLIFIER_MODULES counts, as it does for the kernel."""
    (tmp_path / "amplifier-module-tool-mine").mkdir()
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path))
    monkeypatch.setattr(installed, "_entry_points", lambda: frozenset({"tool-registered"}))
    known = ("loop-basic", "tool-mine", "tool-registered", "tool-gone", "no/id")
    assert [is_installed(each) for each in known] == [True, True, True, False, False]
    monkeypatch.undo()
    assert is_installed("provider-mock")
    assert not is_installed("tool-gone")


def test_the_command_may_replace_and_extend_the_prompt(tmp_path: Path) -> None:
    """A prompt of the command stands in the place of the bundle's and may mention any file of the user's."""
    write(tmp_path, {"far.md": "Far."})
    text = "instruction: Bundle.\n"
    assert planned(tmp_path, text, overrides={"append_instruction": "More."}).instruction == "Bundle.\n\nMore."
    made = planned(tmp_path, text, overrides={"instruction": f"Mine. @{tmp_path}/far.md"})
    assert (
        made.instruction
        == f'Mine. @{tmp_path}/far.md\n\n<context_file name="{tmp_path}/far.md">\nFar.\n</context_file>'
    )
    assert planned(tmp_path, overrides={"append_instruction": "Only."}).instruction == "Only."


def test_project_instructions_are_the_nearest_and_the_user_s(tmp_path: Path) -> None:
    """The user's AGENTS.md comes first, then the nearest of the project; imports are read in."""
    places = places_in(tmp_path)
    write(places.home, {"AGENTS.md": "User rules."})
    write(
        places.working_dir,
        {
            "b.yaml": BASE + "agents: {w: {instruction: Work.}}",
            "AGENTS.md": "Far.",
            "CLAUDE.md": "Not read.",
            "sub/AGENTS.md": "Near. @../docs/style.md @../../out.md",
            "sub/deep/CLAUDE.md": "AGENTS.md goes first.",
            "docs/style.md": "Style.",
            "../out.md": "Out.",
        },
    )
    deep = Places(places.home, places.cache, places.working_dir / "sub/deep", places.project_dir)
    made = plan_of(load_bundle(str(places.working_dir / "b.yaml"), deep), deep)
    instructions = "\n\n".join(
        [
            '<project_instructions name="AGENTS.md">\nUser rules.\n</project_instructions>',
            '<project_instructions name="AGENTS.md">\nNear. @../docs/style.md @../../out.md\n</project_instructions>',
            '<context_file name="../docs/style.md">\nStyle.\n</context_file>',
        ]
    )
    assert made.instruction == instructions
    assert made.plan["agents"]["w"]["instruction"] == f"Work.\n\n{instructions}"
    assert len(made.warnings) == 1
    assert "@../../out.md is not read: it leads out of" in made.warnings[0]


def test_claude_md_is_read_where_there_is_no_agents_md(tmp_path: Path) -> None:
    """It is the fallback in the project and in the user's folder; empty files are left out."""
    places = places_in(tmp_path)
    write(places.home, {"CLAUDE.md": "\n"})
    write(places.working_dir, {"CLAUDE.md": "Claude.", "b.yaml": BASE})
    made = plan_of(load_bundle("./b.yaml", places), places)
    assert made.instruction == '<project_instructions name="CLAUDE.md">\nClaude.\n</project_instructions>'


def test_a_link_does_not_bring_files_of_the_user_into_the_prompt(tmp_path: Path) -> None:
    """An AGENTS.md that leads out of the project is not read."""
    write(tmp_path, {"secret.md": "Secret."})
    places = places_in(tmp_path)
    (places.working_dir / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert planned(tmp_path).instruction == ""


def test_a_bundle_may_do_without_project_instructions(tmp_path: Path) -> None:
    """Small models have no time for them."""
    places = places_in(tmp_path)
    text = BASE.replace("{name: b}", "{name: b, project_instructions: false}")
    write(
        places.working_dir,
        {"AGENTS.md": "Rules.", "b.yaml": f"{text}instruction: Short.\ncontext: {{a: b.md, c: b.md}}", "b.md": "B"},
    )
    made = plan_of(load_bundle("./b.yaml", places), places)
    assert made.instruction == 'Short.\n\n<context_file name="b:a">\nB\n</context_file>'


@pytest.mark.slow
async def test_a_plan_makes_a_session_that_answers(tmp_path: Path) -> None:
    """What comes out of a bundle is what the kernel mounts, without anything left to report."""
    places = places_in(tmp_path)
    text = 'includes: [minimal]\nproviders: [{module: provider-mock, config: {script: ["${ANSWER:-Hello.}"]}}]'
    write(places.working_dir, {"b.yaml": text})
    made = make_plan(load_bundle("./b.yaml", places), Settings.load(places, None, {}), places, environ={})
    async with AmplifierSession(made.plan) as session:
        assert await session.execute("Hi") == "Hello."
        assert [module.module_id for module in session.report.mounted] == [
            "loop-basic",
            "context-simple",
            "provider-mock",
        ]
        assert (session.report.failed, session.report.unknown_keys) == ([], [])
