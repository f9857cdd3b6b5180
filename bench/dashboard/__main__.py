"""`python -m bench.dashboard docs/img/dashboard.png`: three minutes of load, scraped, asked and drawn.

A real Prometheus scrapes a real Tradewind and planner on the local control plane; every panel shows what it
answers to the dashboard's own query. Needs Prometheus as the tests do, and chromium for the picture.
"""

import argparse
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench.dashboard.page import Series, Window, page, size
from e2e import fake, manifests, objects, prometheus, scheduler
from e2e.api import Api
from e2e.plane import ControlPlane
from e2e.prometheus import Prometheus
from e2e.tradewind import Planner, Tradewind

_DASHBOARD = Path(__file__).parents[2] / "manifests" / "components" / "monitoring" / "dashboard.json"
_NAMESPACE = "tradewind-system"
_RATE_INTERVAL, _STEP = "20s", 2
_TYPES = {
    "m5.large": ("2", "8Gi", 0.096),
    "m5.xlarge": ("4", "16Gi", 0.192),
    "c5.2xlarge": ("8", "16Gi", 0.34),
}
_NODES = 60
_SCALE = 0.8  # pixels of the picture for one of the page: keeps the file below 200 kB
_FOOT = (
    "Drawn from the queries of dashboard.json, not by Grafana: {seconds} s of load on a local control plane, "
    f"{_NODES} nodes, rates over {_RATE_INTERVAL}."
)


def nodes() -> Iterator[objects.Object]:
    """Half of them spot; one in ten without a price, one in ten with an annotation, the rest in the table."""
    for number, (name, (cpu, memory, price)) in zip(
        range(_NODES), itertools.cycle(_TYPES.items()), strict=False
    ):
        spot = number % 2 == 0
        labels = {
            "node.kubernetes.io/instance-type": "unlisted.large" if number % 10 == 9 else name,
            "karpenter.sh/capacity-type": "spot" if spot else "on-demand",
            "topology.kubernetes.io/zone": f"zone-{number % 3}",
        }
        said = round(price * (0.35 if spot else 1), 4) if number % 10 == 4 else None
        yield objects.node(f"node-{number}", cpu=cpu, memory=memory, price=said, labels=labels)


def table() -> str:
    rows = [
        f"{name},{terms},{price * share:.4f}"
        for name, (_, _, price) in _TYPES.items()
        for terms, share in (("spot", 0.35), ("on-demand", 1))
    ]
    return "\n".join(["instance_type,capacity_type,price", *rows]) + "\n"


@contextmanager
def scraped(plane: ControlPlane, api: Api) -> Iterator[Prometheus]:
    """A Tradewind that answers kube-scheduler, a planner that leads, and a Prometheus that knows both."""
    prices = plane.workspace.directory / "prices.csv"
    prices.write_text(table())
    settings = {"market": {"table": str(prices)}}
    fake.create_namespace(api, manifests.NAMESPACE)
    for policy in manifests.hold(plane):
        api.create(policy)
    service = Tradewind(plane.workspace, plane.kubeconfig, settings=settings)
    entry = scheduler.extender(service.url, weight=10, ignorable=True)
    plane.start_scheduler(scheduler.configuration(extenders=[entry]))
    planner = Planner(plane.workspace, plane.kubeconfig, settings=settings)
    planner.wait_leading()
    manifests.wait_holding(api)
    targets = {
        each.probes.removeprefix("http://"): {"namespace": _NAMESPACE, "pod": pod}
        for pod, each in {"tradewind-0": service, "tradewind-planner-0": planner}.items()
    }
    with Prometheus(prometheus.find(), plane.workspace, None, "prometheus", targets=targets) as server:
        yield server


def load(api: Api, seconds: float) -> None:
    """Bursts of pods of which half are held, and old ones go; some ask for what no node has."""
    held, plain = fake.add_namespace(api, held=True), fake.add_namespace(api)
    sizes, alive = itertools.cycle(("250m", "500m", "1")), []
    end, number = time.monotonic() + seconds, itertools.count()
    while time.monotonic() < end:
        for _ in range(next(number) % 4 + 2):
            count = next(number)
            namespace = held if count % 2 else plain
            odd = {"tradewind.dev/disk-type": "tape"} if count % 15 == 0 else {}
            pod = objects.pod(f"pod-{count}", namespace, cpu=next(sizes), annotations=odd)
            alive.append(api.create(pod))
        for gone in alive[:-150]:
            name, namespace = gone["metadata"]["name"], gone["metadata"]["namespace"]
            api.delete(f"/api/v1/namespaces/{namespace}/pods/{name}", gracePeriodSeconds="0")
        alive = alive[-150:]
        time.sleep(1)


def answered(server: Prometheus, panel: Mapping[str, Any], window: Window) -> list[Series]:
    found = []
    for target in panel.get("targets", ()):
        text = target["expr"].replace("$namespace", _NAMESPACE).replace("$__rate_interval", _RATE_INTERVAL)
        for each in server.query_range(text, window.start, window.end, _STEP):
            name = _named(target.get("legendFormat", ""), each["metric"])
            # A quantile of nothing is not a number.
            points = [(float(at), float(value)) for at, value in each["values"] if value != "NaN"]
            found.append(Series(name=name, points=points))
    return found


def _named(legend: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda label: labels.get(label[1], ""), legend)


def screenshot(html: str, target: Path, wide: int, high: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "dashboard.html"
        file.write_text(html)
        switches = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--force-device-scale-factor={_SCALE}",
            f"--user-data-dir={directory}/profile",
        ]
        shot = [f"--screenshot={target.absolute()}", f"--window-size={wide},{high}", file.as_uri()]
        chromium = shutil.which("chromium") or "chromium"
        subprocess.run([chromium, *switches, *shot], check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", allow_abbrev=False)
    parser.add_argument("target", type=Path, help="the PNG file to write")
    parser.add_argument("--seconds", type=float, default=180)
    options = parser.parse_args()
    dashboard = json.loads(_DASHBOARD.read_text())
    with ControlPlane() as plane, closing(Api(plane.kubeconfig)) as api:
        fake.add_nodes(api, nodes())
        with scraped(plane, api) as server:
            start = time.time()
            load(api, options.seconds)
            window = Window(start=start, end=time.time())
            found = {panel["id"]: answered(server, panel, window) for panel in dashboard["panels"]}
    foot = _FOOT.format(seconds=round(window.end - window.start))
    screenshot(page(dashboard, found, window, foot), options.target, *size(dashboard))
    print(f"{options.target}: {options.target.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
