"""A real Prometheus that scrapes a real exporter of node prices.

The program is the one on PATH, else that of Debian's package, unpacked into the cache directory without being
installed.
"""

import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import urllib3
import yaml
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from e2e.binaries import cache_directory
from e2e.certs import KeyPair
from e2e.processes import Workspace, free_port

METRIC = "node_total_hourly_cost"
_SECONDS = 60.0
_SCRAPE_INTERVAL = "250ms"


class NoPrometheusError(Exception):
    """There is none, and none can be had; the message says why."""


def find() -> Path:
    on_path = shutil.which("prometheus")
    if on_path:
        return Path(on_path)
    unpacked = cache_directory() / "prometheus-debian"
    program = unpacked / "usr" / "bin" / "prometheus"
    if not program.exists():
        _unpack(unpacked)
    return program


def _unpack(target: Path) -> None:
    """Two runs at once do the same work twice; whoever is first to rename wins."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise NoPrometheusError("prometheus is not on PATH, and this is no Debian to fetch it from")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as directory:
        _run(["apt-get", "download", "prometheus"], directory)
        (package,) = Path(directory).glob("prometheus_*.deb")
        _run(["dpkg-deb", "-x", package.name, "unpacked"], directory)
        if not target.exists():
            (Path(directory) / "unpacked").rename(target)


def _run(command: list[str], directory: str) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoPrometheusError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")


class Exporter:
    """Serves prices as a cost model does."""

    def __init__(self, prices: Mapping[str, float]) -> None:
        registry = CollectorRegistry()
        self._gauge = Gauge(METRIC, "Dollars an hour.", ["node"], registry=registry)
        self.port = free_port()
        for name, price in prices.items():
            self.set(name, price)
        self._server, self._thread = start_http_server(self.port, "127.0.0.1", registry)

    def set(self, node: str, price: float) -> None:
        self._gauge.labels(node).set(price)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass(frozen=True, kw_only=True)
class Tls:
    serving: KeyPair
    client_ca: Path
    trusted: ssl.SSLContext  # of a client with a certificate


def _web_configuration(directory: Path, tls: Tls) -> Path:
    settings = {
        "cert_file": str(tls.serving.cert),
        "key_file": str(tls.serving.key),
        "client_auth_type": "RequireAndVerifyClientCert",
        "client_ca_file": str(tls.client_ca),
    }
    path = directory / "web.yml"
    path.write_text(yaml.safe_dump({"tls_server_config": settings}))
    return path


class Prometheus:
    """Runs from its creation; `kill` ends it as a crash would. `tls` asks clients for a certificate.

    Scrapes the exporter of prices, or with `targets` those hosts with their labels; evaluates `rules`.
    """

    def __init__(
        self,
        program: Path,
        workspace: Workspace,
        exporter: Exporter | None,
        name: str,
        tls: Tls | None = None,
        *,
        targets: Mapping[str, Mapping[str, str]] | None = None,
        rules: Mapping[str, Any] | None = None,
    ) -> None:
        port = free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        directory = workspace.directory / name
        directory.mkdir()
        configuration = directory / "prometheus.yml"
        scraped = {f"127.0.0.1:{exporter.port}": {}} if exporter else dict(targets or {})
        hosts = [{"targets": [host], "labels": dict(labels)} for host, labels in scraped.items()]
        job = {"job_name": "prices", "static_configs": hosts}
        pace = {"scrape_interval": _SCRAPE_INTERVAL, "scrape_timeout": _SCRAPE_INTERVAL}
        (directory / "rules.yml").write_text(yaml.safe_dump(rules or {"groups": []}))
        document = {
            "global": {**pace, "evaluation_interval": "1s"},
            "scrape_configs": [job],
            "rule_files": ["rules.yml"],
        }
        configuration.write_text(yaml.safe_dump(document))
        command: list[str | Path] = [
            program,
            f"--config.file={configuration}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        if tls:
            command.append(f"--web.config.file={_web_configuration(directory, tls)}")
        self.process = workspace.start(name, command, self.url)
        self.process.wait_healthy(f"{self.url}/-/ready", tls.trusted if tls else None)

    def wait_price(self, node: str, price: float) -> None:
        """Until it has scraped the price; there is no watch for series."""
        deadline = time.monotonic() + _SECONDS
        while self._price(node) != price:
            if time.monotonic() > deadline:
                raise AssertionError(f"the price of {node} is {self._price(node)}, not {price}")
            time.sleep(0.05)

    def query(self, text: str) -> list[Any]:
        """What it answers now; an AssertionError says what it has against the query."""
        answer = urllib3.request("GET", f"{self.url}/api/v1/query", fields={"query": text}).json()
        assert answer["status"] == "success", f"{text}: {answer}"
        found: list[Any] = answer["data"]["result"]
        return found

    def query_range(self, text: str, start: float, end: float, step: float) -> list[Any]:
        """What it would have answered every `step` seconds."""
        fields = {"query": text, "start": f"{start}", "end": f"{end}", "step": f"{step}"}
        answer = urllib3.request("GET", f"{self.url}/api/v1/query_range", fields=fields).json()
        assert answer["status"] == "success", f"{text}: {answer}"
        found: list[Any] = answer["data"]["result"]
        return found

    def rules(self) -> list[Any]:
        groups = urllib3.request("GET", f"{self.url}/api/v1/rules").json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def _price(self, node: str) -> float | None:
        found = self.query(f'{METRIC}{{node="{node}"}}')
        return float(found[0]["value"][1]) if found else None

    def kill(self) -> None:
        self.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
