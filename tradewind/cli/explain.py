"""`tradewind explain`."""

import argparse
import importlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tradewind.cli.arguments import input_file, refuse_stdin_twice, refuse_together
from tradewind.cli.replicas import Kubectl, fetch_from_replicas
from tradewind.cli.server import DEFAULT_SERVER, NoAnswerError, fetch_explanation
from tradewind.errors import TradewindError
from tradewind.explain import report
from tradewind.explain.evaluation import evaluate
from tradewind.explain.explanation import Explanation
from tradewind.explain.new_nodes import with_pool
from tradewind.explain.origins import with_origins
from tradewind.kube.access import bearer_token, home_kubeconfig
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file


def add(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument
    argument("pod", metavar="NAMESPACE/POD", nargs="?")
    argument(
        "--binding",
        metavar="NAMESPACE/NAME",
        help="of a fleet's ResourceBinding, in place of a pod: --kubeconfig names the hub",
    )
    argument(
        "--sites", type=input_file, metavar="FILE", help="with --binding: a hub's file, as for fleet-plan"
    )
    argument(
        "--server",
        metavar="URL",
        help=f"of a running Tradewind (default: {DEFAULT_SERVER}, or else the replicas in the cluster)",
    )
    argument("--ca-file", type=Path, metavar="FILE", help="CA of that server's certificate")
    argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="ask the replicas in this cluster (default: $KUBECONFIG, else ~/.kube/config); with --server, "
        "send its token there",
    )
    argument("--token-file", type=Path, metavar="FILE", help="with --server: send this bearer token")
    argument(
        "--cluster",
        type=input_file,
        metavar="FILE",
        help="ask no server: evaluate the pod in this file, - for standard input",
    )
    argument(
        "--config",
        type=input_file,
        metavar="FILE",
        help="with --cluster or --binding: the TradewindConfiguration to use",
    )
    argument("--node", action="append", metavar="NAME", help="with --cluster: look at this node, or these")
    argument("--json", action="store_true", help="print JSON, not text")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    if options.binding:
        importlib.import_module("tradewind.cli.explain_binding").run(options)
        return
    if options.sites:
        raise TradewindError("--sites goes with --binding")
    if not options.pod:
        raise TradewindError("name a pod as NAMESPACE/POD, or a fleet's binding with --binding")
    told = _from_file(options) if options.cluster else _from_server(options)
    columns = shutil.get_terminal_size((100, 24)).columns
    print(told.model_dump_json(indent=2) if options.json else report.text(told, columns))


def _from_file(options: argparse.Namespace) -> Explanation:
    if options.server or options.ca_file or options.kubeconfig or options.token_file:
        raise TradewindError(
            "--cluster asks no server: leave --server, --ca-file, --token-file and --kubeconfig out"
        )
    refuse_stdin_twice(options.cluster, options.config)
    return explain_in_file(options.cluster, options.config, options.pod, options.node or ())


def explain_in_file(
    cluster_file: Path, config_file: Path | None, named: str, node_names: Sequence[str] = ()
) -> Explanation:
    parts = Assembly(from_file(cluster_file), config_file)
    with parts.started():
        policy_of, pools = parts.settings.policy_of, parts.pools()
        pods = {str(pod): pod for pod in parts.cache.all_pods()}
        told = evaluate(parts.cache, policy_of, named, node_names)
        if not node_names:
            told = with_pool(told, parts.cache.snapshot(), pods[named], policy_of, pools)
    told = with_origins(told, parts.market.origins)
    coverage = parts.market.price_coverage()
    if coverage.priced == coverage.nodes:
        return told
    return told.model_copy(update={"sentences": [*told.sentences, f"In all, {coverage}"]})


def _from_server(options: argparse.Namespace) -> Explanation:
    if options.config or options.node:
        raise TradewindError("--config and --node go with --cluster; a server has decided already")
    refuse_together(options, ["--token-file", "--kubeconfig"], "one token is sent")
    if not options.server and (options.token_file or options.ca_file):
        raise TradewindError("--token-file and --ca-file go with --server, which they are for")
    if options.ca_file and options.server.startswith("http://"):
        raise TradewindError(f"--ca-file is for https://, and {options.server} is not")
    namespace, _, name = options.pod.partition("/")
    if not (namespace and name) or "/" in name:
        raise TradewindError(f'"{options.pod}" is not NAMESPACE/POD')
    if options.server:
        return fetch_explanation(options.server, namespace, name, options.ca_file, _token(options))
    if not options.kubeconfig:
        try:
            return fetch_explanation(DEFAULT_SERVER, namespace, name)
        except NoAnswerError as error:
            if not (os.environ.get("KUBECONFIG") or home_kubeconfig()):
                raise TradewindError(
                    f"{error}, --kubeconfig a cluster whose replicas to ask, --cluster a file to evaluate"
                ) from error
    return fetch_from_replicas(Kubectl(options.kubeconfig, identity.namespace()), namespace, name)


def _token(options: argparse.Namespace) -> str:
    """Sent only if asked for: whoever runs the server could use it."""
    if options.kubeconfig:
        token = bearer_token(options.kubeconfig)
        if not token:
            raise TradewindError(
                f"{options.kubeconfig} has no token: 'kubectl create token' makes one for --token-file"
            )
        return token
    if not options.token_file:
        return ""
    try:
        return str(options.token_file.read_text().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise TradewindError(f"reading {options.token_file}: {error}") from error
