"""The wheel of the kit brings the templates along."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2] / "kit"


@pytest.mark.slow
def test_the_wheel_holds_every_template(tmp_path: Path) -> None:
    """What is in the source tree is in the wheel, so that scaffolds work where the kit is installed."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=KIT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("amplifier_kit-*-py3-none-any.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    templates = {path.relative_to(KIT / "src").as_posix() for path in (KIT / "src").rglob("*.tmpl")}
    assert templates - packed == set()
    assert len(templates) > 30
    assert {"amplifier_kit/py.typed", "amplifier_kit/scaffold/templates/common/dot_ci/run.tmpl"} <= packed
