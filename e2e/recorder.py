"""An extender that keeps each request's bytes, to see what kube-scheduler sends."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec

from e2e.api import Api, ApiError
from e2e.objects import Object
from e2e.outcomes import SECONDS, NotSeenError


@dataclass(frozen=True, kw_only=True)
class Recorded:
    verb: str
    body: bytes

    @cached_property
    def arguments(self) -> Object:
        decoded: Object = msgspec.json.decode(self.body)
        return decoded

    @cached_property
    def pod(self) -> str:
        bind = self.verb == "bind"
        return str(self.arguments["PodName"] if bind else self.arguments["Pod"]["metadata"]["name"])


class Recorder:
    """Listens on a free port from its creation until `close`, and agrees to everything.

    With `rejects`, filter rejects every node, so that no pod is ever bound. `api` is needed for bind only.
    """

    def __init__(self, api: Api | None = None, *, rejects: bool = False) -> None:
        self._api = api
        self._rejects = rejects
        self._changed = threading.Condition()
        self._requests: list[Recorded] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answer))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def requests(self, verb: str, pod: str) -> list[Recorded]:
        with self._changed:
            return [entry for entry in self._requests if entry.verb == verb and entry.pod == pod]

    def wait_for(self, verb: str, pod: str, seconds: float = SECONDS) -> Recorded:
        """The first request of that verb for that pod."""
        with self._changed:
            if self._changed.wait_for(lambda: self.requests(verb, pod), seconds):
                return self.requests(verb, pod)[0]
            seen = sorted({(entry.verb, entry.pod) for entry in self._requests})
        raise NotSeenError(f"no {verb} for pod {pod} within {seconds:.0f} s; seen: {seen}")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, verb: str, body: bytes) -> Any:
        recorded = Recorded(verb=verb, body=body)
        with self._changed:
            self._requests.append(recorded)
            self._changed.notify_all()
        arguments = recorded.arguments
        if verb == "filter" and self._rejects:
            return {"FailedAndUnresolvableNodes": dict.fromkeys(node_names(arguments), "only recorded")}
        return self._bind(arguments) if verb == "bind" else _ANSWERS[verb](arguments)

    def _bind(self, arguments: Object) -> Object:
        if self._api is None:
            return {"Error": "the recorder has no access to the API server"}
        namespace, pod = arguments["PodNamespace"], arguments["PodName"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace, "uid": arguments["PodUID"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": arguments["Node"]},
        }
        try:
            self._api.request("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", binding)
        except ApiError as error:
            return {"Error": str(error)}
        return {"Error": ""}


def _filter(arguments: Object) -> Object:
    return {"Nodes": arguments["Nodes"], "NodeNames": arguments["NodeNames"]}


def _prioritize(arguments: Object) -> list[Object]:
    return [{"Host": name, "Score": 0} for name in node_names(arguments)]


def _preempt(arguments: Object) -> Object:
    """Answers with the UIDs of the proposed victims, which is what both ways of asking want."""
    proposed = arguments["NodeNameToMetaVictims"] or arguments["NodeNameToVictims"] or {}
    return {"NodeNameToMetaVictims": {node: _meta(victims) for node, victims in proposed.items()}}


def _meta(victims: Object) -> Object:
    pods = [{"UID": pod.get("UID") or pod["metadata"]["uid"]} for pod in victims["Pods"] or ()]
    return {"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}


_ANSWERS: dict[str, Callable[[Object], Any]] = {
    "filter": _filter,
    "prioritize": _prioritize,
    "preempt": _preempt,
}


def node_names(arguments: Object) -> list[str]:
    if arguments["NodeNames"] is not None:
        return list(arguments["NodeNames"])
    return [node["metadata"]["name"] for node in arguments["Nodes"]["items"]]


def _handler(answer: Callable[[str, bytes], Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            data = msgspec.json.encode(answer(self.path.strip("/"), body))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
