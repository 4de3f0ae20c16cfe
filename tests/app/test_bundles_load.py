"""Loading bundles: names, paths, namespaces and addresses; includes, circles and everything that can be missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.app.bundle_corpus import FOUNDATION, places_in, write

from amplifier.bundles import load
from amplifier.bundles.active import active_bundle
from amplifier.bundles.bundle import Bundle
from amplifier.bundles.load import load_bundle
from amplifier.problems import BundleProblem
from amplifier.settings import Settings


def loaded(tmp_path: Path, files: dict[str, str], ref: str = "./bundle.md", **options: Any) -> Bundle:
    """The bundle ``ref`` of a project that has ``files``."""
    places = places_in(tmp_path)
    write(places.working_dir, files)
    return load_bundle(ref, places, **options)


def problem_of(tmp_path: Path, files: dict[str, str], ref: str = "./bundle.md", **options: Any) -> str:
    """The message and the hint for a bundle that cannot be loaded, without the path of the project."""
    with pytest.raises(BundleProblem) as caught:
        loaded(tmp_path, files, ref, **options)
    return f"{caught.value.message} → {caught.value.hint}".replace(f"{tmp_path}/project/", "")


def test_an_existing_bundle_loads_with_all_it_includes(tmp_path: Path) -> None:
    """Behaviours, agents and context files come together; the bundle itself is merged last."""
    bundle = loaded(tmp_path, FOUNDATION)
    project = tmp_path / "project"
    assert bundle.parts == ("behavior-sessions", "behavior-agents", "foundation")
    assert (bundle.name, bundle.version, bundle.root) == ("foundation", "1.2.0", project)
    assert [entry["module"] for entry in bundle.tools] == ["tool-task", "tool-filesystem", "tool-bash"]
    assert [entry["module"] for entry in bundle.hooks] == ["hooks-logging"]
    assert bundle.session["orchestrator"]["config"] == {"extended_thinking": True}
    assert bundle.spawn == {"exclude_tools": ["tool-task"]}
    assert list(bundle.context) == [
        "behavior-sessions:foundation:context/sessions.md",
        "foundation:foundation:context/shared.md",
    ]
    assert bundle.namespaces == {"foundation": project, "behavior-sessions": project, "behavior-agents": project}
    assert bundle.warnings == ()


def test_agents_are_known_as_texts_call_them(tmp_path: Path) -> None:
    """An agent that is included as ``ns:name`` has that name, with its description, instructions and differences."""
    agents = loaded(tmp_path, FOUNDATION).agents
    architect = agents["foundation:zen-architect"]
    assert list(agents) == ["foundation:zen-architect", "foundation:explorer"]
    assert architect.description == "Designs simple things."
    assert architect.overlay == {
        "provider_preferences": [{"provider": "anthropic", "model": "claude-*"}],
        "model_role": "reasoning",
        "tools": [{"module": "tool-search"}],
        "agents": "none",
    }
    assert architect.passage is not None
    assert (architect.passage.text, architect.passage.line) == ("Design. @foundation:context/rules.md", 13)


def test_each_value_knows_its_file_and_line(tmp_path: Path) -> None:
    """Origins name the bundle, the file and the line, also for items of lists."""
    origins = loaded(tmp_path, FOUNDATION).origins
    told = {way: str(origin).replace(f"{tmp_path}/project/", "") for way, origin in origins.items()}
    assert told["session", "orchestrator", "config", "extended_thinking"] == "bundle foundation (bundle.md:14)"
    assert (
        told["tools", "tool-bash", "config", "allowed_commands", "'git status'"] == "bundle foundation (bundle.md:23)"
    )
    assert told["tools", "tool-task"] == "bundle behavior-agents (behaviors/agents.yaml:4)"
    assert told["spawn", "exclude_tools"] == "bundle foundation (bundle.md:25)"


def test_a_bundle_that_is_included_twice_counts_once(tmp_path: Path) -> None:
    """Two bundles that share a base do not undo what either of them changed in it."""
    bundle = loaded(
        tmp_path,
        {
            "base.yaml": "tools: [{module: tool-a, config: {x: base, y: base}}]",
            "left.yaml": "includes: [./base.yaml]\ntools: [{module: tool-a, config: {x: left}}]",
            "right.yaml": "includes: [./base.yaml]\ntools: [{module: tool-a, config: {y: right}}]",
            "bundle.md": "---\nincludes: [./left.yaml, {bundle: ./right.yaml}, ./right]\n---\n",
        },
    )
    assert bundle.tools == [{"module": "tool-a", "config": {"x": "left", "y": "right"}}]
    assert bundle.parts == ("base", "left", "right", "project")


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("minimal", "minimal"),
        ("./b", "b"),
        ("b.yaml", "b"),
        ("folder/", "folder"),
        ("file://{project}/b.yaml", "b"),
        ("file://{project}#subdirectory=folder", "folder"),
        ("mine", "b"),
        ("spelled-out", "b"),
        ("in-project", "in-project"),
        ("in-home", "in-home"),
        ("nested", "nested"),
        ("searched", "searched"),
        ("minimal:offline", "offline"),
        ("git+https://example.org/x@main", "b"),
        ("remote", "b"),
    ],
)
def test_every_kind_of_reference_leads_to_a_bundle(tmp_path: Path, ref: str, name: str) -> None:
    """Names, paths with and without ending, folders, addresses and namespaces."""
    places = places_in(tmp_path)
    project = write(
        places.working_dir,
        {
            "b.yaml": "bundle: {name: b}",
            "folder/bundle.yml": "tools: [tool-x]",
            ".amplifier/bundles/in-project.md": "Text",
            ".amplifier/bundles/minimal.md": "A project cannot replace what is built in.",
            ".amplifier/bundles/notes.txt": "No bundle.",
            "more/searched.md": "Text",
        },
    )
    write(places.home, {"bundles/in-home.yaml": "{}", "bundles/nested/bundle.md": "Text"})
    bundle = load_bundle(
        ref.format(project=project),
        places,
        search=[project / "more"],
        added={
            "mine": "b.yaml",
            "spelled-out": {"uri": f"file://{project}/b.yaml"},
            "remote": "https://e.org/b",
            "odd": 7,
        },
        fetch=lambda _: project / "b",
    )
    assert bundle.name == name


def test_an_agent_file_can_be_used_as_a_bundle(tmp_path: Path) -> None:
    """Its ``meta`` says who it is, and whom it may call is no list of agents."""
    bundle = loaded(tmp_path, {"bundle.md": "---\nmeta: {name: solo}\nagents: [other]\nmodel_role: fast\n---\nWork."})
    assert (bundle.name, bundle.agents, bundle.warnings) == ("solo", {}, ())


def test_inline_agents_and_named_context(tmp_path: Path) -> None:
    """Agents may stand in the bundle itself, and context files may have names of their own."""
    bundle = loaded(
        tmp_path,
        {
            "bundle.md": """\
                ---
                bundle: {name: b}
                context: {rules: docs/rules.md}
                agents:
                  include: [./own/agent.md, helper]
                  writer:
                    description: Writes.
                    instruction: Write well.
                    session: {orchestrator: loop-basic, context: null}
                    agents: [helper]
                    tools: null
                  silent: null
                ---
                """,
            "docs/rules.md": "Rules",
            "own/agent.md": "---\nname: by-file\ndescription: From a file.\n---\n",
            "agents/helper.md": "Help.",
        },
    )
    assert {name: agent.description for name, agent in bundle.agents.items()} == {
        "by-file": "From a file.",
        "helper": "",
        "writer": "Writes.",
        "silent": "",
    }
    writer = bundle.agents["writer"]
    assert writer.overlay == {"session": {"orchestrator": {"module": "loop-basic"}}, "agents": ["helper"]}
    assert writer.passage is not None
    assert (writer.passage.text, writer.passage.line) == ("Write well.", 8)
    assert [agent.passage is None for agent in bundle.agents.values()] == [True, False, False, True]
    assert list(bundle.context) == ["b:rules"]
    assert bundle.passage is None


def test_a_yaml_bundle_may_have_its_text_inside(tmp_path: Path) -> None:
    """``instruction`` is the system prompt where there is no body."""
    bundle = loaded(
        tmp_path, {"b.yaml": "bundle: {name: b, version: 1.5}\ninstruction: |\n  Be\n  brief.\n"}, "./b.yaml"
    )
    passage = bundle.passage
    assert bundle.version == "1.5"
    assert passage is not None
    assert (passage.text, passage.line) == ("Be\nbrief.\n", 2)


@pytest.mark.parametrize("root", ["..", "sub"])
def test_the_root_of_a_namespace_can_be_moved(tmp_path: Path, root: str) -> None:
    """``namespace_root`` says which folder the name stands for."""
    files = {
        "in/b.yaml": f"bundle: {{name: b, namespace_root: {root}}}\ncontext: {{include: ['b:x.md']}}",
        "x.md": "x",
        "in/sub/x.md": "x",
    }
    bundle = loaded(tmp_path, files, "./in/b.yaml")
    assert bundle.root == (tmp_path / "project/in" / root).resolve()


@pytest.mark.parametrize("root", ["../../..", "/", "nowhere", "../../../../../../../.."])
def test_the_root_of_a_namespace_stays_near(tmp_path: Path, root: str) -> None:
    """A bundle cannot make the whole disk its own."""
    told = problem_of(tmp_path, {"b.yaml": f"bundle:\n  namespace_root: {root}"}, "./b.yaml")
    assert told.startswith(f"b.yaml:2: bundle.namespace_root must be a folder near the file, got {root!r}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "includes:\n  - bundle: ./gone.md",
            "bundle.md:3: The bundle './gone.md' is not there: {p}gone.md does not exist.",
        ),
        ("includes:\n  - ./folder", "bundle.md:3: The bundle './folder' is not there: {p}folder has no bundle.md or"),
        ("includes:\n  - mininal", "bundle.md:3: There is no bundle 'mininal'. Did you mean 'minimal'?"),
        ("includes:\n  - zzz", "bundle.md:3: There is no bundle 'zzz'. → Known are: default, minimal, offline."),
        ("includes:\n  - gone:x", "bundle.md:3: There is no namespace 'gone' for 'gone:x'. → Known are: default,"),
        ("includes:\n  - 7", "bundle.md:3: includes[0] must name a bundle"),
        ("includes: x", "bundle.md:2: includes must be a list, got a text"),
        ("includes: [git+https://e.org/x]", "bundle.md:2: The bundle 'git+https://e.org/x' would have to be fetched"),
        ("includes: [./bundle.md]", "bundle.md:2: the bundles include each other in a circle: bundle.md → bundle.md"),
        ("includes: [./a.yaml]", "b.yaml:1: the bundles include each other in a circle: a.yaml → b.yaml → a.yaml"),
        ("bundle: x", "bundle.md:2: bundle must be a mapping of keys, got a text"),
        ("bundle: {name: [x]}", "bundle.md:2: bundle.name must be a text, got a list"),
        ("bundle: {project_instructions: no way}", "bundle.md:2: bundle.project_instructions must be true or false"),
        ("tools:\n  module: x", "bundle.md:2: tools must be a list, got a mapping"),
        ("tools:\n  - 7", "bundle.md:3: tools[0] must be the id of a module or a mapping with 'module', got 7"),
        ("tools:\n  - config: {}", "bundle.md:3: tools[0].module must be a text, got nothing"),
        ("tools:\n  - module: x\n    config: []", "bundle.md:4: tools[0].config must be a mapping of keys, got a list"),
        ("tools:\n  - module: x\n    source: [1]", "bundle.md:4: tools[0].source must say where the module comes from"),
        (
            "session:\n  orchestrator: {source: x}",
            "bundle.md:3: session.orchestrator.module must be a text, got nothing",
        ),
        ("session:\n  context: []", "bundle.md:3: session.context must be the id of a module"),
        (
            "context: {include: [no.md]}",
            "bundle.md:2: context.include[0] names 'no.md', which is not there → Looked in",
        ),
        ("context: {include: ['gone:x.md']}", "bundle.md:2: 'gone:x.md' cannot be used: there is no namespace 'gone'"),
        ("context: {include: [../out.md]}", "bundle.md:2: '../out.md' cannot be used: it is not below {p}"),
        ("bundle: {}\nagents: {include: [gone]}", "bundle.md:3: agents.include[0] names 'gone', which is not there"),
        ("bundle: {}\nagents: [x]", "bundle.md:3: agents must be a mapping of keys, got a list"),
        ("agents: {x: {tools: [1]}}", "bundle.md:2: agents.x.tools[0] must be the id of a module"),
        ("agents: {x: {agents: 7}}", "bundle.md:2: agents of an agent must be 'all', 'none' or a list of names, got 7"),
        ("instruction: [x]", "bundle.md:2: instruction must be a text, got a list"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong or missing is an error that names the place and what was expected there."""
    files = {
        "bundle.md": f"---\n{text}\n---\n",
        "a.yaml": "includes: [./b.yaml]",
        "b.yaml": "includes: [./a.yaml]",
        "folder/x.md": "x",
        "../out.md": "secret",
    }
    assert problem_of(tmp_path, files).startswith(
        message.format(p=f"{tmp_path}/project/").replace(f"{tmp_path}/project/", "")
    )


def test_bundles_may_not_be_nested_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long chain is a mistake, told where it becomes too long."""
    monkeypatch.setattr(load, "_MOST_NESTED", 2)
    files = {f"{n}.yaml": f"includes: [./{n + 1}.yaml]" for n in range(4)}
    assert problem_of(tmp_path, files, "./0.yaml").startswith(
        "1.yaml:1: bundles are nested too deeply: 0.yaml → 1.yaml"
    )


def test_keys_that_nobody_reads_are_warned_about(tmp_path: Path) -> None:
    """A misspelt key is told with the one that was meant."""
    bundle = loaded(tmp_path, {"bundle.md": "---\nbundle: {nam: x}\ntolls: []\nzzz: 1\n---\n"})
    told = [warning.replace(f"{tmp_path}/project/", "") for warning in bundle.warnings]
    assert told[:2] == [
        "bundle.md:2: nobody reads 'bundle.nam'; did you mean 'name'?",
        "bundle.md:3: nobody reads 'tolls'; did you mean 'tools'?",
    ]
    assert re.fullmatch(r"bundle.md:4: nobody reads 'zzz' \(known: agents, bundle, .*\)", told[2])


def test_a_bundle_knows_the_bundle_at_the_root_of_its_repository(tmp_path: Path) -> None:
    """A file in a usual folder may refer to the root by its name, though the root includes nothing of it."""
    bundle = loaded(tmp_path, FOUNDATION, "./behaviors/agents.yaml")
    assert list(bundle.agents) == ["foundation:zen-architect", "foundation:explorer"]
    assert loaded(tmp_path, {"agents/x.md": "x"}, "./agents/x.md").root == tmp_path / "project"
    assert loaded(tmp_path / "other", {"agents/x.md": "x"}, "./agents/x.md").root == tmp_path / "other/project/agents"


def test_settings_put_bundles_onto_every_other(tmp_path: Path) -> None:
    """Those of ``bundle.app`` are merged last; name, file and text stay those of the bundle itself."""
    places = places_in(tmp_path)
    write(places.home, {"settings.yaml": "bundle: {active: mine, added: {mine: b.yaml}, app: [./app.md]}"})
    write(
        places.working_dir,
        {"b.yaml": "tools: [tool-a]\ninstruction: Mine.", "app.md": "---\nhooks: [hooks-x]\n---\nApp."},
    )
    settings = Settings.load(places, environ={})
    bundle = active_bundle(settings, places)
    assert (bundle.name, bundle.file.name, bundle.parts) == ("b", "b.yaml", ("b", "app"))
    assert (bundle.tools, bundle.hooks) == ([{"module": "tool-a"}], [{"module": "hooks-x"}])
    assert bundle.passage is not None
    assert bundle.passage.text == "Mine."
    assert active_bundle(Settings.load(places, {"bundle.app": []}, {}), places, "minimal").name == "minimal"
