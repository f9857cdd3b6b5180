"""Errors that are caught at a boundary, by a command or a request, and told to a person.

TradewindError
├── UnreadableObjectError   a Kubernetes object that cannot be decoded
├── QuantityError           a resource quantity that Kubernetes would refuse
├── ClusterFileError        a cluster file that cannot be read
├── ApiError                an API server that does not answer, or not what was asked
│   ├── NotFoundError       there is no such object, or no such namespace
│   ├── ConflictError       there is one already, or it is no longer the version that was read
│   └── GoneError           it no longer knows the version to go on from
├── ConfigurationError      a configuration that is refused as a whole
├── PriceTableError         a price table, or what should become one, that is refused as a whole
├── PriceSourceError        a server of prices that does not answer, or not what was asked
├── RequestError            a scheduler request that cannot be answered
└── TooLateError            an answer that kube-scheduler would no longer wait for

Errors that only one module raises and its caller handles stand in that module. A node that does not suit a
pod is no error: filters answer with data.
"""


class TradewindError(Exception):
    """Base of all errors that are worth a sentence to a person."""


class UnreadableObjectError(TradewindError):
    """A Kubernetes object lacks what every such object has, or a field is of the wrong type."""


class QuantityError(TradewindError):
    """A resource quantity does not parse."""


class ClusterFileError(TradewindError):
    """A cluster file is missing, malformed or holds an object that cannot be read."""


class ApiError(TradewindError):
    """The API server refuses, fails, falls silent or talks nonsense."""

    def __init__(self, message: str, status: int = 0) -> None:
        """`status` is the HTTP status of a refusal; 0 where there was no answer, or none that made sense."""
        super().__init__(message)
        self.status = status


class NotFoundError(ApiError):
    """The object, or the namespace that it should be in, does not exist."""


class ConflictError(ApiError):
    """The object exists already, or has changed since it was read."""


class GoneError(ApiError):
    """The API server has forgotten the version that a list or watch wants to go on from."""


class ConfigurationError(TradewindError):
    """A configuration document is refused; the one in force stays."""


class PriceTableError(TradewindError):
    """A price table is refused; the one in force stays."""


class PriceSourceError(TradewindError):
    """A server of prices is down, slow or talks nonsense; the last known prices stay."""


class RequestError(TradewindError):
    """A request of kube-scheduler's does not decode."""


class TooLateError(TradewindError):
    """The rules have not answered a request before its deadline; it is answered without them."""
