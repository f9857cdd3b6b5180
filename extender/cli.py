"""The command line: `tradewind serve`, `tradewind explain`, `tradewind check-config`."""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from cluster.errors import TradewindError
from extender import config, logs, report, source
from extender.app import VERSION
from extender.client import fetch_explanation
from extender.offline import explain_in_file
from extender.serve import Options, Service
from extender.tls import Certificates
from scoring.rules import Filter

_DEFAULT_PROBE_PORT = 8889
_MEBIBYTE = 2**20
_SERVER = "http://127.0.0.1:8888"

Number = TypeVar("Number", int, float)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except TradewindError as error:
        print(f"tradewind: {error}", file=sys.stderr)
        sys.exit(2)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tradewind", description="Price- and risk-aware placement for Kubernetes."
    )
    top.add_argument("--version", action="version", version=VERSION)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="answer kube-scheduler's extender requests"))
    _add_check_config(
        commands.add_parser("check-config", help="say what a configuration means, or what is wrong")
    )
    _add_explain(commands.add_parser("explain", help="say why a pod is where it is, or why it is nowhere"))
    return top


def _add_serve(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--host", help="address to listen on (default: 127.0.0.1, with TLS 0.0.0.0)")
    add("--port", type=int, default=8888, help="port of the verbs (default: %(default)s)")
    add("--probe-host", help="address of that port (default: the verbs' address)")
    add(
        "--probe-port",
        type=int,
        help="own port of probes, metrics and docs (default: the verbs' port, "
        f"with --client-ca-file {_DEFAULT_PROBE_PORT})",
    )
    add("--config", type=Path, metavar="FILE", help="TradewindConfiguration, followed while it changes")
    add(
        "--cluster", type=Path, metavar="FILE", help="serve the output of 'kubectl get nodes,pods -A -o json'"
    )
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="serve this cluster (default: $KUBECONFIG, else the cluster it runs in, else an example)",
    )
    add("--tls-cert-file", type=Path, metavar="FILE", help="serve HTTPS with this certificate chain")
    add("--tls-private-key-file", type=Path, metavar="FILE", help="key of that certificate")
    add("--client-ca-file", type=Path, metavar="FILE", help="only clients with a certificate of this CA")
    add(
        "--max-body-bytes",
        type=int,
        default=64 * _MEBIBYTE,
        metavar="N",
        help="larger requests get 413 (default: %(default)s)",
    )
    add(
        "--bind",
        action="store_true",
        help="serve the bind verb: check once more, then bind (one replica only)",
    )
    add(
        "--protect-floor",
        action="store_true",
        help="annotate replicas that a durable floor needs, so that scaling down spares them",
    )
    add(
        "--decisions",
        type=_positive(int),
        default=5000,
        metavar="N",
        help="how many are kept for explain (default: %(default)s)",
    )
    add(
        "--decision-age",
        type=_positive(float),
        default=3600,
        metavar="SECONDS",
        help="after which a decision is forgotten (default: %(default)s)",
    )
    add("--log-format", choices=["auto", "json", "text"], default="auto")
    add("--log-level", choices=["debug", "info", "warning", "error"], default="info")
    command.set_defaults(run=_serve)


def _positive(number: type[Number]) -> Callable[[str], Number]:
    def positive(text: str) -> Number:
        value = number(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    return positive


def _serve(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    certificates = _certificates(options)
    probe_port = options.probe_port
    if probe_port is None and options.client_ca_file:
        probe_port = _DEFAULT_PROBE_PORT
    host = options.host or ("0.0.0.0" if certificates else "127.0.0.1")  # noqa: S104  guarded by TLS
    service = Service(
        Options(
            host=host,
            port=options.port,
            probe_host=options.probe_host or host,
            probe_port=probe_port,
            config=options.config,
            certificates=certificates,
            max_body_bytes=options.max_body_bytes,
            decisions=options.decisions,
            decision_age_seconds=options.decision_age,
            bind=options.bind,
            protect_floor=options.protect_floor,
        ),
        source.choose(options.cluster, options.kubeconfig),
    )
    service.run()


def _certificates(options: argparse.Namespace) -> Certificates | None:
    if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
        raise TradewindError("--tls-cert-file and --tls-private-key-file go together")
    if options.client_ca_file and not options.tls_cert_file:
        raise TradewindError("--client-ca-file needs --tls-cert-file and --tls-private-key-file")
    if not options.tls_cert_file:
        return None
    return Certificates(options.tls_cert_file, options.tls_private_key_file, options.client_ca_file)


def _add_explain(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("pod", metavar="NAMESPACE/POD")
    add("--server", metavar="URL", help=f"of a running Tradewind (default: {_SERVER})")
    add("--ca-file", type=Path, metavar="FILE", help="CA of that server's certificate")
    add("--cluster", type=Path, metavar="FILE", help="ask no server: evaluate the pod in this cluster file")
    add("--config", type=Path, metavar="FILE", help="with --cluster: the TradewindConfiguration to use")
    add("--node", action="append", metavar="NAME", help="with --cluster: look at this node only, or these")
    add("--json", action="store_true", help="print JSON, not text")
    command.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> None:
    namespace, slash, name = options.pod.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise TradewindError(f'"{options.pod}" is not NAMESPACE/POD')
    if options.cluster:
        if options.server or options.ca_file:
            raise TradewindError("--cluster asks no server: leave --server and --ca-file out")
        told = explain_in_file(options.cluster, options.config, f"{namespace}/{name}", options.node or ())
    elif options.config or options.node:
        raise TradewindError("--config and --node go with --cluster; a server has decided already")
    else:
        told = fetch_explanation(options.server or _SERVER, namespace, name, options.ca_file)
    columns = shutil.get_terminal_size((100, 24)).columns
    print(told.model_dump_json(indent=2) if options.json else report.text(told, columns))


def _add_check_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="FILE")
    command.set_defaults(run=_check_config)


def _check_config(options: argparse.Namespace) -> None:
    policies = config.read(options.file).policies()
    print(f"{options.file} is valid. Workload classes, in the order in which they are tried:")
    for policy in (*policies.all()[1:], policies.default):
        print(f"\n{policy.workload_class}")
        print("  weights  " + ", ".join(f"{rule.name} {weight:g}" for rule, weight in policy.scorers))
        for rule in policy.filters:
            print(f"  filter   {rule.name}{_parameters(rule)}")


def _parameters(rule: Filter) -> str:
    shown = [f"{field.name}={getattr(rule, field.name)!r}" for field in fields(rule)]  # type: ignore[arg-type]
    return f" ({', '.join(shown)})" if shown else ""
