"""Processor times: whose they are, and that they are really counted."""

import math
import os
import subprocess
import sys
import time

import pytest

from bench import machine
from bench.machine import ProcessorTime

BEFORE = ProcessorTime(busy=100.0, processes={1: 10.0, 2: 20.0})
AFTER = ProcessorTime(busy=110.0, processes={1: 13.0, 2: 20.5, 3: 1.5})


def test_a_process_is_charged_for_what_it_took_meanwhile() -> None:
    assert AFTER.of(1, BEFORE) == 3.0
    assert AFTER.of(3, BEFORE) == 1.5  # started meanwhile


def test_the_rest_of_the_machines_time_went_to_others() -> None:
    # 10 s were busy; our own took 3 + 0.5 + 1.5.
    assert AFTER.own(BEFORE) == 5.0
    assert AFTER.of_others(BEFORE) == 5.0


def test_times_that_do_not_add_up_are_no_noise() -> None:
    assert ProcessorTime(busy=101.0, processes=AFTER.processes).of_others(BEFORE) == 0.0


def test_the_work_of_this_process_is_its_own() -> None:
    before = ProcessorTime.now()
    worked_until = time.process_time() + 0.2
    while time.process_time() < worked_until:
        pass
    after = ProcessorTime.now()
    # Ticks are hundredths of a second.
    assert after.of(os.getpid(), before) > 0.15
    assert after.busy - before.busy > 0.15


def test_only_a_calm_that_was_asked_for_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    machine.wait_for_calm(math.inf, 60.0)
    assert not waits
    # No machine takes this many cores in an instant; so it is calm after the first look.
    machine.wait_for_calm(1e9, 60.0)
    assert len(waits) == 1


def test_what_a_child_starts_counts_as_its_own() -> None:
    command = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", command, busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        assert ProcessorTime.now().processes[child.pid] > 0.25
        child.communicate(b"\n")
