from tests.savings.drawn import all_wrong


def test_every_figure_of_random_dumps_is_recounted() -> None:
    """Many more: python -m bench.drawn_savings 300."""
    assert dict(all_wrong(range(20))) == {}
