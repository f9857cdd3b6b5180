"""Asking the replicas of a Tradewind in a cluster, by `kubectl port-forward`.

By kubectl, because it is there wherever `kubectl tradewind` is, knows every way to log in, and reaches pods
that network policies close to others. Each replica knows the decisions that it has made itself, so they are
asked one after the other.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tradewind.cli.server import DEFAULT_PORT, fetch_explanation
from tradewind.errors import TradewindError
from tradewind.explain.explanation import Explanation

_SELECTOR = "app.kubernetes.io/name=tradewind,app.kubernetes.io/component=extender"
_SECONDS = 30.0
_FORWARDING = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")


class Kubectl:
    def __init__(self, kubeconfig: Path | None, namespace: str) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise TradewindError("there is no kubectl on PATH to reach the replicas with; --server names one")
        access = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
        self._command = [program, *access, "--namespace", namespace]
        self.namespace = namespace

    def ready_replicas(self) -> list[str]:
        found = self._run("get", "pods", "--selector", _SELECTOR, "--output", "json")
        return [pod["metadata"]["name"] for pod in json.loads(found)["items"] if _ready(pod)]

    @contextmanager
    def forwarded(self, replica: str) -> Iterator[str]:
        """The URL on this machine of what the replica serves on its own loopback."""
        process = subprocess.Popen(  # noqa: S603  kubectl
            [*self._command, "port-forward", f"pod/{replica}", f":{DEFAULT_PORT}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None  # noqa: S101  a pipe, see above
            said = process.stdout.readline()  # ends with the process too, and kubectl gives up by itself
            found = _FORWARDING.match(said)
            if found is None:
                process.terminate()
                raise TradewindError(
                    f"forwarding a port of {replica}: {(process.communicate()[1] or said).strip()}"
                )
            yield f"http://{found[1]}"
        finally:
            process.terminate()
            process.communicate()

    def _run(self, *arguments: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603  kubectl
                [*self._command, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise TradewindError(f"kubectl {arguments[0]} has not ended after {_SECONDS:.0f} s") from error
        if done.returncode:
            raise TradewindError(f"kubectl {' '.join(arguments[:2])}: {done.stderr.strip()}")
        return done.stdout


def fetch_from_replicas(kubectl: Kubectl, namespace: str, name: str) -> Explanation:
    """Raise TradewindError if no replica has decided about the pod."""
    replicas = kubectl.ready_replicas()
    if not replicas:
        raise TradewindError(
            f"no replica of Tradewind is ready in namespace {kubectl.namespace}; --server names another, "
            "--cluster evaluates a pod in a file"
        )
    problems: list[str] = []
    for replica in replicas:
        try:
            with kubectl.forwarded(replica) as url:
                return fetch_explanation(url, namespace, name)
        except TradewindError as error:
            problems.append(str(error))
    raise TradewindError(f"{problems[-1]} (asked {', '.join(replicas)})")


def _ready(pod: Any) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
