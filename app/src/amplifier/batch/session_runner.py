"""One item as one session: its plan, its limits, its turn; whatever goes wrong is its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from amplifier.batch.items import Item
from amplifier.bundles.active import active_bundle
from amplifier.bundles.load import Fetch
from amplifier.bundles.plan import MountPlan, make_plan
from amplifier.console.approval import Refusal
from amplifier.paths import Places
from amplifier.problems import Problem
from amplifier.runtime.outcome import TurnOutcome
from amplifier.runtime.runtime import Runtime, Setting
from amplifier.settings import Settings
from amplifier.store import SessionStore

LoadSettings = Callable[[Mapping[str, Any]], Settings]
_PLANS_KEPT = 32
_Differences = tuple[tuple[str, Any], ...]


class SessionRunner:
    """Runs items in one working directory; items that differ in nothing share a plan."""

    def __init__(
        self,
        places: Places,
        load_settings: LoadSettings,
        bundle: str | None = None,
        *,
        fetch: Fetch | None = None,
        resolve: Callable[[MountPlan], Any] = lambda plan: None,
        store: SessionStore | None = None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``load_settings`` gives the settings with an item's own on top; ``fetch`` brings bundles that are elsewhere,
        ``resolve`` gives what finds the modules of a plan; with a ``store`` the sessions are kept."""
        self._places = places
        self._load_settings = load_settings
        self._bundle = bundle
        self._fetch = fetch
        self._resolve = resolve
        self._store = store
        self._warn = warn
        self._told: set[str] = set()
        self._plan_of = lru_cache(_PLANS_KEPT)(self._planned)

    async def __call__(self, item: Item) -> TurnOutcome:
        """The outcome of an item; only a cancellation comes out as an exception."""
        try:
            plan, setting = self._prepared(item)
            async with Runtime(plan, setting) as runtime:
                return await runtime.run_turn(item.prompt)
        except Problem as problem:
            return _failed(problem)
        except Exception as error:
            return _failed(Problem(f"The session failed: {type(error).__name__}: {error}", "--debug shows where."))

    def check(self) -> None:
        """Makes the plan that items have which differ in nothing; raises ``Problem`` if that cannot be."""
        self._plan_of((), self._bundle, None)

    def _prepared(self, item: Item) -> tuple[MountPlan, Setting]:
        flags = tuple(item.flags().items())
        plan, setting = self._plan_of(flags, item.bundle or self._bundle, item.system_prompt)
        if item.timeout is not None:
            setting = replace(setting, timeout_s=item.timeout)
        if self._store is not None:
            stored = self._store.create(name=item.id, bundle=plan.ref, extra={"batch_item": item.id})
            setting = replace(setting, store=self._store, stored=stored)
        return plan, setting

    def _planned(self, flags: _Differences, bundle: str | None, prompt: str | None) -> tuple[MountPlan, Setting]:
        settings = self._load_settings(dict(flags))
        overrides = {} if prompt is None else {"instruction": prompt}
        found = active_bundle(settings, self._places, bundle, fetch=self._fetch)
        plan = make_plan(found, settings, self._places, overrides=overrides)
        for warning in plan.warnings:
            if warning not in self._told:
                self._told.add(warning)
                self._warn(warning)
        timeout = settings.get("limits.timeout")
        limit = None if timeout is None else float(timeout)
        # Nobody watches a thousand sessions at a time, so nobody can be asked.
        setting = Setting(self._places.working_dir, timeout_s=limit, approval=Refusal(), resolver=self._resolve(plan))
        return plan, setting


def _failed(problem: Problem) -> TurnOutcome:
    return TurnOutcome("", "", "error", problem.kind, problem)
