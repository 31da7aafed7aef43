"""Random clicks and texts break nothing."""

from importlib import import_module

monkey = import_module("bench.app_monkey")


def test_random_clicks_break_nothing(browser, tmp_path):
    given = monkey.make_survey(tmp_path, records=300)

    def more(steps):
        return steps < 160

    done, starts = monkey.run(browser, given, tmp_path / "cfg", 3, more, every=80)
    assert done.total() == 160
    assert starts == 2
    assert {"press", "choose", "write", "reload"} <= {*done}
