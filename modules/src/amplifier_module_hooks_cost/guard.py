"""The guard of the budget: reserves before each model call, settles after it, warns, and refuses.

All its handlers are guards, so that those of a session guard its children too: whatever a child's calls cost is counted
here as well, whether or not the child has a guard of its own.
"""

from __future__ import annotations

import asyncio
import logging
from decimal import Decimal
from typing import Any

from amplifier_core.events import (
    EXECUTION_END,
    LLM_RESPONSE,
    POLICY_VIOLATION,
    PROVIDER_ERROR,
    PROVIDER_REQUEST,
    PROVIDER_RESPONSE,
    SESSION_END,
)
from amplifier_core.models import HookResult
from amplifier_modkit.locations import amplifier_home
from amplifier_modkit.pricing import Tokens, contributed_cost, reported_cost
from amplifier_module_hooks_cost import wording
from amplifier_module_hooks_cost.accounts import Account, Amount, Standing
from amplifier_module_hooks_cost.calls import Call, Calls
from amplifier_module_hooks_cost.config import CostConfig
from amplifier_module_hooks_cost.day import TROUBLES, Day
from amplifier_module_hooks_cost.day_file import DayFile
from amplifier_module_hooks_cost.estimates import Estimator
from amplifier_module_hooks_cost.events import COST_LIMIT_REACHED, COST_UNKNOWN_PRICE, COST_WARNING, OWN_EVENTS

logger = logging.getLogger(__name__)

ACCOUNT = "cost.account"
"""The capability under which a session's account is found; a child that is given its parent's draws on it."""

_NAME = "hooks-cost"
_CHANNEL = "session.cost"
_TIMEOUT_S = 30.0
_COLLECTING_S = 2.0


class CostGuard:
    """Counts and limits what one session and its children spend; lives as long as the session's modules are mounted."""

    def __init__(self, config: CostConfig, coordinator: Any, account: Account, *, counts_the_day: bool) -> None:
        self._config = config
        self._coordinator = coordinator
        self._session_id: str = coordinator.session_id
        self._account = account
        self._prices = config.price_list()
        self._estimator = Estimator(self._prices, config.reserve_output_tokens)
        self._calls = Calls()
        day_file = DayFile(amplifier_home() / "spending", coordinator.clock)
        self._day = Day(day_file, config.daily_max_cost_usd, account) if counts_the_day else None
        self._unpriced: set[str] = set()
        self._warned: set[str] = set()
        self._priced_by_table = Decimal(0)

    @classmethod
    def begin(cls, config: CostConfig, coordinator: Any) -> None:
        """Begins to guard the coordinator's session; a second guard in one plan is refused."""
        handed_down = coordinator.get_capability(ACCOUNT)
        parent = handed_down if isinstance(handed_down, Account) else None
        if parent is not None and parent.session_id == coordinator.session_id:
            raise RuntimeError(
                f"hooks-cost is in the plan of session '{coordinator.session_id}' twice, and each would count for "
                "itself; keep one of the two"
            )
        # Where a parent's guard hears this session, it counts by itself, here and on the day.
        is_heard_above = _NAME in coordinator.hooks.list_handlers(PROVIDER_REQUEST)[PROVIDER_REQUEST]
        account = Account(
            coordinator.session_id, config.max_cost_usd, config.max_tokens, parent=None if is_heard_above else parent
        )
        guard = cls(config, coordinator, account, counts_the_day=not is_heard_above)
        guard._register()

    def _register(self) -> None:
        coordinator = self._coordinator
        handlers = {
            PROVIDER_REQUEST: self.on_request,
            LLM_RESPONSE: self.on_report,
            PROVIDER_RESPONSE: self.on_response,
            PROVIDER_ERROR: self.on_error,
            EXECUTION_END: self.on_turn_end,
            SESSION_END: self.on_turn_end,
        }
        for event, handler in handlers.items():
            coordinator.hooks.register(
                event, handler, self._config.priority, _NAME, on_error="deny", timeout=_TIMEOUT_S
            )
        coordinator.register_capability(ACCOUNT, self._account)
        coordinator.register_contributor("session.handed_down", _NAME, lambda: {ACCOUNT: self._account})
        coordinator.register_contributor("observability.events", _NAME, lambda: list(OWN_EVENTS))
        coordinator.register_contributor(_CHANNEL, _NAME, self._contribution)

    async def on_request(self, event: str, data: dict[str, Any]) -> HookResult:
        """``provider:request``: sets aside what the call may cost, or refuses it."""
        call = self._call_for(data)
        if self._is_without_price(call):
            return await self._refuse(call.session_id, "on_unknown_price", wording.unknown_price(call.model))
        await self._look_at_contributions()
        try:
            standing = await self._reserve(call)
        except TROUBLES as error:
            return await self._refuse(call.session_id, "daily_max_cost_usd", wording.day_unknown(error))
        if standing is not None:
            told = wording.refusal(standing, call.estimate, call.model)
            return await self._refuse(call.session_id, standing.limit, told)
        return await self._warn()

    async def on_report(self, event: str, data: dict[str, Any]) -> HookResult:
        """``llm:response``: charges what the provider reports, also for calls that no turn makes."""
        usage = data.get("usage")
        if usage is None or not self._calls.is_first_report(data.get("request_id")):
            return HookResult()
        session_id = self._session_of(data)
        call = self._calls.find(session_id, data.get("provider"))
        if call is not None:
            call.is_paid = True
            self._account.release(call.key)
        await self._charge(session_id, call, usage, _text(data.get("model")) or (call.model if call else ""))
        return HookResult()

    async def on_response(self, event: str, data: dict[str, Any]) -> HookResult:
        """``provider:response``: ends a call, and charges it unless its provider has reported it."""
        call = self._calls.end(self._session_of(data), data.get("provider"))
        if call is None:
            return HookResult()
        self._account.release(call.key)
        if not call.is_paid:
            usage = data.get("usage")
            model = _text(getattr(data.get("response"), "model", None)) or call.model
            # Where nobody says what a call took, it took what it was reckoned at.
            await self._charge(call.session_id, call, call.estimate.usage if usage is None else usage, model)
        return await self._warn()

    async def on_error(self, event: str, data: dict[str, Any]) -> HookResult:
        """``provider:error``: gives back what was set aside for a call that came to nothing."""
        call = self._calls.end(self._session_of(data), data.get("provider"))
        if call is not None:
            await self._give_back(call)
        return HookResult()

    async def on_turn_end(self, event: str, data: dict[str, Any]) -> HookResult:
        """``execution:end`` and ``session:end``: gives back what is left, of calls that were cancelled say."""
        session_id = self._session_of(data)
        for call in self._calls.of(session_id):
            self._calls.take(call.key)
            await self._give_back(call)
        if event == SESSION_END:
            self._estimator.forget(session_id)
        return HookResult()

    def _call_for(self, data: dict[str, Any]) -> Call:
        session_id = self._session_of(data)
        key = self._calls.key(session_id)
        # An earlier attempt that came to nothing, or the same event shown once more.
        before = self._calls.take(key)
        self._account.release(key)
        provider, model = _text(data.get("provider")), _text(data.get("model"))
        model = model or provider
        estimate = self._estimator.estimate(session_id, data.get("messages"), model)
        reservation = before.reservation if before is not None else self._coordinator.new_id()
        return Call(key, session_id, provider, model, estimate, reservation)

    async def _reserve(self, call: Call) -> Standing | None:
        """Sets aside what the call is reckoned at, or says which limit forbids it."""
        wanted = Amount(call.estimate.cost or Decimal(0), call.estimate.tokens.total)
        standing = self._account.reserve(call.key, wanted)
        if standing is not None:
            return standing
        # Noted before the wait: if the task is cancelled there, the end of its turn gives everything back.
        self._calls.begin(call)
        if self._day is None:
            return None
        try:
            standing = await self._day.reserve(call.reservation, wanted.cost)
        except TROUBLES:
            self._drop(call)
            raise
        if standing is not None:
            self._drop(call)
        return standing

    def _drop(self, call: Call) -> None:
        self._calls.take(call.key)
        self._account.release(call.key)

    def _is_without_price(self, call: Call) -> bool:
        """Whether a limit on money cannot be kept: asked once, the model's provider did not say what it cost."""
        is_watched = self._config.limits_money and self._config.on_unknown_price == "deny"
        return is_watched and call.estimate.cost is None and call.model in self._unpriced

    async def _charge(self, session_id: str, call: Call | None, usage: Any, model: str) -> None:
        tokens, reported = Tokens.of(usage), reported_cost(usage)
        cost = self._prices.cost_of(usage, model)
        if call is not None:
            self._estimator.learn(session_id, (call.model, call.estimate.weight), usage, model)
        amount = Amount(cost or Decimal(0), tokens.total)
        self._account.charge(session_id, amount)
        if cost is None:
            await self._note_unknown_price(model, call)
        elif reported is None and session_id == self._session_id:
            self._priced_by_table += cost
        await self._settle_day(call, amount)

    async def _note_unknown_price(self, model: str, call: Call | None) -> None:
        names = {model, "" if call is None else call.model} - {""} - self._unpriced
        self._unpriced |= names
        for name in sorted(names):
            logger.warning("Nobody can tell what model '%s' costs; its calls count as free", name)
            provider = None if call is None else call.provider
            await self._coordinator.hooks.emit(COST_UNKNOWN_PRICE, {"model": name, "provider": provider})

    async def _give_back(self, call: Call) -> None:
        self._account.release(call.key)
        if not call.is_paid:
            await self._settle_day(call, Amount())

    async def _settle_day(self, call: Call | None, amount: Amount) -> None:
        if self._day is not None:
            await self._day.settle("" if call is None else call.reservation, amount)

    async def _look_at_contributions(self) -> None:
        """Others may know of costs that no event tells: tools that cost money, calls beside the conversation."""
        try:
            async with asyncio.timeout(_COLLECTING_S):
                contributions = await self._coordinator.collect_contributions(_CHANNEL)
        except TimeoutError:
            logger.warning("What modules contribute to '%s' takes too long to collect and is left out", _CHANNEL)
            return
        self._account.contributed = contributed_cost(contributions) or Decimal(0)

    def _contribution(self) -> dict[str, str] | None:
        """What providers do not report themselves, so that the sum of the channel is what the session cost."""
        return {"cost_usd": str(self._priced_by_table), "source": _NAME} if self._priced_by_table else None

    async def _warn(self) -> HookResult:
        near = [standing for standing in self._standings() if standing.is_beyond(self._config.warn_at)]
        untold = [standing for standing in near if standing.limit not in self._warned]
        for standing in untold:
            self._warned.add(standing.limit)
            facts = {"limit": standing.limit, "spent": str(standing.spent), "of": str(standing.of)}
            await self._coordinator.hooks.emit(COST_WARNING, facts)
        if not untold:
            return HookResult()
        told = "\n".join(map(wording.warning, untold))
        return HookResult(user_message=told, user_message_level="warning", user_message_source=_NAME)

    def _standings(self) -> list[Standing]:
        of_day = None if self._day is None else self._day.standing()
        return [*self._account.standings(), *([of_day] if of_day is not None else [])]

    async def _refuse(self, session_id: str, limit: str, reason: str) -> HookResult:
        hooks = self._coordinator.hooks
        await hooks.emit(COST_LIMIT_REACHED, {"limit": limit, "reason": reason, "session_id": session_id})
        await hooks.emit(POLICY_VIOLATION, {"policy": _NAME, "reason": reason, "session_id": session_id})
        return HookResult(action="deny", reason=reason)

    def _session_of(self, data: dict[str, Any]) -> str:
        return _text(data.get("session_id")) or self._session_id


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
