"""The local control plane itself: it schedules, it stops without trace, it says what went wrong."""

import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from e2e import binaries, objects, outcomes, scheduler
from e2e.api import Api, ApiError
from e2e.conftest import AddNodes, StartScheduler
from e2e.plane import ControlPlane
from e2e.processes import NotStartedError, Workspace


def test_default_scheduler_binds_a_deployment_on_fake_nodes(
    api: Api, namespace: str, add_nodes: AddNodes, start_scheduler: StartScheduler
) -> None:
    start_scheduler(scheduler.configuration())
    add_nodes(objects.node("a", cpu="1"), objects.node("b", cpu="1"))
    api.create(objects.deployment("web", namespace, replicas=4, cpu="400m"))
    nodes = outcomes.bound_nodes(api, namespace, 4, app="web")
    assert sorted(nodes.values()) == ["a", "a", "b", "b"]


def test_pod_that_fits_nowhere_is_told_why(
    api: Api, namespace: str, add_nodes: AddNodes, start_scheduler: StartScheduler
) -> None:
    start_scheduler(scheduler.configuration())
    add_nodes(objects.node("a", cpu="1"))
    api.create(objects.pod("big", namespace, cpu="2"))
    assert "Insufficient cpu" in outcomes.unschedulable(api, namespace, "big")
    assert "Insufficient cpu" in outcomes.event(api, namespace, "big", "FailedScheduling")
    with pytest.raises(outcomes.NotSeenError, match="last: big on no node, Unschedulable: 0/1 nodes"):
        outcomes.bound_node(api, namespace, "big", seconds=0.5)


def test_access_is_refused_to_users_without_a_role(plane: ControlPlane) -> None:
    stranger = Api(plane.user_kubeconfig("stranger"))
    with pytest.raises(ApiError, match=r"nodes is forbidden: User \"stranger\"") as refused:
        stranger.read("/api/v1/nodes")
    stranger.close()
    assert refused.value.status == 403


def test_stop_leaves_no_process_and_no_directory() -> None:
    plane = ControlPlane()
    processes = [*plane.workspace.processes, plane.start_scheduler(scheduler.configuration())]
    assert all(_exists(process.pid) for process in processes)
    plane.stop()
    assert not any(_exists(process.pid) for process in processes)
    assert not plane.workspace.directory.exists()


def test_failed_start_leaves_nothing_and_shows_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "kube-controller-manager"
    broken.write_text("#!/bin/sh\necho this is what went wrong\nexit 3\n")
    broken.chmod(0o755)
    found = dataclasses.replace(binaries.find(), kube_controller_manager=broken)
    monkeypatch.setattr(binaries, "find", lambda: found)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(
        NotStartedError,
        match=r"(?s)^kube-controller-manager ended with exit code 3.*this is what went wrong$",
    ):
        ControlPlane()
    assert list(tmp_path.iterdir()) == [broken]


_RUN = """
import signal
from e2e.processes import Workspace
workspace = Workspace()
print(workspace.directory, workspace.start("sleeper", ["sleep", "600"]).pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_run_leaves_no_process_and_no_directory(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", _RUN], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        directory, pid = run.stdout.readline().split()
        assert _exists(int(pid))
        run.send_signal(number)
        # The reaper holds the other end too: the output ends when its work is done.
        assert not run.stdout.read()
    assert not _exists(int(pid))
    assert not Path(directory).exists()


def test_unhealthy_process_is_reported_with_the_last_answer() -> None:
    with Workspace() as workspace:
        sleeper = workspace.start("sleeper", ["sleep", "600"])
        with pytest.raises(NotStartedError, match=r"sleeper was not healthy after 0 s; .* last gave: "):
            sleeper.wait_healthy("http://127.0.0.1:1/readyz", seconds=0.1)


def _exists(pid: int) -> bool:
    """False for a process that has ended but waits for its parent, too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not Path("/proc/self/stat").exists():
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended since
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
