"""HTTPS whose certificates may be rotated while it serves.

A server socket keeps the context it was opened with. So that context only hands each new connection over to
the newest one, which is built anew when a file changes; connections under way are not disturbed.
"""

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

from extender.metrics import ExtenderMetrics
from tradewind.errors import ConfigurationError
from tradewind.kube.mounts import Watched

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Certificates:
    certificate: Path
    key: Path
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A resumed session would not show its certificate again, not even to a new client CA.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(path) for path in self.paths())
            raise ConfigurationError(f"reading the certificates in {files}: {error}") from error
        return context

    def paths(self) -> list[Path]:
        return [path for path in (self.certificate, self.key, self.client_ca) if path is not None]


class RotatingTls:
    def __init__(self, certificates: Certificates, metrics: ExtenderMetrics) -> None:
        self._certificates = certificates
        self._metrics = metrics
        self._watched = Watched(certificates.paths())
        self._newest = certificates.context()
        self.context = certificates.context()
        self.context.sni_callback = self._hand_over

    def refresh(self) -> None:
        """Take up changed files; while they do not fit together, as in mid-rotation, the old ones stay."""
        if not self._watched.changed():
            return
        try:
            self._newest = self._certificates.context()
        except ConfigurationError as error:
            self._metrics.certificate_reloads.labels("refused").inc()
            _log.error("%s; the previous certificates stay in force", error)
            return
        self._metrics.certificate_reloads.labels("taken").inc()
        _log.info("certificates changed; new connections use them")

    def _hand_over(self, connection: ssl.SSLObject, _name: str | None, _old: ssl.SSLContext) -> None:
        connection.context = self._newest
