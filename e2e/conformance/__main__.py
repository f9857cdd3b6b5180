"""`make conformance`: Kubernetes' own scheduling specs on the local control plane, several times.

Pods become Running by kwok. The specs' verdict is printed for each of them; the exit code is 1 if one failed.
"""

import argparse
import contextlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from e2e import fake, manifests, objects, scheduler, toolchain
from e2e.api import Api
from e2e.conformance import programs
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind

_PREEMPTION = "validates basic preemption works|validates lower priority pod preemption by critical pod"
_STAGES = Path(__file__).with_name("stages.yaml")
_NODES = 3
_SPEC = "It"  # the rest are preparations


class _Report(msgspec.Struct, rename="pascal"):
    leaf_node_type: str
    leaf_node_text: str
    state: str


class _Suite(msgspec.Struct, rename="pascal"):
    spec_reports: tuple[_Report, ...]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.conformance", description=__doc__)
    parser.add_argument(
        "--focus", default=_PREEMPTION, help="regular expression of specs (default: %(default)s)"
    )
    parser.add_argument("--runs", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--weight", type=int, default=10, help="of Tradewind's scores (default: %(default)s)")
    parser.add_argument("--plain", action="store_true", help="without Tradewind, to compare")
    options = parser.parse_args()
    try:
        found = _run(options.focus, options.runs, 0 if options.plain else options.weight)
    except toolchain.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    for (spec, state), count in sorted(found.items()):
        print(f"{state:8} {count} of {options.runs}  {spec}")
    return 0 if found and all(state == "passed" for _, state in found) else 1


def _run(focus: str, runs: int, weight: int) -> Counter[tuple[str, str]]:
    specs, kwok = programs.specs(), programs.kwok()
    found = Counter[tuple[str, str]]()
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api, _nodes(api):
        flags = [f"--kubeconfig={plane.kubeconfig}", "--manage-all-nodes", f"--config={_STAGES}"]
        plane.workspace.start("kwok", [kwok, *flags])
        _start_scheduler(plane, api, weight)
        for number in range(1, runs + 1):
            print(f"Run {number} of {runs}", flush=True)
            found += _verdicts(specs, plane, focus, number)
    return found


@contextlib.contextmanager
def _nodes(api: Api) -> Iterator[None]:
    names = fake.add_nodes(api, [objects.node(f"node-{number}") for number in range(_NODES)])
    yield
    fake.remove_nodes(api, names)


def _start_scheduler(plane: ControlPlane, api: Api, weight: int) -> None:
    entries = []
    if weight:
        for obj in manifests.roles(plane):
            api.create(obj)
        token = fake.service_account_token(api, manifests.NAMESPACE, manifests.SERVICE_ACCOUNT)
        service = Tradewind(plane.workspace, plane.token_kubeconfig(manifests.SERVICE_ACCOUNT, token))
        entries = [scheduler.extender(service.url, preempt_verb="preempt", weight=weight, ignorable=True)]
    plane.start_scheduler(scheduler.configuration(extenders=entries))


def _verdicts(specs: Path, plane: ControlPlane, focus: str, number: int) -> Counter[tuple[str, str]]:
    report = plane.workspace.directory / f"report-{number}.json"
    log = plane.workspace.directory / f"specs-{number}.log"
    flags = [f"--kubeconfig={plane.kubeconfig}", "--provider=skeleton", "--disable-log-dump"]
    with log.open("w") as output:
        subprocess.run(
            [specs, *flags, f"-ginkgo.focus={focus}", f"-ginkgo.json-report={report}", "-ginkgo.no-color"],
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not report.exists():
        raise toolchain.BuildError(f"the specs did not run:\n{log.read_text()[-4000:]}")
    ran = [
        spec
        for suite in msgspec.json.decode(report.read_bytes(), type=tuple[_Suite, ...])
        for spec in suite.spec_reports
        if spec.state != "skipped"
    ]
    if any(spec.state != "passed" for spec in ran):
        print(log.read_text()[-6000:])
    return Counter((spec.leaf_node_text, spec.state) for spec in ran if spec.leaf_node_type == _SPEC)


if __name__ == "__main__":
    sys.exit(main())
