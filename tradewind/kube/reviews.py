"""Whose a bearer token is, and what its owner may do: the API server is asked, as it asks others itself."""

from collections.abc import Mapping, Sequence

import msgspec

from tradewind.kube.client import Client
from tradewind.kube.failures import decoded

_TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path
_ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SECONDS = 5.0


class User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}


class _Authentication(msgspec.Struct):
    authenticated: bool = False
    user: User = User()


class _TokenReview(msgspec.Struct):
    status: _Authentication


class _Authorization(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _Authorization


_token_decoder = msgspec.json.Decoder(_TokenReview)
_access_decoder = msgspec.json.Decoder(_AccessReview)


class Reviews:
    """Raises ApiError where the API server does not say; blocks for some seconds at most."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def user_of(self, token: str) -> User | None:
        """None: the token is nobody's, or was issued for somebody else than the API server."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        review = decoded(_token_decoder, self._client.create(_TOKEN_REVIEWS, body, _SECONDS))
        return review.status.user if review.status.authenticated else None

    def may_get(self, user: User, path: str) -> bool:
        """Whether a role lets the user get this non-resource URL."""
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.username,
                "uid": user.uid,
                "groups": user.groups,
                "extra": user.extra,
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        }
        return decoded(_access_decoder, self._client.create(_ACCESS_REVIEWS, body, _SECONDS)).status.allowed
