"""One Lease of coordination.k8s.io, as it is kept in the API server."""

import msgspec

from tradewind.errors import ConflictError, NotFoundError
from tradewind.kube.client import Client
from tradewind.kube.clock import ServerClock
from tradewind.kube.failures import decoded
from tradewind.kube.official import ApiClient

# A silent API server leaves time for a second try before the deadline of the leader's defaults.
REQUEST_SECONDS = 5.0


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class Lease(msgspec.Struct):
    metadata: _Metadata
    spec: LeaseSpec = LeaseSpec()


_decoder = msgspec.json.Decoder(Lease)


class LeaseStore:
    """One Lease in the API server; raises ApiError for everything that goes wrong."""

    def __init__(self, api: ApiClient, namespace: str, name: str) -> None:
        self._client = Client(ApiClient(api.configuration))  # its own connections, so that `close` ends them
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._name = name

    def __str__(self) -> str:
        return f"Lease {self._namespace}/{self._name}"

    def read(self, seconds: float = REQUEST_SECONDS) -> Lease | None:
        """None where there is none."""
        try:
            return decoded(_decoder, self._client.get(f"{self._leases}/{self._name}", seconds))
        except NotFoundError:
            return None

    def create(self, spec: LeaseSpec, seconds: float) -> Lease | None:
        """None where another was faster."""
        body = {"metadata": {"name": self._name}, "spec": spec}
        try:
            return decoded(_decoder, self._client.create(self._leases, body, seconds))
        except ConflictError:
            return None
        except NotFoundError as error:
            raise NotFoundError(
                f"namespace {self._namespace} does not exist: create it with "
                f'"kubectl create namespace {self._namespace}", or choose another with --namespace',
                error.status,
            ) from error

    def replace(self, lease: Lease, spec: LeaseSpec, seconds: float) -> Lease | None:
        """None where the lease is no longer what was read."""
        metadata = {"resourceVersion": lease.metadata.resource_version}
        body = {"metadata": metadata, "spec": spec}
        try:
            return decoded(_decoder, self._client.patch(f"{self._leases}/{self._name}", body, seconds))
        except (NotFoundError, ConflictError):
            return None

    @property
    def clock(self) -> ServerClock:
        return self._client.clock

    def close(self) -> None:
        self._client.close()
