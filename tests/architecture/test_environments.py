"""The environments that make builds: who gets which, and what is said where one cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("core", "modules", "app", "kit")


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool of the repository."""
    return subprocess.run(
        command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What make looks at when it is asked to run."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for folder in ("requirements", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for folder in DISTRIBUTIONS:
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / "pyproject.toml", tmp_path / folder)
    return tmp_path


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_who_only_runs_gets_a_light_environment(clone: Path) -> None:
    """Nothing that only developers need is installed for a first answer; a developer's environment is used as it is."""
    first = run("make", "-n", "run", cwd=clone).stdout
    assert "tools/make-venv .venv-run" in first
    assert "requirements/runtime.txt requirements/build.txt" in first
    assert "requirements/dev.txt" not in first
    assert first.splitlines()[-1].startswith(".venv-run/bin/amplifier run ")
    (clone / ".venv").mkdir()
    shutil.copy(clone / "requirements/dev.txt", clone / ".venv/lock.txt")
    assert run("make", "-n", "run", cwd=clone).stdout.splitlines()[-1].startswith(".venv/bin/amplifier run ")


def test_without_a_python_it_is_said_how_to_name_one() -> None:
    """What was tried, and what to do."""
    done = run(ROOT / "tools/find-python", PYTHON="no-such-python")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "No Python 3.11 or newer was found (tried: no-such-python).\n"
        "Install one, or name it: make PYTHON=/path/to/python3.12 …\n"
    )


@pytest.mark.slow
def test_without_ensurepip_it_is_said_what_to_install(tmp_path: Path) -> None:
    """Some systems bring Python in parts; the half-made environment is gone."""
    (tmp_path / "ensurepip.py").write_text("raise ImportError('not here')", encoding="utf-8")
    lock = ROOT / "requirements/kernel-test.txt"
    done = run(ROOT / "tools/make-venv", tmp_path / "made", sys.executable, lock, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{sys.executable} cannot make a virtual environment; on Debian and Ubuntu, install the package python3-venv.\n"
    )
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_where_packages_cannot_be_had_it_is_said_what_to_look_at(tmp_path: Path) -> None:
    """The mirror that was set for pip is the one that is asked; the half-made environment is gone."""
    lock = tmp_path / "lock.txt"
    lock.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    (tmp_path / "mirror").mkdir()
    tool, mirror = ROOT / "tools/make-venv", (tmp_path / "mirror").as_uri()
    done = run(tool, tmp_path / "made", sys.executable, lock, PIP_INDEX_URL=mirror, PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    assert done.stdout.startswith(f"making {tmp_path}/made with {sys.executable} from {lock}")
    assert "no-such-package" in done.stderr
    assert done.stderr.endswith(
        f"{tmp_path}/made could not be made; the reason is above. Packages are fetched this once: is there a network?\n"
        "A mirror or a proxy is set as for pip: by PIP_INDEX_URL and HTTPS_PROXY, or by 'pip config'.\n"
    )
    assert not (tmp_path / "made").exists()
