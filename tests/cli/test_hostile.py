"""An hour with everything wrong: each mistake is answered with the file, the place and what was expected."""

from pathlib import Path

import pytest

from tradewind.cli.main import main

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_POOL = "{name: a, price: 1, resources: {cpu: 1}}"
_LIST = '{"kind":"List","apiVersion":"v1","items":[%s]}'
_NODE = '{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"%s}%s}'

_CONFIGURATIONS = [
    ("", "not a YAML mapping with apiVersion and kind"),
    ("[]", "not a YAML mapping with apiVersion and kind"),
    ("hello", "not a YAML mapping with apiVersion and kind"),
    ("a:\tb\n\t- c", "not YAML: while scanning for the next token"),
    ("\x00", "not YAML: unacceptable character"),
    ("apiVersion: tradewind.dev/v1alpha1", "kind: Field required"),
    (
        "apiVersion: tradewind.dev/v9\nkind: TradewindConfiguration",
        "apiVersion: Input should be 'tradewind.dev/v1alpha1' (got 'tradewind.dev/v9')",
    ),
    (_HEAD + "wieghts: {price: 1}", "wieghts: unknown key"),
    (_HEAD + "weights: {price: -1}", "weights.price: Input should be greater than or equal to 0 (got -1)"),
    (_HEAD + "weights: {price: .nan}", "weights.price: Input should be a finite number (got nan)"),
    (_HEAD + "weights: {price: .inf}", "weights.price: Input should be a finite number (got inf)"),
    (_HEAD + "weights: {price: lots}", "weights.price: Input should be a valid number"),
    (_HEAD + "weights: {price: null}", "weights.price: Input should be a valid number (got null)"),
    (_HEAD + "weights: {price: 1, delta: 2}", '"delta" gives the weight of "price" a second time'),
    (_HEAD + "weights: {prices: 1}", 'unknown key "prices"; known: resource_fit'),
    (_HEAD + "weights: {price: 1}\nweights: {price: 2}", 'the key "weights" was given already, in line 3'),
    (_HEAD + "weights: [1]", "weights: Input should be a valid dictionary"),
    (_HEAD + "weights: !!python/object:os.system {}", "could not determine a constructor"),
    (_HEAD + "weights: " + "[" * 3000 + "]" * 3000, "not YAML: maximum recursion depth exceeded"),
    (
        _HEAD + "weights: {alpha: 0, beta: 0, gamma: 0, delta: 0, epsilon: 0, zeta: 0, eta: 0}",
        'weights: all are 0 in class "default"; one must be above 0',
    ),
    (_HEAD + "preset: cheapest", "preset: Input should be 'cost', 'balanced' or 'availability'"),
    (_HEAD + "rules: {durable_flor: {min: 1}}", 'unknown key "durable_flor"; known: resources'),
    (_HEAD + "rules: {durable_floor: {mni: 1}}", 'unknown key "mni" of durable_floor; known: min'),
    (_HEAD + "rules: {durable_floor: {min: -1}}", "durable_floor.min: -1 is negative"),
    (_HEAD + "rules: {durable_floor: {share: 2}}", "durable_floor.share: 2.0 is not within 0 and 1"),
    (_HEAD + "rules: {limits: {enabled: yess}}", "limits.enabled: neither true nor false"),
    (_HEAD + "classes: [{name: a, match: {}}]", "classes.0.match: give namespaces, labels"),
    (_HEAD + "classes: [{match: {namespaces: [x]}}]", "classes.0.name: Field required"),
    (
        _HEAD + "classes: [{name: a, match: {labels: 'a in (b'}}]",
        'classes.0.match.labels: "a in (b" is not a label requirement',
    ),
    (
        _HEAD + "classes: [{name: a, match: {minPriority: 5, maxPriority: 1}}]",
        "classes.0.match: minPriority 5 is above maxPriority 1",
    ),
    (
        _HEAD + "classes: [{name: a, match: {namespaces: [x]}}, {name: a, match: {namespaces: [y]}}]",
        'classes: "a" is the name of another class already',
    ),
    (_HEAD + "market: {table: /no/such.csv}", "/no/such.csv: [Errno 2] No such file"),
    (_HEAD + "market: {prometheus: {}}", "market.prometheus.url: Field required"),
    (_HEAD + "market: {prometheus: {url: 'ftp://x'}}", "market.prometheus.url: not an address that starts"),
    (_HEAD + "market: {learned: {halfLifeHours: 0}}", "market.learned.halfLifeHours: Input should be"),
    (_HEAD + "market: {plausibleFactor: 0.5}", "market.plausibleFactor: Input should be greater than 1"),
    (_HEAD + "planner: {batch: {pods: 0}}", "planner.batch.pods: Input should be greater than"),
    (_HEAD + "planner: {batch: {events: 3, pods: 4}}", '"events" is the old name of "pods"'),
    (_HEAD + "planner: {holdSeconds: .inf}", "planner.holdSeconds: Input should be a finite number"),
    (_HEAD + "planner: {rent: -1}", "planner.rent: Input should be greater than or equal to 0"),
    (_HEAD + f"planner: {{pools: [{_POOL}, {_POOL}]}}", '"a" is the name of another pool already'),
    (
        _HEAD + f"planner: {{pools: [{_POOL.replace('cpu: 1', 'cpu: 4Gb')}]}}",
        "planner.pools.0.resources: cpu: not a quantity such as 500m, 2 or 4Gi",
    ),
    (_HEAD + "staleSeconds: 0", "staleSeconds: Input should be greater than or equal to"),
]
_CLUSTERS = [
    ("", "holds no node, pod or namespace"),
    ("{", "as JSON: Input data was truncated"),
    ("[]", ", document 1: Expected `object`, got `array`"),
    ('{"kind":"Deployment","apiVersion":"apps/v1"}', "holds no node, pod or namespace"),
    ('{"kind":"List","apiVersion":"v1"}', "holds no node, pod or namespace"),
    (_LIST % "null", ", item 0: Expected `object`, got `null`"),
    (_LIST % '{"kind":"Node","metadata":{}}', ", item 0: a node without metadata.name"),
    (_LIST % _NODE % (',"labels":{"a":7}', ""), "Expected `str`, got `int`"),
    (
        _LIST % _NODE % ("", ',"status":{"allocatable":{"cpu":"4Gb"}}'),
        'item 0: reading quantity "4Gb" (cpu) of the allocatable resources in node n',
    ),
    ('{"items":' + "[" * 5000, "maximum recursion depth exceeded"),
]
_PRICES = [
    ("", "line 1: no header"),
    ("instance_type,price\nm5.large", "line 2: 1 cells under 2 columns"),
    ("instance_type\nm5.large", "line 1: no column of types and prices among instance_type; expected"),
    ("foo,bar\n1,2", "line 1: no column of types and prices among foo, bar; expected"),
    ("instance_type,price\nm5.large,cheap", 'line 2, column price: "cheap" is not a number from 0 to'),
    ("instance_type,price\nm5.large,-1", 'line 2, column price: "-1" is not a number from 0 to'),
    ("instance_type,price\nm5.large,1e12", 'line 2, column price: "1e12" is not a number from 0 to'),
    ("instance_type,price\nm5.large,1\nm5.large,2", "line 3: m5.large has a price already"),
    (
        "instance_type,on_demand,spot_savings_pct\nm5.large,1,120",
        'line 2, column spot_savings_pct: "120" is not a number from 0 to 100',
    ),
    ("{}", "JSON with nothing at the top; expected one of"),
    ("[1]", "Expected `object`, got `int`"),
]
_ARGUMENTS = [
    ([], "required: COMMAND"),
    (["fly"], "invalid choice: 'fly'"),
    (["serve", "--prot"], "unrecognized arguments: --prot"),
    (["serve", "--port", "x"], "--port: invalid int value: 'x'"),
    (["serve", "--port", "70000"], "port 70000 is not within 0 and 65535"),
    (["serve", "--tls-cert-file", "/x"], "--tls-cert-file and --tls-private-key-file go together"),
    (["plan", "--cluster", "x", "--seconds", "-1"], '"-1" is not a number of seconds above 0'),
    (["plan", "--cluster", "/no/such"], "reading /no/such: [Errno 2] No such file"),
    (["plan", "--cluster", "/"], "reading /: [Errno 21] Is a directory"),
    (["explain", "web"], '"web" is not NAMESPACE/POD'),
    (["explain", "--server", "nonsense", "a/b"], '--server "nonsense" is not an address that starts with'),
    (["explain", "--cluster", "x", "--server", "y", "a/b"], "--cluster asks no server"),
    (["release", "--if-stale", "soon"], '"soon" is not a duration like 90s'),
]


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said on the way out; a traceback would not be a SystemExit."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    return said.err


def written(directory: Path, text: str) -> Path:
    file = directory / "mistaken"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(("text", "message"), _CONFIGURATIONS)
def test_a_configuration(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, text)
    said = complaint(["check-config", str(file)], capsys)
    assert message in said
    assert str(file) in said or message.startswith("/no/such")


@pytest.mark.parametrize("command", ["plan", "explain"])
@pytest.mark.parametrize(("text", "message"), _CLUSTERS)
def test_a_cluster(
    text: str, message: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, text)
    pod = ["a/b"] if command == "explain" else []
    said = complaint([command, "--cluster", str(file), *pod], capsys)
    assert message in said
    assert said.count(str(file)) == 1


@pytest.mark.parametrize(("text", "message"), _PRICES)
def test_a_price_list(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, text)
    said = complaint(["prices", "import", str(file)], capsys)
    assert message in said
    assert str(file) in said


@pytest.mark.parametrize(("arguments", "message"), _ARGUMENTS)
def test_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in complaint(arguments, capsys)
