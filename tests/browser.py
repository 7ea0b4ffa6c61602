"""The Chromium that the browser tests drive: the system's, else installed, else none and why.

`python -m tests.browser` finds or installs one and says which.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
"""Without the last one, Chromium itself looks for hosts of its maker at every start."""


@cache
def chromium() -> str | None:
    """The path of a browser that is there already, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def install() -> str | None:
    """Install a browser: by apt where we are root, else playwright's own."""
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        packages = ["chromium", "fonts-noto-color-emoji", "fonts-noto-core"]
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", *command], env=environment, stdout=subprocess.DEVNULL, check=False)
    if not any(map(shutil.which, NAMES)):
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    chromium.cache_clear()
    return chromium()


if __name__ == "__main__":
    found = chromium() or install()
    print(
        f"browser: {found}" if found else "browser: none could be had, so the browser tests will be skipped"
    )
