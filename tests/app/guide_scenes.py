"""The scenes of the guide: what is in the project, what the scripted model answers, what the user types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.app.guide_stage import Frame, Stage
from tests.app.run_world import calls

COLUMNS = 92
_APPROVAL = {"module": "hooks-approval"}
_FILES = {"module": "tool-filesystem"}
_SEARCH = {"module": "tool-search"}
_BASH = {"module": "tool-bash"}


class Scene(NamedTuple):
    """A title, and how it is played: what is to be seen, one look after another."""

    title: str
    rows: int
    play: Callable[[Stage], list[Frame]]


_PRICES = '''\
"""Prices."""


def total(prices, discount=0):
    """The sum of all prices, less a discount in percent."""
    return sum(prices) * (1 - discount)
'''
_MENDED = {"file_path": "prices.py", "old_string": "(1 - discount)", "new_string": "(1 - discount / 100)"}
_ANSWER = """\
`total` treats the discount as a **fraction**, its docstring promises **percent**: \
`total([100], 10)` gives -900.

Divide it once, where it is used:

```python
def total(prices, discount=0):
    return sum(prices) * (1 - discount / 100)
```

1. `report.py` passes 0.1 today, so it has to change as well.
2. There is no test with a discount yet.
"""


def _answer(stage: Stage) -> list[Frame]:
    stage.file("prices.py", _PRICES)
    stage.agent([{"thinking": "The docstring says percent, the code takes a fraction.", "text": _ANSWER}])
    stage.chat()
    stage.say("Why is the total of @prices.py negative?")
    return [stage.frame(r"no test with a discount yet")]


_WAITING = "n=0; until [ -e $1 ] || [ $n = 600 ]; do n=$((n+1)); sleep 0.05; done"
"""For scripts: goes on when there is a file of that name, and in the end without it."""
_CHECK = f"""\
for n in 1 2 3; do echo test_prices.py: case $n passed; done
set go
{_WAITING}
echo 3 passed in 1.7 seconds
"""


def _work(stage: Stage) -> list[Frame]:
    stage.file("prices.py", _PRICES)
    answer = "The discount is in percent now, and the tests pass."
    stage.file("check.sh", _CHECK)
    stage.agent(
        [
            calls(("grep", {"pattern": "discount"})),
            calls(("read_file", {"file_path": "prices.py"})),
            calls(("edit_file", _MENDED)),
            calls(("bash", {"command": "sh check.sh"})),
            answer,
        ],
        tools=[_FILES, _SEARCH, _BASH],
    )
    stage.chat()
    stage.write("Mend the discount, and run the tests.")
    typed = stage.frame(r"❯ Mend")
    stage.keys("Enter")
    running = stage.frame(r"case 3 passed", "0.1 s", "0.0 s", "0.1 s", "1.8 s", "2.6 s")
    stage.file("go", "")
    done = stage.frame(r"the tests pass", "0.1 s", "0.0 s", "0.1 s", "2.9 s", "4.3 s")
    return [typed, running, done]


def _approval(stage: Stage) -> list[Frame]:
    stage.file("prices.py", _PRICES)
    stage.agent(
        [{"text": "The discount has to be divided by 100.", **calls(("edit_file", _MENDED))}, "Done."],
        tools=[_FILES], hooks=[_APPROVAL],
    )  # fmt: skip
    stage.chat()
    stage.say("Mend the discount.")
    return [stage.frame(r"4 Deny")]


def _commands(stage: Stage) -> list[Frame]:
    stage.agent(["Done."])
    stage.chat()
    stage.write("/co")
    stage.until(r"/context\b")
    stage.keys("Down")
    return [stage.frame(r"❯ /compact")]


def _paths(stage: Stage) -> list[Frame]:
    for name in ("prices.py", "report.py", "tests/test_prices.py", "tests/test_report.py"):
        stage.file(name, _PRICES)
    stage.agent(["Done."])
    stage.chat()
    stage.write("Which tests of @pri")
    stage.until(r"tests/test_prices\.py")
    stage.keys("Down")
    return [stage.frame(r"❯ Which tests of @prices")]


def _child(*script: Any) -> dict[str, Any]:
    model = {"module": "provider-mock", "config": {"script": list(script), "model": "scripted"}}
    return {"description": "Works.", "instruction": "You work.", "providers": [model]}


def _agents(stage: Stage) -> list[Frame]:
    stage.file("report.py", "total([3, 4], discount=0.1)\n")
    stage.file("count.sh", f"echo $2 of 3 files\n{_WAITING}\n")
    named = {"reader": "Where is a discount used?", "tester": "Which tests are missing?"}
    answer = "A discount is used in **one** place, and no test covers it."
    tester = calls(("bash", {"command": "sh count.sh tests 2"}))
    stage.agent(
        [calls(*(("task", {"agent": name, "instruction": asked}) for name, asked in named.items())), answer],
        tools=[_FILES, _SEARCH, _BASH, {"module": "tool-task"}],
        agents={
            "reader": _child(
                calls(("grep", {"pattern": "discount"})),
                calls(("bash", {"command": "sh count.sh code 1"})),
                "Only in `report.py`.",
            ),
            # Later than the other one, so that they are always shown in the same order.
            "tester": _child({**tester, "delay_s": 1.0}, "One with a **discount**."),
        },
    )
    stage.chat()
    stage.say("Look into the discount.")
    running = stage.frame(r"(?s)1 of 3 files.*2 of 3 files", "0.1 s", "1.2 s", "1.1 s", "0.8 s", "0.3 s", "1.5 s")
    stage.file("tests", "")
    stage.frame(r"One with a discount")
    stage.file("code", "")
    done = stage.frame(r"no test covers it", "0.1 s", "1.9 s", "2.1 s", "2.6 s", "2.9 s", "4.4 s")
    return [running, done]


def _status(stage: Stage) -> list[Frame]:
    stage.file("prices.py", _PRICES)
    stage.agent(
        [
            calls(("read_file", {"file_path": "prices.py"})),
            {"text": "It sums up prices.", "usage": {"input_tokens": 6200, "output_tokens": 90, "cost_usd": "0.0214"}},
        ],
        tools=[_FILES, _BASH],
        hooks=[_APPROVAL],
    )
    stage.chat()
    stage.say("What does it do?")
    stage.frame(r"It sums up prices")
    stage.say("/context")
    stage.frame(r"About")
    stage.say("/status")
    return [stage.frame(r"working directory(?s:.*)tools", "0.0 s", "1.9 s")]


def _rewind(stage: Stage) -> list[Frame]:
    stage.file("prices.py", _PRICES)
    read = calls(("read_file", {"file_path": "prices.py"}))
    stage.agent([read, "It sums up prices.", calls(("edit_file", _MENDED)), "Mended."], tools=[_FILES])
    stage.chat()
    stage.say("What does prices.py do?")
    stage.frame(r"It sums up prices")
    stage.say("Mend the discount.")
    stage.frame(r"Mended\.")
    stage.say("/rewind")
    which = stage.frame(r"Go back to before", "0.1 s", "0.1 s", "2.4 s")
    stage.keys("Enter")
    what = stage.frame(r"only the files", "0.1 s", "0.1 s", "2.4 s")
    return [which, what]


def _resume(stage: Stage) -> list[Frame]:
    stage.agent([{"text": "I look into it: {{prompt}}"}])
    stage.chat()
    for asked in ("Mend the discount of prices.py", "Which tests are missing?"):
        stage.say(asked)
        stage.frame(f"look into it: {re.escape(asked)}")
        stage.say("/new")
        stage.frame(rf"(?s){re.escape(asked)}.*a new session")
    stage.say("/resume")
    return [stage.frame(r"Sessions of this directory", "1.2 s")]


def _run(stage: Stage) -> list[Frame]:
    haiku = "Indented with care,\nthe quiet snake sheds its skin:\nfour spaces, no more.\n"
    stage.agent(
        [calls(("write_file", {"file_path": "haiku.txt", "content": haiku}))], tools=[_FILES], hooks=[_APPROVAL]
    )
    stage.start("run", "Write a haiku about Python into haiku.txt")
    return [stage.frame(r"why not")]


SCENES = {
    "answer": Scene("a question and its answer", 30, _answer),
    "work": Scene("tools at work", 34, _work),
    "approval": Scene("a question before a change", 34, _approval),
    "commands": Scene("a command", 14, _commands),
    "paths": Scene("a path", 14, _paths),
    "agents": Scene("two agents side by side", 34, _agents),
    "status": Scene("/context and /status", 40, _status),
    "rewind": Scene("/rewind", 38, _rewind),
    "resume": Scene("/resume", 34, _resume),
    "run": Scene("amplifier run", 20, _run),
}
