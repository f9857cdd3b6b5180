"""`tradewind serve`."""

import argparse
from pathlib import Path

from extender.service import Options, Service
from extender.tls import Certificates
from tradewind.cli import exposure
from tradewind.cli.arguments import (
    add_logs,
    add_namespace,
    followed_file,
    input_file,
    positive,
    refuse_together,
)
from tradewind.cli.welcome import Welcome
from tradewind.errors import TradewindError
from tradewind.runtime import identity, logs
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.identity import switched_on
from tradewind.runtime.source import choose

_DEFAULT_PROBE_PORT = 8889
_MEBIBYTE = 2**20


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument("--host", help="address to listen on (default: 127.0.0.1, with TLS 0.0.0.0)")
    argument("--port", type=int, default=8888, help="port of the verbs (default: %(default)s)")
    argument("--probe-host", help="address of that port (default: the verbs' address)")
    argument(
        "--probe-port",
        type=int,
        help="own port of probes and metrics (default: the verbs' port, "
        f"with --client-ca-file {_DEFAULT_PROBE_PORT})",
    )
    exposure.add(command)
    argument(
        "--config",
        type=followed_file,
        metavar="FILE",
        help="TradewindConfiguration, followed while it changes",
    )
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        help="serve the output of 'kubectl get nodes,pods,namespaces,pv,pvc,pdb -A -o json', - for stdin",
    )
    argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="serve this cluster (default: $KUBECONFIG, else the cluster it runs in, else an example)",
    )
    add_namespace(command, "of the Leases and the ConfigMaps of --learn and --shadow", identity.namespace())
    argument("--tls-cert-file", type=Path, metavar="FILE", help="serve HTTPS with this certificate chain")
    argument("--tls-private-key-file", type=Path, metavar="FILE", help="key of that certificate")
    argument("--client-ca-file", type=Path, metavar="FILE", help="only clients with a certificate of this CA")
    argument(
        "--max-body-bytes",
        type=positive(int),
        default=64 * _MEBIBYTE,
        metavar="N",
        help="larger requests get 413 (default: %(default)s)",
    )
    argument(
        "--bind",
        action="store_true",
        default=switched_on("TRADEWIND_BIND"),
        help="serve the bind verb: check once more, then bind (one replica only); or TRADEWIND_BIND=true",
    )
    argument(
        "--learn",
        action="store_true",
        default=switched_on("TRADEWIND_LEARN"),
        help="learn how often nodes of a pool are taken away, and keep it in a ConfigMap",
    )
    argument(
        "--shadow",
        action="store_true",
        default=switched_on("TRADEWIND_SHADOW"),
        help="advise nobody and record what would have been done, as does 'shadow: true' in the "
        "configuration; or TRADEWIND_SHADOW=true",
    )
    argument(
        "--decisions",
        type=positive(int),
        default=5000,
        metavar="N",
        help="how many are kept for explain (default: %(default)s)",
    )
    argument(
        "--decision-age",
        type=positive(float),
        default=3600,
        metavar="SECONDS",
        help="after which a decision is forgotten (default: %(default)s)",
    )
    add_logs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    logs.configure(options.log_format, options.log_level)
    _refuse_conflicts(options)
    certificates = _certificates(options)
    source = choose(options.cluster, options.kubeconfig)
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
            explain_port=options.explain_port,
            exposure=exposure.exposure(options),
            certificates=certificates,
            max_body_bytes=options.max_body_bytes,
            decisions=options.decisions,
            decision_age_seconds=options.decision_age,
            bind=options.bind,
            learn=options.learn,
            shadow=options.shadow,
            welcome=Welcome(source.name, options.cluster, options.tls_cert_file),
        ),
        Assembly(source, options.config, options.namespace),
    )
    service.run()


def _refuse_conflicts(options: argparse.Namespace) -> None:
    refuse_together(options, ["--cluster", "--kubeconfig"], "a cluster from a file, or a live one")
    for flag in ("bind", "learn"):
        if options.cluster and getattr(options, flag):
            raise TradewindError(f"--{flag} needs a live cluster: leave --cluster out")
    if options.probe_host and options.probe_port is None and not options.client_ca_file:
        raise TradewindError("--probe-host needs --probe-port: probes and verbs share a port without it")


def _certificates(options: argparse.Namespace) -> Certificates | None:
    if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
        raise TradewindError("--tls-cert-file and --tls-private-key-file go together")
    if options.client_ca_file and not options.tls_cert_file:
        raise TradewindError("--client-ca-file needs --tls-cert-file and --tls-private-key-file")
    if not options.tls_cert_file:
        return None
    return Certificates(options.tls_cert_file, options.tls_private_key_file, options.client_ca_file)
