"""Accounts, estimates and the file of the day: what is spent and set aside never passes a limit that estimates keep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_core.message_models import Message
from amplifier_core.testing import FakeClock
from amplifier_modkit import file_lock
from amplifier_modkit.pricing import Price, PriceList, Tokens
from amplifier_module_hooks_cost.accounts import Account, Amount, Standing
from amplifier_module_hooks_cost.calls import Calls
from amplifier_module_hooks_cost.config import CostConfig
from amplifier_module_hooks_cost.day_file import DayFile, DayFileError, DayTotal
from amplifier_module_hooks_cost.estimates import Estimator

PRICES = PriceList({"m": Price.of("1", "10")})


def amount(cost: str, tokens: int = 0) -> Amount:
    """An amount, in short."""
    return Amount(Decimal(cost), tokens)


def test_what_is_reserved_leaves_less_for_others() -> None:
    """Money that is set aside cannot be taken twice; given back or spent it counts once."""
    account = Account("s", Decimal("1"))
    assert account.reserve("a", amount("0.6")) is None
    refused = account.reserve("b", amount("0.5"))
    assert refused == Standing("max_cost_usd", Decimal(1), Decimal(0), Decimal("0.6"), Decimal("0.5"), "s")
    account.release("a")
    account.charge("s", amount("0.5", 100))
    assert account.reserve("b", amount("0.5")) is None
    assert account.report() == {
        "cost_usd": "0.5",
        "tokens": 100,
        "sessions": {"s": {"cost_usd": "0.5", "tokens": 100}},
        "reserved": {"cost_usd": "0.5", "tokens": 0},
        "limits": {"max_cost_usd": "1"},
        "day_cost_usd": None,
    }


def test_reserving_again_replaces_what_was_reserved() -> None:
    """A call that is asked about twice is set aside once, also where there is no room for both."""
    account = Account("s", max_tokens=100)
    for tokens in (60, 90, 100):
        assert account.reserve("a", amount("0", tokens)) is None
    assert account.reserved.tokens == 100


def test_a_child_draws_on_its_parent() -> None:
    """What a child reserves and spends is missing above it, and any limit on the line refuses."""
    parent = Account("parent", Decimal("1"))
    child = Account("child", Decimal("0.5"), parent=parent)
    grandchild = Account("grandchild", parent=child)
    assert grandchild.reserve("a", amount("0.4")) is None
    assert (parent.reserved.cost, child.reserved.cost) == (Decimal("0.4"), Decimal("0.4"))
    refused = grandchild.reserve("b", amount("0.2"))
    assert refused is not None
    assert refused.owner == "child"
    grandchild.release("a")
    grandchild.charge("grandchild", amount("0.4"))
    assert parent.spent_by("grandchild") == child.spent == amount("0.4")
    refused = parent.reserve("c", amount("0.7"))
    assert refused is not None
    assert refused.owner == "parent"


@pytest.mark.parametrize(
    ("limit", "spent", "wanted", "is_passed"),
    [
        ("1", "0.5", "0.5", False),
        ("1", "0.5", "0.51", True),
        ("1", "1", "0", True),
        ("0", "0", "0", False),
        ("0", "0", "0.01", True),
    ],
)
def test_a_limit_may_be_used_up_and_not_passed(limit: str, spent: str, wanted: str, is_passed: bool) -> None:
    """Exactly the limit may be spent; then even a call that is free is one too many. A limit of 0 lets free ones be."""
    standing = Standing("max_cost_usd", Decimal(limit), Decimal(spent), wanted=Decimal(wanted))
    assert standing.is_passed is is_passed


def test_what_others_know_counts_where_it_is_more() -> None:
    """Costs that modules contribute are not added to what is known, since they are mostly the same."""
    account = Account("s", Decimal("1"))
    account.charge("s", amount("0.3", 5))
    account.contributed = Decimal("0.9")
    assert account.spent == amount("0.9", 5)
    account.contributed = Decimal("0.1")
    assert account.spent == amount("0.3", 5)


@pytest.mark.slow
@given(
    limit=st.integers(1, 1_000),
    calls=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200), st.floats(0, 1), st.booleans()), max_size=60),
)
def test_calls_that_keep_their_estimates_never_pass_a_limit(
    limit: int, calls: list[tuple[int, int, float, bool]]
) -> None:
    """However calls of a tree of sessions overlap: as long as none costs more than reckoned, the limit holds."""
    root = Account("0", Decimal(limit))
    accounts = [root, Account("1", parent=root), Account("2", parent=root)]
    accounts.append(Account("3", parent=accounts[1]))
    under_way: list[tuple[Account, int, Decimal]] = []
    for number, (who, estimate, share, is_finished) in enumerate(calls):
        if accounts[who].reserve(number, Amount(Decimal(estimate))) is None:
            under_way.append((accounts[who], number, Decimal(int(estimate * share))))
        if is_finished and under_way:
            account, key, cost = under_way.pop(0)
            account.release(key)
            account.charge(account.session_id, Amount(cost))
        assert root.spent.cost + root.reserved.cost <= limit
    for account, key, cost in under_way:
        account.release(key)
        account.charge(account.session_id, Amount(cost))
    assert root.spent.cost <= limit


def messages(count: int, chars: int = 400) -> list[dict[str, Any]]:
    """So many messages of that length."""
    return [{"role": "user", "content": "x" * chars} for _ in range(count)]


def test_a_call_is_reckoned_by_its_messages_and_a_full_answer() -> None:
    """Before anything is known, characters count; the answer is taken at its full length."""
    estimate = Estimator(PRICES, 1_000).estimate("s", messages(10), "m")
    assert 1_000 <= estimate.tokens.input <= 1_100
    assert estimate.tokens.output == 1_000
    assert estimate.cost == Price.of("1", "10").cost(estimate.tokens)


def test_the_next_call_is_reckoned_by_what_the_last_one_had() -> None:
    """What a request has beside its messages, and how its texts become tokens, is learnt from the report."""
    estimator = Estimator(PRICES, 0)
    said = messages(10)
    first = estimator.estimate("s", said, "m")
    estimator.learn("s", ("m", first.weight), {"input_tokens": 5_000, "output_tokens": 1}, "m")
    assert estimator.estimate("s", said, "m").tokens.input == 5_000
    assert 5_000 < estimator.estimate("s", [*said, *messages(1)], "m").tokens.input < 5_300
    assert estimator.estimate("other", said, "m").tokens.input < 2_000
    estimator.forget("s")
    assert estimator.estimate("s", said, "m").tokens.input < 2_000
    estimator.learn("gone", ("m", 1.0), {"input_tokens": 1}, "m")


def test_a_model_without_a_price_is_reckoned_by_what_it_cost_before() -> None:
    """The last reported cost counts, and more of it for a longer request; without any report nobody can tell."""
    estimator = Estimator(PriceList(), 0)
    said = messages(10)
    first = estimator.estimate("s", said, "odd")
    assert first.cost is None
    usage = {"input_tokens": 1_000, "output_tokens": 1, "cost_usd": "0.5"}
    estimator.learn("s", ("odd", first.weight), usage, "odd")
    assert estimator.estimate("s", said, "odd").cost == Decimal("0.5")
    longer = estimator.estimate("s", messages(20), "odd").cost
    assert longer is not None
    assert longer > Decimal("0.9")


def test_the_model_that_a_provider_chooses_is_learnt_from_its_answer() -> None:
    """A request may name no model; the price is known once one has answered."""
    estimator = Estimator(PRICES, 0)
    first = estimator.estimate("s", messages(1), "my-provider")
    assert first.cost is None
    estimator.learn("s", ("my-provider", first.weight), {"input_tokens": 100}, "m")
    assert estimator.estimate("s", messages(1), "my-provider").cost == Decimal("0.0001")


def test_messages_of_any_form_have_a_weight() -> None:
    """Models, odd objects and things that are no messages are weighed by their text; what is no list has none."""

    class Broken:
        def model_dump(self) -> Any:
            raise RuntimeError

        def __repr__(self) -> str:
            return "x" * 400

    estimator = Estimator(PRICES, 0)
    odd = [Message(role="user", content="x" * 400), Broken(), "x" * 400, {1: "x", "content": "x" * 400}]
    tokens = [estimator.estimate("s", [each], "m").tokens.input for each in odd]
    assert all(90 <= count <= 130 for count in tokens), tokens
    assert estimator.estimate("s", "none", "m").tokens == Tokens(0, 0)


def test_only_the_first_report_of_a_request_counts() -> None:
    """Ids are remembered for a while; reports without one are all believed."""
    calls = Calls()
    assert [calls.is_first_report(each) for each in ("a", "a", None, None)] == [True, False, True, True]
    for number in range(1_000):
        calls.is_first_report(str(number))
    assert calls.is_first_report("a") is True


def test_a_price_in_another_currency_is_refused() -> None:
    """Euros and dollars cannot be added up."""
    pricing = {"input_per_million": 1.1, "output_per_million": 2, "currency": "EUR"}
    with pytest.raises(ValueError, match="the price of 'm' is in EUR; only USD can be added up"):
        CostConfig.read({"prices": {"m": pricing}})


def test_prices_of_a_config_are_exact() -> None:
    """A number means the digits one reads."""
    full = {"input_per_million": 1.1, "output_per_million": 2, "cache_read_per_million": 0.1}
    prices = CostConfig.read({"prices": {"m": {**full, "cache_write_per_million": 1.3}, "n": full}}).price_list()
    assert prices.price_of("m") == Price.of("1.1", "2.0", "0.1", "1.3")
    assert prices.price_of("n") == Price.of("1.1", "2.0", "0.1")


def spend(total: DayTotal, now: float) -> Decimal:
    """A change that spends a dollar."""
    total.settle("", Decimal(1), 10)
    return total.cost


def test_the_day_is_kept_in_a_file_and_begins_anew(tmp_path: Path) -> None:
    """Every change is on the disk at once; on another day the total is 0 again."""
    clock = FakeClock(datetime(2026, 1, 1, 12, tzinfo=UTC))
    file = DayFile(tmp_path / "spending", clock)
    assert [file.change(spend), DayFile(tmp_path / "spending", clock).change(spend)] == [1, 2]
    assert json.loads(file.path.read_text()) == {
        "version": 1,
        "date": clock().astimezone().date().isoformat(),
        "cost_usd": "2",
        "tokens": 20,
        "reserved": {},
    }
    assert (file.path.stat().st_mode & 0o777, file.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    clock.advance(24 * 3600)
    assert file.change(spend) == 1


def test_what_is_reserved_on_a_day_lapses(tmp_path: Path) -> None:
    """A process that is killed during a call does not hold on to the money for ever."""
    clock = FakeClock(datetime(2026, 1, 1, 3, tzinfo=UTC))
    file = DayFile(tmp_path, clock)
    file.change(lambda total, now: total.reserve("a", Decimal(5), now))
    assert file.change(lambda total, now: total.reserved_by_others("b")) == 5
    assert file.change(lambda total, now: total.reserved_by_others("a")) == 0
    clock.advance(3_601)
    assert file.change(lambda total, now: total.reserved_by_others("b")) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "date": "2026-01-01", "cost_usd": "1", "tokens": 1, "reserved": {}}',
        '{"version": 1, "date": "2026-01-01", "cost_usd": "-1", "tokens": 1, "reserved": {}}',
        '{"version": 1, "date": "today", "cost_usd": "1", "tokens": 1, "reserved": {}}',
        '{"version": 1, "date": "2026-01-01", "cost_usd": "1", "tokens": 1, "reserved": {"a": 1}}',
    ],
)
def test_a_file_that_makes_no_sense_is_never_taken_for_nothing(tmp_path: Path, text: str) -> None:
    """Whoever spoils the file does not get a fresh budget; the error says what to do."""
    file = DayFile(tmp_path, FakeClock())
    file.path.write_text(text)
    with pytest.raises(DayFileError) as told:
        file.change(spend)
    assert str(told.value).startswith(f"{file.path} does not tell what was spent today (")
    assert str(told.value).endswith(". Correct it, or remove it to begin the day at 0.")
    assert file.path.read_text() == text


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    """The file is replaced as a whole, or not at all, and the lock is free again."""
    file = DayFile(tmp_path, FakeClock())
    file.change(spend)

    def fail(total: DayTotal, now: float) -> None:
        total.cost = Decimal(100)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        file.change(fail)
    assert file.change(spend) == 2


def test_a_lock_that_somebody_holds_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever for a process that was stopped."""
    monkeypatch.setattr("amplifier_module_hooks_cost.day_file._LOCK_TIMEOUT_S", 0.01)
    file = DayFile(tmp_path, FakeClock())
    descriptor = os.open(tmp_path / "today.lock", os.O_RDWR | os.O_CREAT)
    try:
        with file_lock.held(descriptor, 1), pytest.raises(TimeoutError):
            file.change(spend)
    finally:
        os.close(descriptor)


@pytest.mark.slow
def test_processes_count_together(tmp_path: Path) -> None:
    """Of many changes by several processes none is lost."""
    script = """
        import sys
        from datetime import UTC, datetime
        from decimal import Decimal
        from pathlib import Path
        from amplifier_module_hooks_cost.day_file import DayFile

        file = DayFile(Path(sys.argv[1]), lambda: datetime(2026, 1, 1, tzinfo=UTC))
        for _ in range(25):
            file.change(lambda total, now: total.settle("", Decimal("0.1"), 1))
        """
    processes = [subprocess.Popen([sys.executable, "-c", dedent(script), str(tmp_path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert json.loads((tmp_path / "today.json").read_text())["cost_usd"] == "10.0"
