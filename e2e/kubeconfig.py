"""Who calls which API server: read from a kubeconfig file, or written as one."""

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.certs import KeyPair


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """The one cluster and the one user of a kubeconfig; credentials are PEM, not paths."""

    server: str
    ca: bytes
    cert: bytes = b""
    key: bytes = b""
    token: str = ""

    @classmethod
    def of(cls, server: str, ca: Path, pair: KeyPair) -> "Kubeconfig":
        return cls(server=server, ca=ca.read_bytes(), cert=pair.cert.read_bytes(), key=pair.key.read_bytes())

    @classmethod
    def read(cls, path: Path) -> "Kubeconfig":
        """Reads the current context of a file with embedded credentials, as `kind` and `write` make them."""
        document = yaml.safe_load(path.read_text())
        context = _named(document, "contexts", "context", document["current-context"])
        cluster = _named(document, "clusters", "cluster", context["cluster"])
        user = _named(document, "users", "user", context["user"])
        return cls(
            server=cluster["server"],
            ca=_decoded(cluster, "certificate-authority-data"),
            cert=_decoded(user, "client-certificate-data"),
            key=_decoded(user, "client-key-data"),
            token=user.get("token", ""),
        )

    def write(self, path: Path) -> Path:
        user = {"token": self.token} if self.token else self._certificate()
        path.touch(mode=0o600)
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "e2e",
                    "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
                    "clusters": [{"name": "e2e", "cluster": self._cluster()}],
                    "users": [{"name": "e2e", "user": user}],
                }
            )
        )
        return path

    def _cluster(self) -> dict[str, str]:
        return {"server": self.server, "certificate-authority-data": _encoded(self.ca)}

    def _certificate(self) -> dict[str, str]:
        return {"client-certificate-data": _encoded(self.cert), "client-key-data": _encoded(self.key)}

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca.decode())
        if self.cert:
            # ssl reads a client certificate from a file only.
            with tempfile.NamedTemporaryFile(suffix=".pem") as file:
                file.write(self.cert + b"\n" + self.key)
                file.flush()
                context.load_cert_chain(file.name)
        return context


def _named(document: Mapping[str, Any], plural: str, singular: str, name: str) -> Any:
    return next(entry[singular] for entry in document[plural] if entry["name"] == name)


def _decoded(entry: Mapping[str, str], key: str) -> bytes:
    return base64.b64decode(entry.get(key, ""))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
