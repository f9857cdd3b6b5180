"""HTTP servers that share one process and its signals."""

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tradewind.errors import TradewindError

# kube-scheduler keeps idle connections for 90 s and does not repeat a POST on one that we closed.
_KEEP_ALIVE_SECONDS = 120
_SHUTDOWN_SECONDS = 5
_MAX_PORT = 65_535

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """On a socket that is open from the start, without signal handlers of its own."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        context: ssl.SSLContext | None = None,
        protocol: type[HttpToolsProtocol] = HttpToolsProtocol,
        *,
        flag: str = "--port",
    ) -> None:
        """Raise TradewindError for an address that cannot be used; `flag` chooses another port."""
        self.socket = _listen(host, port, flag)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{shown}:{self.socket.getsockname()[1]}"
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
                ssl_context_factory=(lambda _config, _default: context) if context else None,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    servers: Sequence[Server], background: Iterable[Coroutine[None, None, None]], welcome: str
) -> None:
    """Until SIGINT or SIGTERM; what is under way is answered, and then the background work ends too.

    The same where background work fails, and then its exception is raised: a process without one of its
    parts must not look alive.
    """
    failures: list[BaseException] = []

    def stop() -> None:
        for server in servers:
            server.should_exit = True

    def supervise(task: asyncio.Task[None]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            _log.critical("Stopping: %s failed", task.get_name(), exc_info=failure)
            failures.append(failure)
            stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    serving = [asyncio.create_task(server.serve(sockets=[server.socket])) for server in servers]
    tasks = [asyncio.create_task(work, name=getattr(work, "__qualname__", None)) for work in background]
    for task in tasks:
        task.add_done_callback(supervise)
    print(welcome, flush=True)
    await asyncio.gather(*serving)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if failures:
        raise failures[0]


@contextlib.contextmanager
def serving_apart(servers: Sequence[Server]) -> Iterator[None]:
    """In a thread and an event loop of their own: what people ask for keeps nobody else waiting."""

    async def run() -> None:
        await asyncio.gather(*(server.serve(sockets=[server.socket]) for server in servers))

    def until_told() -> None:
        try:
            asyncio.run(run())
        except Exception:  # noqa: BLE001  the rest of the process goes on without
            _log.exception("serving %s ended", ", ".join(server.url for server in servers))

    thread = threading.Thread(target=until_told, name="people", daemon=True)
    thread.start()
    try:
        yield
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(_SHUTDOWN_SECONDS + 1)


async def attempt(work: Callable[..., object], *arguments: object) -> None:
    """One round in a thread; an exception in it is logged and must not end all further rounds."""
    try:
        await asyncio.to_thread(work, *arguments)
    except Exception:  # noqa: BLE001  whatever it is
        _log.exception("%s failed; retrying", work.__qualname__)


def _listen(host: str, port: int, flag: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if not 0 <= port <= _MAX_PORT:  # create_server would leave its socket open
        raise TradewindError(f"port {port} is not within 0 and {_MAX_PORT}; {flag} chooses another")
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise TradewindError(f"listening on {host} port {port}: {error}; {flag} chooses another") from error
