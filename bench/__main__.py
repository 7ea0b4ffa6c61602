"""`python -m bench NAME [--json]`: measure what is promised. NAME is a module of this folder, or "all"."""

import argparse
import importlib
import sys
from pathlib import Path

from bench.report import Report

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__init__", "__main__", "report")
)


def main() -> int:
    """Run the benches; 0 when every promise holds."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"])
    parser.add_argument("--json", action="store_true", help="the outcome as one line of JSON, at the end")
    parser.add_argument("--articles", type=Path, metavar="DIR", help="where the pages for `reading` are")
    given = parser.parse_args()
    reports: list[Report] = []
    for name in NAMES if given.name == "all" else [given.name]:
        options = {"articles": given.articles} if name == "reading" and given.articles else {}
        report: Report = importlib.import_module(f"bench.{name}").bench(**options)
        print(report.as_json() if given.json else report.as_table() + "\n", flush=True)
        reports.append(report)
    return 0 if all(report.holds for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
