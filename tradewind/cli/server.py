"""Asking a running Tradewind."""

from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import urllib3
from pydantic import BaseModel, ValidationError

from tradewind.errors import TradewindError
from tradewind.explain.explanation import Explanation

DEFAULT_PORT = 8890  # on loopback, and so of the replicas that a port is forwarded to
DEFAULT_SERVER = f"http://127.0.0.1:{DEFAULT_PORT}"
_SECONDS = 10.0


class NoAnswerError(TradewindError):
    """Nobody listens there."""


class NotAskedError(TradewindError):
    """The server has not decided about this pod."""


class _Problem(BaseModel):
    detail: str


def fetch_explanation(
    server: str, namespace: str, name: str, ca_file: Path | None = None, token: str = ""
) -> Explanation:
    if not server.startswith(("http://", "https://")):
        raise TradewindError(f'--server "{server}" is not an address that starts with http:// or https://')
    if token and not server.startswith("https://"):
        raise TradewindError(
            f"{server} would get the token unencrypted: a server that needs one has https://"
        )
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"{server.rstrip('/')}/explain/{quote(namespace, safe='')}/{quote(name, safe='')}"
    try:
        with urllib3.PoolManager(ca_certs=str(ca_file) if ca_file else None) as pool:
            answer = pool.request("GET", url, headers=headers, timeout=_SECONDS, retries=False)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise NoAnswerError(f"no answer from {server}: {_reason(error)}; --server names another") from error
    try:
        if answer.status == HTTPStatus.OK:
            return Explanation.model_validate_json(answer.data)
        problem = _Problem.model_validate_json(answer.data).detail
    except ValidationError as error:
        raise TradewindError(f"{url} answers {answer.status}, but not as this Tradewind does") from error
    if answer.status == HTTPStatus.NOT_FOUND and problem == HTTPStatus.NOT_FOUND.phrase:
        raise TradewindError(
            f"{server} explains nothing: that is on a port of its own, {DEFAULT_PORT} by default"
        )
    if answer.status == HTTPStatus.UNAUTHORIZED and not token:
        problem += f" ({server}): --kubeconfig or --token-file sends one"
    raise (NotAskedError if answer.status == HTTPStatus.NOT_FOUND else TradewindError)(problem)


def _reason(error: Exception) -> str:
    """urllib3 wraps what the system said in the names of its own classes."""
    cause = error.__cause__ or error
    return (cause.strerror if isinstance(cause, OSError) else "") or str(error)
