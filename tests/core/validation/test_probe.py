"""A module under validation is really mounted and really cleaned up, whatever it does."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from amplifier_core.validation import ToolValidator
from amplifier_core.validation.base import import_module_from_path

# Long enough for what does not hang, on a busy machine as well; what may take long is imported before.
SHORT_S = 0.2
ERROR = "Error during protocol compliance check: "


def mounting(body: str, top: str = "") -> str:
    """A module whose ``mount`` mounts a fine tool and then does ``body``."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return (
        f"import asyncio, sys, time\n{top}\nlog = []\n"
        "class Hammer:\n"
        "    name, description = 'hammer', 'Drives nails.'\n"
        "    async def execute(self, input): ...\n"
        f"async def mount(coordinator, config):\n    coordinator.mount('tools', Hammer())\n{indented}"
    )


async def test_the_module_sees_a_coordinator_with_everything_on_it(author: Any) -> None:
    """It may ask, show, read the session and its plan, as in a session."""
    package = author.package(
        mounting(
            "log.append(await coordinator.approval_system.request_approval('?', ['Allow'], 1.0, 'deny'))\n"
            "log.append(coordinator.display_system.show_message('hello', 'info'))\n"
            "log.append((coordinator.session_id, coordinator.parent_id, list(coordinator.config['session'])))\n"
            "log.append(config)"
        )
    )
    result = await ToolValidator().validate(package, config={"a": 1})
    assert result.errors == []
    plan = ["orchestrator", "context"]
    assert sys.modules[package.name].log == ["Deny", None, ("validation", None, plan), {"a": 1}]


async def test_registered_and_returned_clean_ups_run_last_in_first_out(author: Any) -> None:
    """Each once, also one that is both registered and returned; sync and async."""
    package = author.package(
        mounting(
            "async def third(): log.append('registered first')\n"
            "def both(): log.append('both')\n"
            "coordinator.register_cleanup(third)\n"
            "coordinator.register_cleanup(both)\n"
            "return both"
        )
    )
    assert (await ToolValidator().validate(package)).errors == []
    assert sys.modules[package.name].log == ["both", "registered first"]


async def test_clean_ups_run_when_mount_fails_half_way(author: Any) -> None:
    """What was opened before is closed."""
    package = author.package(
        mounting("coordinator.register_cleanup(lambda: log.append('closed'))\nraise KeyError('k')")
    )
    result = await ToolValidator().validate(package)
    file = package / "__init__.py"
    assert [check.message for check in result.errors] == [f"{ERROR}KeyError: 'k' ({file}, line 10)"]
    assert sys.modules[package.name].log == ["closed"]


async def test_a_clean_up_that_fails_is_a_warning_and_the_others_run(author: Any) -> None:
    """It is named, and so is the line."""
    package = author.package(
        mounting("coordinator.register_cleanup(lambda: log.append('closed'))\ndef broken(): 1 / 0\nreturn broken")
    )
    result = await ToolValidator().validate(package)
    assert [(check.name, check.severity, check.message) for check in result.checks if not check.passed] == [
        (
            "cleanup",
            "warning",
            "Error during clean-up 'mount.<locals>.broken': ZeroDivisionError: division by zero "
            f"({package / '__init__.py'}, line 10)",
        )
    ]
    assert sys.modules[package.name].log == ["closed"]


@pytest.mark.parametrize(
    ("cleanup", "told"),
    [
        ("asyncio.Event().wait()", "it did not end within 0.2 s; give what it waits for a time limit"),
        ("time.sleep(60)", "it did not end within 0.2 s; give what it waits for a time limit"),
        ("sys.exit(4)", "it calls sys.exit(4), which ends the whole application; raise an error"),
    ],
)
async def test_a_clean_up_that_hangs_or_exits_is_an_error_and_the_others_run(
    author: Any, cleanup: str, told: str
) -> None:
    """Each has a time limit of its own."""
    package = author.package(
        mounting(f"coordinator.register_cleanup(lambda: log.append('closed'))\nreturn lambda: {cleanup}")
    )
    import_module_from_path(package)
    result = await ToolValidator(SHORT_S).validate(package)
    assert [(check.name, check.message) for check in result.errors] == [
        ("cleanup", f"Error during clean-up 'mount.<locals>.<lambda>': {told}")
    ]
    assert sys.modules[package.name].log == ["closed"]


async def test_a_clean_up_may_be_any_callable_object(author: Any) -> None:
    """It is named by its class; what is not callable is ignored."""
    top = "class Closer:\n    def __call__(self): raise OSError('closed already')"
    complaints = await author.complaints("tool", mounting("coordinator.register_cleanup(1)\nreturn Closer()", top))
    assert [message.partition(" (")[0] for _, _, message in complaints] == [
        "Error during clean-up 'Closer': OSError: closed already"
    ]


async def test_clean_ups_that_register_themselves_again_come_to_an_end(author: Any) -> None:
    """A clean-up may register another one, which runs as well; for ever it does not go on."""
    package = author.package(
        mounting("def again():\n    log.append('again')\n    coordinator.register_cleanup(again)\nreturn again")
    )
    assert (await ToolValidator().validate(package)).passed
    assert sys.modules[package.name].log == ["again"] * 3


SLOW = (
    "mount() did not end within 0.2 s; leave what takes long to a task or to on_session_ready, and give connections "
    "a time limit"
)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("await asyncio.Event().wait()", SLOW),
        ("time.sleep(60)", SLOW),
        ("while True: pass", SLOW),
        pytest.param(
            "while True:\n    try: await asyncio.sleep(60)\n    except asyncio.CancelledError: pass",
            SLOW,
            marks=pytest.mark.slow,
        ),
        ("sys.exit()", "mount() calls sys.exit(None), which ends the whole application; raise an error"),
        ("raise asyncio.CancelledError", "CancelledError ({file}, line 9)"),
        ("raise BaseException('odd')", "BaseException: odd ({file}, line 9)"),
        ("raise ValueError('x' * 5000)", "ValueError: " + "x" * 1988 + "… ({file}, line 9)"),
        (
            "coordinator.mount('toolz', 1)",
            "ValueError: Unknown mount point: toolz; known are orchestrator, providers, tools, context, hooks, "
            "module-source-resolver ({file}, line 9)",
        ),
    ],
)
async def test_whatever_mount_does_is_a_failed_check(author: Any, body: str, told: str) -> None:
    """The message says what is wrong and, where the code is to blame, in which line."""
    package = author.package(mounting(body))
    import_module_from_path(package)
    path, tasks = list(sys.path), asyncio.all_tasks()
    result = await ToolValidator(SHORT_S).validate(package)
    assert [(check.name, check.severity, check.message) for check in result.checks if not check.passed] == [
        ("protocol_compliance", "error", ERROR + told.format(file=package / "__init__.py"))
    ]
    assert (sys.path, asyncio.all_tasks()) == (path, tasks)


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("def name(self): sys.exit(1)", "what mount() installed calls sys.exit(1), which ends the whole application"),
        ("def name(self): time.sleep(60)", "what mount() installed did not end within 0.2 s"),
    ],
)
async def test_an_instance_that_misbehaves_when_looked_at_is_a_failed_check(
    author: Any, member: str, told: str
) -> None:
    """Properties run foreign code, too."""
    source = mounting("coordinator.mount('tools', Odd(), name='odd')", f"class Odd:\n    @property\n    {member}")
    complaints = await author.complaints("tool", source, limit_s=SHORT_S)
    assert [(name, severity) for name, severity, _ in complaints] == [("protocol_compliance", "error")]
    assert complaints[0][2].startswith(ERROR + told)


async def test_a_keyboard_interrupt_stops_the_validation_after_the_clean_up(author: Any) -> None:
    """It is the wish of whoever sits there, and no failure of the module."""
    package = author.package(
        mounting("coordinator.register_cleanup(lambda: log.append('closed'))\nraise KeyboardInterrupt")
    )
    with pytest.raises(KeyboardInterrupt):
        await ToolValidator().validate(package)
    assert sys.modules[package.name].log == ["closed"]


async def test_cancelling_the_validation_cleans_up(author: Any) -> None:
    """The clean-up runs, and the cancellation goes on."""
    package = author.package(
        mounting(
            "coordinator.register_cleanup(lambda: log.append('closed'))\n"
            "log.append('waiting')\nawait asyncio.Event().wait()"
        )
    )
    path = list(sys.path)
    task = asyncio.create_task(ToolValidator().validate(package))
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sys.modules[package.name].log == ["waiting", "closed"]
    assert sys.path == path


async def test_cancelling_the_validation_during_clean_up_does_not_skip_the_others(author: Any) -> None:
    """The cancellation goes on when all have run."""
    package = author.package(
        mounting("coordinator.register_cleanup(lambda: log.append('closed'))\nreturn asyncio.Event().wait")
    )
    task = asyncio.create_task(ToolValidator().validate(package))
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sys.modules[package.name].log == ["closed"]


async def test_tasks_that_mount_starts_end_with_the_validation(author: Any) -> None:
    """A task that was forgotten is told."""
    source = mounting("asyncio.create_task(asyncio.sleep(60))")
    tasks = asyncio.all_tasks()
    complaints = await author.complaints("tool", source, limit_s=SHORT_S)
    assert [(name, severity) for name, severity, _ in complaints] == [("background_task", "warning")]
    assert asyncio.all_tasks() == tasks


async def test_several_validations_run_at_once(author: Any) -> None:
    """They do not see each other."""
    sources = [mounting("await asyncio.sleep(0)"), mounting("await asyncio.Event().wait()"), mounting("sys.exit()")]
    results = await asyncio.gather(*(author.try_out("tool", source, limit_s=SHORT_S) for source in sources))
    assert [result.passed for result in results] == [True, False, False]
