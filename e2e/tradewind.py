"""The service under test, started as its users start it: a process of its own, configured by flags."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
import yaml
from prometheus_client.parser import text_string_to_metric_families

from e2e.certs import KeyPair
from e2e.processes import Workspace, free_port

_METRIC_SECONDS = 60.0
CONFIGURATION = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}


@dataclass(frozen=True, kw_only=True)
class Tls:
    """With `client_ca`, callers of the verbs need a certificate of that authority."""

    serving: KeyPair
    client_ca: Path | None = None


class Service:
    """Serves from its creation; after `kill` or `stop`, `start` brings it back on the same ports."""

    _started = "/readyz"  # the probe that says so

    def __init__(
        self,
        workspace: Workspace,
        command: str,
        name: str,
        *,
        flags: Mapping[str, Any],
        settings: Mapping[str, Any] | None,
        environment: Mapping[str, str] | None,
        switches: Sequence[str] = (),
    ) -> None:
        self._workspace = workspace
        self._name = name
        self._environment = environment
        probe_port = free_port()
        self.probes = f"http://127.0.0.1:{probe_port}"
        self.configuration = workspace.directory / f"{name}.yaml"
        self.configure(settings or {})
        flags = {**flags, "--probe-port": probe_port, "--config": self.configuration}
        words = [str(word) for flag in flags.items() for word in flag]
        self._command = [sys.executable, "-m", "tradewind", command, *words, *switches]
        self.start()

    def start(self) -> None:
        self.process = self._workspace.start(self._name, self._command, self.probes, self._environment)
        self.process.wait_healthy(f"{self.probes}{self._started}")

    def configure(self, settings: Mapping[str, Any]) -> None:
        self.configuration.write_text(yaml.safe_dump({**CONFIGURATION, **settings}))

    def metric(self, name: str, **labels: str) -> float:
        """The value of one time series, 0 when there is none yet."""
        text = urllib3.request("GET", f"{self.probes}/metrics").data.decode()
        samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return sum(sample.value for sample in samples if sample.name == name and sample.labels == labels)

    def wait_metric(
        self, name: str, value: float, *, seconds: float = _METRIC_SECONDS, **labels: str
    ) -> None:
        """Until the time series has reached the value; there is no watch for metrics."""
        deadline = time.monotonic() + seconds
        while self.metric(name, **labels) < value:
            if time.monotonic() > deadline:
                raise AssertionError(f"{name}{labels} is {self.metric(name, **labels)}, not {value}")
            time.sleep(0.1)

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> int:
        """Gives the exit code."""
        return self.process.stop()


class Tradewind(Service):
    """What kube-scheduler calls."""

    def __init__(
        self,
        workspace: Workspace,
        kubeconfig: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        tls: Tls | None = None,
        name: str = "tradewind",
        environment: Mapping[str, str] | None = None,
        switches: Sequence[str] = (),
        explains: bool = True,
    ) -> None:
        """`explains` on a port of its own; the version before did not."""
        port, explain_port = free_port(), free_port()
        self.explain = f"http://127.0.0.1:{explain_port}"
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        super().__init__(
            workspace,
            "serve",
            name,
            flags={"--port": port, "--kubeconfig": kubeconfig}
            | ({"--explain-port": explain_port} if explains else {})
            | _tls_flags(tls),
            settings=settings,
            environment=environment,
            switches=switches,
        )


class Planner(Service):
    """What plans for the pods that wait; its Lease is short, so that no test waits long for another."""

    def __init__(
        self,
        workspace: Workspace,
        kubeconfig: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        name: str = "planner",
        lease_seconds: float = 3.0,
        environment: Mapping[str, str] | None = None,
        switches: Sequence[str] = (),
    ) -> None:
        super().__init__(
            workspace,
            "planner",
            name,
            switches=switches,
            flags={"--kubeconfig": kubeconfig, "--lease-seconds": lease_seconds},
            settings=settings,
            environment={"POD_NAME": name, **(environment or {})},
        )

    def wait_leading(self) -> None:
        self.wait_metric("tradewind_planner_leading", 1)


def _tls_flags(tls: Tls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    client_ca = {} if tls.client_ca is None else {"--client-ca-file": tls.client_ca}
    return {"--tls-cert-file": tls.serving.cert, "--tls-private-key-file": tls.serving.key, **client_ca}
