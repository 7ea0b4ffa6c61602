"""What all tests share: where the cases are, and the rule that a release run skips nothing."""

import os
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("PANEL_") or name in ("OLLAMA_HOST", "OLLAMA_API_KEY", "SEARXNG_URL"):
            monkeypatch.delenv(name)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With FAIL_ON_SKIP set, a skipped test fails the run: nothing may be left untried in CI."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("FAIL_ON_SKIP") and reporter and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
