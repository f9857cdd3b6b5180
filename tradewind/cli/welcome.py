"""What `serve` prints when it listens: what is served, and commands that work for just that."""

from dataclasses import dataclass
from pathlib import Path

from tradewind.cli.arguments import STANDARD_INPUT
from tradewind.cli.server import DEFAULT_SERVER
from tradewind.kube.access import home_kubeconfig
from tradewind.runtime.source import EXAMPLES, example


@dataclass(frozen=True)
class Welcome:
    cluster: str  # its name for people
    file: Path | None  # that it comes from
    certificate: Path | None = None

    def __call__(self, verbs: str, probes: str, explain: str) -> str:
        rows = [*self._choice(), *self._trial(verbs), *self._why(explain)]
        rows += [
            (
                "see",
                f"{explain} in a browser: nodes, decisions, waiting pods, savings",
            ),
            ("look", f"{probes}/docs for the endpoints, {probes}/metrics for Prometheus"),
            ("connect", f"add {verbs} as an extender to kube-scheduler: see docs/install.md"),
        ]
        return "\n".join(
            [f"Tradewind serves {self.cluster} on {verbs}", *(f"  {word:<8} {line}" for word, line in rows)]
        )

    @property
    def _is_example(self) -> bool:
        return self.cluster == example().name

    def _choice(self) -> list[tuple[str, str]]:
        if not self._is_example:
            return []
        found = home_kubeconfig()
        yours = (
            f"the cluster of {found}: --kubeconfig {found}" if found else "your cluster: --kubeconfig FILE"
        )
        return [("yours", f"to serve {yours}")]

    def _trial(self, verbs: str) -> list[tuple[str, str]]:
        """The request that comes with us is about nodes of the example."""
        if not self._is_example or self.certificate:
            return []
        return [("try", f"curl -s -d @{EXAMPLES / 'request.json'} {verbs}/prioritize")]

    def _why(self, explain: str) -> list[tuple[str, str]]:
        pod = "shop/checkout-0" if self._is_example else "NAMESPACE/POD"
        server = "" if explain == DEFAULT_SERVER else f" --server {explain}"
        rows = [("ask why", f"tradewind explain {pod}{server}")]
        if self.file and self.file != STANDARD_INPUT:
            rows.append(
                ("", f"or, of pods nobody has asked about: tradewind explain {pod} --cluster {self.file}")
            )
        return rows
