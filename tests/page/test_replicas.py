from tradewind.page.replicas import merged
from tradewind.page.stream import MOST, Stream, Told


def _told(name: str, at: float, sentence: str = "") -> Told:
    return Told(namespace="shop", name=name, at=at, sentence=sentence, marks=[])


def _stream(*told: Told, found: int | None = None) -> Stream:
    count = len(told) if found is None else found
    return Stream(told=told, found=count, kept=count, namespaces=["shop"])


def test_the_newest_first_whoever_made_it() -> None:
    both = merged([_stream(_told("a", 1), _told("b", 3)), _stream(_told("c", 2))])
    assert [each.name for each in both.told] == ["b", "c", "a"]
    assert (both.found, both.kept, both.namespaces) == (3, 3, ["shop"])


def test_of_a_pod_that_two_were_asked_about_the_newest_counts() -> None:
    both = merged([_stream(_told("a", 1, "old")), _stream(_told("a", 2, "new"))])
    assert [each.sentence for each in both.told] == ["new"]
    assert both.found == 1


def test_no_more_than_a_page_and_the_counts_of_all() -> None:
    many = [_stream(*(_told(f"{side}{n}", n) for n in range(MOST)), found=500) for side in "ab"]
    both = merged(many)
    assert (len(both.told), both.found) == (MOST, 1000)


def test_nobody_answers() -> None:
    assert merged([]) == Stream(told=[], found=0, kept=0, namespaces=[])
