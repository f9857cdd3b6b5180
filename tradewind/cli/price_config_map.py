"""A price table in a ConfigMap, where the pods of Tradewind have it mounted."""

from pathlib import Path

from tradewind.errors import NotFoundError, PriceTableError, TradewindError
from tradewind.kube.access import connect
from tradewind.kube.client import Client

KEY = "prices.csv"
# A ConfigMap may hold a mebibyte in all, and etcd's default request limit is not much above that.
_MAX_BYTES = 1000 * 1024


def publish(text: str, name: str, namespace: str, kubeconfig: Path | None) -> None:
    """Raise ApiError where the API server refuses; the ConfigMap then stays as it was."""
    size = len(text.encode())
    if size > _MAX_BYTES:
        raise PriceTableError(
            f"{size // 1024} KiB are too much for a ConfigMap; --region takes one region only"
        )
    connected = connect(kubeconfig)
    if connected is None:
        raise TradewindError("no cluster: --kubeconfig or KUBECONFIG names one; there is no ~/.kube/config")
    client = Client(connected[1])
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    body = {"metadata": {"name": name}, "data": {KEY: text}}
    try:
        client.patch(f"{path}/{name}", body)
    except NotFoundError:
        client.create(path, body)
    finally:
        client.close()
