"""What may be fetched; that nothing is, for a folder of a stranger's: tests/attacks/test_strangers_folder.py."""

from __future__ import annotations

from plant_plugin.networks.fetching import nothing_fetched, stays_here


def test_only_inside_the_block_nothing_is_fetched() -> None:
    assert not stays_here()
    with nothing_fetched():
        assert stays_here()
        with nothing_fetched(False):  # whose place a user has named
            assert not stays_here()
        assert stays_here()
    assert not stays_here()
