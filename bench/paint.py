"""`python -m bench.paint`: how large each page is and when Chromium paints it, for clusters of several sizes.

Needs Debian's chromium. Savings and what-if are asked once before: measured is the page, not the plan.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import urllib3

from bench import savings_cases
from bench.goals import markdown
from e2e.processes import Workspace, free_port
from tests.page.browser import Browser, browser, found
from tradewind.runtime.source import EXAMPLES

_QUICK = ("/", "/decisions", "/pending", "/plan", "/what-if")
_PAGES = (*_QUICK, "/savings", "/what-if?scale=bench/app-001=5")
_SECONDS = 600.0
_MANY = 1_000  # nodes: savings of more are not waited for
_SCRIPT = """new Promise(told => {
  const look = () => {
    const [page] = performance.getEntriesByType('navigation');
    const [paint] = performance.getEntriesByType('paint');
    if (paint) told([page.decodedBodySize, page.encodedBodySize, page.responseStart, paint.startTime]);
    else setTimeout(look, 10);
  };
  look();
})"""


def _rows(chromium: Browser, name: str, cluster: Path, pages: Sequence[str]) -> Iterator[list[str]]:
    port, verbs = free_port(), free_port()
    url = f"http://127.0.0.1:{port}"
    flags = ["--port", str(verbs), "--explain-port", str(port), "--cluster", str(cluster)]
    with Workspace() as workspace:
        process = workspace.start("tradewind", [sys.executable, "-m", "tradewind", "serve", *flags], url)
        process.wait_healthy(f"{url}/static/page.css")
        for path in pages:
            if (
                urllib3.request("GET", url + path, timeout=_SECONDS).status != 200
            ):  # the example has no such app
                continue
            chromium.size(1440, 900)
            chromium.open(url + path)
            size, sent, answered, painted = chromium.run(_SCRIPT)
            yield [
                name,
                path.partition("?")[0] + (", asked" if "?" in path else ""),
                f"{size / 1e3:,.0f} kB",
                f"{sent / 1e3:,.1f} kB",
                f"{answered:,.0f} ms",
                f"{painted:,.0f} ms",
            ]


def main(arguments: Sequence[str]) -> int:
    if found() is None:
        print("Debian's package chromium is not installed.")
        return 1
    rows = [["cluster", "page", "HTML", "sent", "answered after", "painted after"]]
    with tempfile.TemporaryDirectory() as made, browser() as chromium:
        clusters: list[tuple[str, Path, Sequence[str]]] = [("the example", EXAMPLES / "cluster.json", _PAGES)]
        for nodes in map(int, arguments or ["500"]):
            path = savings_cases.write(savings_cases.eks(nodes), Path(made) / f"{nodes}.json")
            clusters.append((f"{nodes:,} nodes", path, _PAGES if nodes < _MANY else _QUICK))
        for name, path, pages in clusters:
            for row in _rows(chromium, name, path, pages):
                rows.append(row)
                print("  ".join(row), flush=True)
    print(markdown(rows, {0, 1}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
