"""What rules say about calls: attempts to be allowed by one that does not mean them, or to slip past a denial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.modkit.attacks_shell import ATTACKS

from amplifier_module_hooks_approval.calls import Call
from amplifier_module_hooks_approval.config import ApprovalConfig
from amplifier_module_hooks_approval.matching import Fit, covering, wide_fit
from amplifier_module_hooks_approval.modes import MODES, Mode
from amplifier_module_hooks_approval.policy import Decision, Policy
from amplifier_module_hooks_approval.questions import question_about
from amplifier_module_hooks_approval.rules import Rule


def call_of(name: str, given: dict[str, Any], folder: Path | None = None, tool: Any = None) -> Call:
    """A call of tool ``name``."""
    return Call(name, given, "s", "c", "now", (folder or Path("/nowhere")).resolve(), tool)


def bash(command: Any) -> Call:
    """A call that runs a command."""
    return call_of("bash", {"command": command})


def fetch(url: Any, **more: Any) -> Call:
    """A call that fetches a page."""
    return call_of("web_fetch", {"url": url, **more})


def decide(call: Call, mode: Mode = "default", **config: Any) -> Decision:
    """What a policy with the given config makes of a call."""
    return Policy(ApprovalConfig(**config)).decide(call, mode)


@pytest.mark.parametrize(
    "command",
    [
        "echo x; rm -rf y",
        "echo x\nrm -rf y",
        "echo x & rm y",
        "echo x | sh",
        "echo $(rm y)",
        "echo `rm y`",
        'echo "$(rm y)"',
        "echo <(rm y)",
        "echo x > ~/.bashrc",
        "echo x >> notes",
        "echo x && eval y",
        "PATH=. echo x",
        "LD_PRELOAD=./x.so echo x",
        "echo() { rm y; }; echo x",
        "echo x; $(printf rm) y",
        "./echo x",
        "echox",
        "ech\u043e x",
        "env rm y",
        "echo 'unclosed",
        "",
        None,
    ],
)
def test_an_allowed_command_carries_nothing_else_in(command: Any) -> None:
    """A rule for ``echo`` allows texts in which nothing but ``echo`` runs, and no file is written."""
    assert covering([Rule.read("Bash(echo:*)")], bash(command)) == ()


@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row.id)
def test_no_known_trick_is_allowed_by_the_usual_rules(row: Any) -> None:
    """Commands that hide what they run are asked about, whatever harmless command they begin with."""
    assert decide(bash(row.command)).verdict == "ask"


SUDO_ATTACKS = [row for row in ATTACKS if row.strict == "deny" and row.id.startswith(("spelling", "place"))]


@pytest.mark.parametrize("row", [row for row in SUDO_ATTACKS if "sudo" in row.command], ids=lambda row: row.id)
def test_no_spelling_slips_past_a_denial(row: Any) -> None:
    """A denied program is refused, or asked about where it only may be that program, even in the mode ``bypass``."""
    decision = decide(bash(row.command), "bypass", deny=["Bash(sudo:*)", "Bash(sudoedit:*)", "Bash(sudo.exe:*)"])
    assert (decision.verdict, decision.can_be_remembered) in {("deny", False), ("ask", False)}


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(git status)", "git status", True),
        ("bash(git status)", "git status -s", False),
        ("Bash(git log:*)", "git log -3", True),
        ("Bash(git log:*)", "git push", False),
        ("Bash", "anything 'unclosed", True),
        ("Bash(=rm *)", "rm *", True),
        ("Bash(=rm *)", "rm -rf /", False),
        ("Bash(gi.)", "git", False),
        ("Bash(.*)", "rm", False),
        ("Bash((a|b)+$)", "a", False),
        ("BASH(pwd)", "pwd", True),
        ("ba*(pwd)", "pwd", True),
    ],
)
def test_rules_about_commands(rule: str, command: str, expected: bool) -> None:
    """Words are words: no character of a rule is a regular expression, and ``=`` means to the letter."""
    assert bool(covering([Rule.read(rule)], bash(command))) is expected


def test_several_rules_cover_one_text_together() -> None:
    """Every command in it needs one of them."""
    rules = [Rule.read("Bash(ls:*)"), Rule.read("Bash(pwd)"), Rule.read("Bash(=x)")]
    assert covering(rules, bash("ls && pwd")) == tuple(rules[:2])


PATH_ROWS = [
    ("write_file(src)", "src/a.py", True),
    ("write_file(src/)", "src/a.py", True),
    ("write_file(src/**)", "src/deep/a.py", True),
    ("write_file(src/*.py)", "src/a.py", True),
    ("write_file(src/*.py)", "src/deep/a.py", False),
    ("write_file(src/?.py)", "src/a.py", True),
    ("write_file(*.py)", "src/a.py", True),
    ("write_file(*.py)", "/elsewhere/a.py", False),
    ("write_file(src)", "src/../other/a.py", False),
    ("write_file(src)", "src2/a.py", False),
    ("write_file(src)", "SRC/a.py", False),
    ("write_file(src)", "link/a.py", True),
    ("write_file(link)", "src/a.py", True),
    ("write_file(src)", "src/out/a.py", False),
    ("write_file(src)", "", False),
    ("write_file(src)", "src/\0", False),
    ("write_file(src)", 7, False),
    ("write_file(s.c)", "src/a.py", False),
    ("write_file(/)", "src/a.py", True),
    ("edit_file(src)", "src/a.py", False),
    ("*_file(src)", "src/a.py", True),
]


@pytest.mark.parametrize(("rule", "path", "expected"), PATH_ROWS)
def test_rules_about_paths_allow_what_is_really_there(tmp_path: Path, rule: str, path: Any, expected: bool) -> None:
    """Links are followed and ``..`` is settled before a path is compared; names alone are meant below the session."""
    (tmp_path / "src").mkdir()
    (tmp_path / "link").symlink_to("src")
    (tmp_path / "src" / "out").symlink_to("/")
    call = call_of("write_file", {"file_path": path}, tmp_path)
    assert bool(covering([Rule.read(rule)], call)) is expected


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        ("write_file(keys)", "keys/a", Fit.YES),
        ("write_file(keys/**)", "KEYS/a", Fit.YES),
        ("Write_File(keys)", "keys/a", Fit.YES),
        ("write_file(keys)", "link/a", Fit.YES),
        ("write_file(link/*)", "keys/a", Fit.YES),
        ("write_file(keys)", "./x/../keys/a", Fit.YES),
        ("write_file(*.pem)", "/elsewhere/a.pem", Fit.YES),
        ("write_file(keys/a)", "twin", Fit.YES),
        ("write_file(=keys/a)", "keys/a", Fit.YES),
        ("write_file(keys)", "keys2/a", Fit.NO),
        ("write_file(keys)", "other", Fit.NO),
        ("write_file(keys)", None, Fit.MAYBE),
        ("write_file(keys)", "a\0", Fit.MAYBE),
        ("read_file(keys)", "keys/a", Fit.NO),
    ],
)
def test_rules_about_paths_deny_under_every_name(tmp_path: Path, rule: str, path: Any, expected: Fit) -> None:
    """Another case, a link, a detour or a second name of the file do not help; what is no path is in doubt."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "a").write_text("")
    (tmp_path / "x").mkdir()
    (tmp_path / "twin").hardlink_to(tmp_path / "keys" / "a")
    (tmp_path / "link").symlink_to("keys")
    assert wide_fit(Rule.read(rule), call_of("write_file", {"file_path": path}, tmp_path)) is expected


PATCH = "*** Begin Patch\n*** Update File: src/a\n*** Move to: {to}\n+x\r\n*** Delete File: src/b\r\n*** End Patch"


@pytest.mark.parametrize(
    ("patch", "allowed", "denied"),
    [
        (PATCH.format(to="src/c"), True, Fit.NO),
        (PATCH.format(to="keys/c"), False, Fit.YES),
        ("--- a/src/a\n+++ b/src/a\n", False, Fit.MAYBE),
        ("*** Begin Patch\n*** End Patch", False, Fit.MAYBE),
        (None, False, Fit.MAYBE),
    ],
)
def test_every_file_of_a_patch_counts(tmp_path: Path, patch: Any, allowed: bool, denied: Fit) -> None:
    """A patch is allowed if all its files are, denied if one is, and in doubt if they are not known."""
    call = call_of("apply_patch", {"patch": patch}, tmp_path)
    assert bool(covering([Rule.read("apply_patch(src)")], call)) is allowed
    assert wide_fit(Rule.read("apply_patch(keys)"), call) is denied
    assert (decide(call, "accept-edits").verdict == "allow") is (denied is not Fit.MAYBE)


@pytest.mark.parametrize(
    ("url", "allowed", "denied"),
    [
        ("https://example.com/a?b#c", True, Fit.YES),
        ("HTTPS://EXAMPLE.COM:8443", True, Fit.YES),
        ("https://example.com./", True, Fit.YES),
        ("https://www.example.com/", False, Fit.YES),
        ("https://example.com.evil.org/", False, Fit.NO),
        ("https://evilexample.com/", False, Fit.NO),
        ("https://exampleXcom/", False, Fit.NO),
        ("https://example.com@evil.org/", False, Fit.MAYBE),
        ("https://evil.org\\@example.com/", False, Fit.MAYBE),
        ("https://evil.org/\\@example.com", False, Fit.MAYBE),
        ("https://example.com\n.evil.org/", False, Fit.MAYBE),
        ("https://[::1]/", False, Fit.MAYBE),
        ("https:example.com", False, Fit.MAYBE),
        (" https://example.com/", False, Fit.MAYBE),
        (["https://example.com/"], False, Fit.MAYBE),
        (None, False, Fit.MAYBE),
    ],
)
def test_rules_about_domains(url: Any, allowed: bool, denied: Fit) -> None:
    """A host must be written so that all read it alike; a denial holds for what is below the domain too."""
    rule = Rule.read("web_fetch(domain:example.com)")
    assert (bool(covering([rule], fetch(url))), wide_fit(rule, fetch(url))) == (allowed, denied)


@pytest.mark.parametrize(("given", "denied"), [({}, Fit.YES), ({"path": "src"}, Fit.YES), ({"path": ".."}, Fit.NO)])
def test_a_search_without_a_path_is_about_the_working_directory(
    tmp_path: Path, given: dict[str, Any], denied: Fit
) -> None:
    """That is where it begins."""
    assert wide_fit(Rule.read("grep(.)"), call_of("grep", given, tmp_path)) is denied


def test_a_domain_says_nothing_about_where_to_save() -> None:
    """What may be fetched may not be written anywhere for that."""
    call = fetch("https://example.com/", save_to_file="x")
    assert covering([Rule.read("web_fetch(domain:example.com)")], call) == ()
    assert covering([Rule.read("web_fetch")], call) == (Rule("web_fetch"),)


@pytest.mark.parametrize(
    ("rule", "tool", "given", "allowed", "denied"),
    [
        ("mcp_*", "mcp_a", {}, True, Fit.YES),
        ("mcp_*", "xmcp_a", {}, False, Fit.NO),
        ("mcp_*", "MCP_a", {}, False, Fit.YES),
        ("deploy", "deploy2", {}, False, Fit.NO),
        ("deploy", "Deploy", {}, False, Fit.YES),
        ("deploy", "\uff44eploy", {}, False, Fit.YES),
        ("de.*", "deploy", {}, False, Fit.NO),
        ("deploy(to:test*)", "deploy", {"to": "test-1"}, True, Fit.YES),
        ("deploy(to:test*)", "deploy", {"to": "prod test"}, False, Fit.NO),
        ("deploy(to:test*)", "deploy", {"to": "TEST-1"}, False, Fit.YES),
        ("deploy(to:test*)", "deploy", {"to": ["test"]}, False, Fit.MAYBE),
        ("deploy(to:test*)", "deploy", {}, False, Fit.NO),
        ("deploy(test)", "deploy", {"to": "test"}, False, Fit.MAYBE),
        ("deploy(=to:test)", "deploy", {"to": "test"}, False, Fit.MAYBE),
        ("Bash", "Bash", {}, False, Fit.YES),
        ("bash", "b\u0430sh", {}, False, Fit.NO),
        ("domain", "web", {"domain": "x"}, False, Fit.NO),
        ("web(domain:x)", "web", {"domain": "x"}, True, Fit.YES),
    ],
)
def test_rules_about_other_tools(rule: str, tool: str, given: dict[str, Any], allowed: bool, denied: Fit) -> None:
    """Names are compared whole: to the letter for what is allowed, by their looks for what is denied."""
    call = call_of(tool, given)
    assert (bool(covering([Rule.read(rule)], call)), wide_fit(Rule.read(rule), call)) == (allowed, denied)


@pytest.mark.parametrize(("command", "denied"), [("rm  x", Fit.YES), ("rm y", Fit.NO), (None, Fit.MAYBE)])
def test_a_denial_to_the_letter(command: Any, denied: Fit) -> None:
    """White space does not matter to it."""
    assert wide_fit(Rule.read("Bash(=rm x)"), bash(command)) is denied


@pytest.mark.parametrize("text", ["", "  ", "a b", "(x)", "Bash(", "Bash()", "Bash)x("])
def test_what_is_no_rule_is_refused(text: str) -> None:
    """The message says what a rule looks like."""
    with pytest.raises(ValueError, match=r"is no rule; expected a tool's name, or 'Tool\(specifier\)'"):
        Rule.read(text)


class Harmless:
    """A tool that says it only reads."""

    read_only = True


class HarmlessByMetadata:
    """The same, in the other way."""

    metadata = {"read_only": True}


class Cautious:
    """A tool that reads, and wants approval."""

    metadata = {"read_only": True, "require_approval": True}


class Odd:
    """A tool whose claims are not to be trusted as they stand."""

    read_only = "yes"
    metadata = "read_only"


IN_WORK, OUTSIDE = {"file_path": "a"}, {"file_path": "/a"}
MODE_ROWS: list[tuple[str, dict[str, Any], Any, str]] = [
    # A letter for each mode: default, plan, accept-edits, dont-ask, bypass; a is allowed, q a question, d denied.
    ("read_file", OUTSIDE, None, "aaaaa"),
    ("grep", {}, None, "aaaaa"),
    ("glob", {}, None, "aaaaa"),
    ("todo", {}, None, "aaaaa"),
    ("web_search", {}, None, "aaaaa"),
    ("bash_jobs", {}, None, "aaaaa"),
    ("web_fetch", {"url": "https://a.org"}, None, "aaaaa"),
    ("web_fetch", {"url": "https://a.org", "save_to_file": "x"}, None, "qdqda"),
    ("web_fetch", {"url": "https://a.org", "save_to_file": ""}, None, "qdqda"),
    ("write_file", IN_WORK, None, "qdada"),
    ("edit_file", IN_WORK, None, "qdada"),
    ("write_file", OUTSIDE, None, "qdqda"),
    ("write_file", {"file_path": "../a"}, None, "qdqda"),
    ("apply_patch", {"patch": "?"}, None, "qdqda"),
    ("bash", {"command": "make"}, None, "qdqda"),
    ("bash", {"command": "ls"}, None, "adaaa"),
    ("task", {}, Harmless(), "qdqda"),
    ("delegate", {}, None, "qdqda"),
    ("mcp_server_read", {}, Harmless(), "qdqda"),
    ("MCP__x", {}, Harmless(), "qdqda"),
    ("bash", {"command": "make"}, Harmless(), "qdqda"),
    ("unknown", {}, None, "qdqda"),
    ("unknown", {}, Odd(), "qdqda"),
    ("unknown", {}, Harmless(), "aaaaa"),
    ("unknown", {}, HarmlessByMetadata(), "aaaaa"),
    ("unknown", {}, Cautious(), "qqqda"),
]


@pytest.mark.parametrize(("name", "given", "tool", "expected"), MODE_ROWS)
def test_what_each_mode_makes_of_each_tool(
    tmp_path: Path, name: str, given: dict[str, Any], tool: Any, expected: str
) -> None:
    """Every tool that writes, runs or sends is covered without any rule, and so is whatever nobody knows."""
    letters = {"allow": "a", "ask": "q", "deny": "d"}
    verdicts = [letters[decide(call_of(name, given, tmp_path, tool), mode).verdict] for mode in MODES]
    assert "".join(verdicts) == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_denial_holds_in_every_mode(mode: Mode) -> None:
    """Whatever else allows the call."""
    allowing = {"allow": ["Bash"], "ask": ["Bash"], "tools": {"bash": {"require_approval": False}}}
    decision = decide(bash("x && rm -rf y"), mode, deny=["Bash(rm:*)"], policy_driven_only=True, **allowing)
    assert decision == Decision("deny", "the rule 'Bash(rm:*)' denies it")


@pytest.mark.parametrize(
    ("mode", "verdict"),
    [("default", "ask"), ("plan", "deny"), ("accept-edits", "ask"), ("dont-ask", "deny"), ("bypass", "ask")],
)
def test_what_may_be_denied_is_never_waved_through(mode: Mode, verdict: str) -> None:
    """A command that is not known before it runs is asked about for the denial's sake, also in ``bypass``."""
    decision = decide(bash('"$x" y'), mode, deny=["Bash(rm:*)"], allow=["Bash"])
    assert (decision.verdict, decision.can_be_remembered) == (verdict, False)


@pytest.mark.parametrize(("mode", "verdict"), [("default", "ask"), ("dont-ask", "deny"), ("bypass", "allow")])
def test_questions_come_before_allowances(mode: Mode, verdict: str) -> None:
    """A rule that asks is heard before one that allows."""
    assert decide(bash("git push"), mode, ask=["Bash(git push:*)"], allow=["Bash(git:*)"]).verdict == verdict


def test_the_plan_settles_for_single_tools_whether_they_are_asked_about() -> None:
    """``tools.<name>.require_approval`` goes either way, but not past the plan mode."""
    tools = {"write_file": {"require_approval": False}, "read_file": {"require_approval": True}}
    writing, reading = call_of("write_file", IN_WORK), call_of("read_file", IN_WORK)
    verdicts = [decide(call, mode, tools=tools).verdict for call in (writing, reading) for mode in ("default", "plan")]
    assert verdicts == ["allow", "deny", "ask", "ask"]


def test_a_policy_from_outside_names_the_tools() -> None:
    """With ``policy_driven_only`` nothing else needs approval; without it, what is named does so besides."""
    reading, running = call_of("read_file", IN_WORK), bash("make")
    for is_only, expected in ((True, ["ask", "allow"]), (False, ["ask", "ask"])):
        policy = Policy(ApprovalConfig(policy_driven_only=is_only))
        assert [policy.decide(each, "default", (), {"read_file"}).verdict for each in (reading, running)] == expected


@pytest.mark.parametrize(
    ("action", "verdict"),
    [("auto_approve", "allow"), ("allow", "allow"), ("ask", "ask"), ("auto_deny", "deny"), ("deny", "deny")],
)
def test_rules_in_the_older_form(action: str, verdict: str) -> None:
    """A pattern and an action; the pattern is about commands unless a tool is named."""
    rules = [{"pattern": "make*", "action": action}]
    assert decide(bash("make all"), rules=rules).verdict == verdict
    assert decide(bash("make all; x"), rules=rules).verdict == ("deny" if verdict == "deny" else "ask")


REMEMBERED = [
    (bash("git status"), "bash(=git status)"),
    (bash("rm *"), "bash(=rm *)"),
    (bash("a\nb (c)"), "bash(=a\nb (c))"),
    (bash("a\x1b[8mb"), None),
    (bash("a\u202eb"), None),
    (bash(7), None),
    (call_of("write_file", {"file_path": "x*"}, Path("/w")), "write_file(=/w/x*)"),
    (call_of("write_file", {"file_path": ""}), None),
    (call_of("apply_patch", {"patch": PATCH.format(to="c")}), None),
    (fetch("https://A.org/x"), "web_fetch(domain:a.org)"),
    (fetch("https://a.org/", save_to_file="x"), None),
    (fetch("nonsense"), None),
    (call_of("mcp_x", {}), "mcp_x"),
    (call_of("*", {}), None),
    (call_of("mcp_*", {}), None),
    (call_of("bash(x)", {}), None),
    (call_of("two words", {}), None),
]


@pytest.mark.parametrize(("call", "expected"), REMEMBERED)
def test_which_rule_an_answer_saves(call: Call, expected: str | None) -> None:
    """It is to the letter, so that no wildcard in an input or a name opens more; some calls have no such rule."""
    question = question_about(call, Decision("ask", "", can_be_remembered=True), asked_in="s", can_save=True)
    assert (None if question.rule is None else str(question.rule)) == expected
    if expected is not None:
        assert Rule.read(expected) == question.rule
        shown = expected.replace("\n", "\n  ")
        assert f"save this rule:\n  {shown}" in question.prompt


WORDS = st.sampled_from(
    ["rm", "ls", "*", "?", "[a-z]", "$(x)", "'q'", '"', ";", "&&", ">", "(", ")", "=", "a b", "\\", "é"]
)


@pytest.mark.slow
@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=6))
def test_a_saved_rule_is_about_one_text_only(said: list[str], other: list[str]) -> None:
    """Saved as text and read again, it allows that command and no other."""
    first, second = " ".join(said), " ".join(other)
    rule = Rule.read(str(Rule("bash", f"={first}")))
    assert bool(covering([rule], bash(first)))
    assert bool(covering([rule], bash(second))) is (first == second)
