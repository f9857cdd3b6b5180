"""The planner's batches on the page: shown, or said why not and what to do."""

from tests.page.test_app import HOSTILE, Page
from tests.planner.test_journal import batch
from tradewind.page.batches import batches_view
from tradewind.page.rendering import render
from tradewind.planner.journal import Emptying, Journal


def written(*, priced: bool = True) -> str:
    journal = Journal()
    for number in range(3):
        journal.add(batch(1_000_000.0 + 60 * number, cost=5.0 + number), priced=priced)
    journal.empty(Emptying(HOSTILE, 5, 2))
    return journal.encoded()


def shown(journal: str | None, *, guided: bool = True) -> Page:
    plain = dict.fromkeys(("cluster", "replicas", "stale", "version"), "")
    view = {"overdue": [], "on_the_way": [], "strayed": [], "held": 0, "followed": 0}
    text = render(
        "plan.html",
        **plain,
        coverage={"nodes": 0, "priced": 0},
        at="plan",
        seconds=5,
        from_file=False,
        troubles=[],
        synced=True,
        shadowing=False,
        path="/".join,
        view=view,
        batches=batches_view(journal, guided=guided),
        namespace="here",
        most=10,
    )
    page = Page(text)
    assert page.running == []
    return page


def test_batches_are_listed_the_newest_first_with_a_curve() -> None:
    view = batches_view(written(), guided=True)
    assert view.trouble == ""
    assert [each.cost for each in view.batches] == [7.0, 6.0, 5.0]
    assert view.picture.count("<polyline") == 2
    page = shown(written())
    assert f"{HOSTILE} is being emptied: 2 of 5 pods moved." in page.text
    assert "$7" in page.text


def test_without_prices_nodes_are_counted() -> None:
    text = shown(written(priced=False)).text
    assert "7 nodes" in text
    assert "$" not in text


def test_missing_says_what_to_do() -> None:
    text = shown(None, guided=False).text
    assert "No planner has published its batches." in text
    assert "kubectl -n here get lease,pods" in text


def test_corrupt_says_so() -> None:
    assert "cannot be read" in shown("{").text


def test_old_is_shown_and_called_old() -> None:
    text = shown(written(), guided=False).text
    assert "published nothing for a while" in text
    assert "$7" in text
    assert "is being emptied" not in text


def test_a_planner_without_work_says_so() -> None:
    assert "no pod has waited for it yet" in shown(Journal().encoded()).text
