"""Local times, days that have 23 or 25 hours, and times that the clock shows never or twice."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.clock import days_after, days_late, here, moment, shown, zone
from grader.errors import GraderError

BERLIN, NEW_YORK, KATHMANDU = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")


@pytest.mark.parametrize(
    ("told", "local", "utc"),
    [
        ("2026-10-05 23:59", BERLIN, "2026-10-05 21:59:00"),
        ("2026-10-05T23:59", NEW_YORK, "2026-10-06 03:59:00"),
        ("2026-10-05T23:59:30", KATHMANDU, "2026-10-05 18:14:30"),
        ("2026-10-25 23:59", BERLIN, "2026-10-25 22:59:00"),  # the day the clock goes back: winter time by then
        ("2026-10-25 00:30", BERLIN, "2026-10-24 22:30:00"),  # and before it does
        ("2026-03-29 23:59", BERLIN, "2026-03-29 21:59:00"),  # the day it goes forward
        ("2026-03-08 01:59", NEW_YORK, "2026-03-08 06:59:00"),
        ("2026-10-05", BERLIN, "2026-10-05 21:59:59"),  # the end of that day
        (date(2026, 10, 5), BERLIN, "2026-10-05 21:59:59"),
        (datetime(2026, 10, 5, 23, 59), BERLIN, "2026-10-05 21:59:00"),
        ("2026-10-05 23:59+00:00", BERLIN, "2026-10-05 23:59:00"),
        ("2026-10-05 23:59Z", NEW_YORK, "2026-10-05 23:59:00"),
        ("2026-10-25 02:30+01:00", BERLIN, "2026-10-25 01:30:00"),  # of two, the later
    ],
)
def test_what_is_written_as_utc(told: object, local: ZoneInfo, utc: str) -> None:
    assert str(moment(told, local)) == utc


@pytest.mark.parametrize("told", ["tomorrow", "", "05.10.2026", "2026-13-01", "23:59", 3, None, True])
def test_no_time_is_said(told: object) -> None:
    with pytest.raises(GraderError, match=r"is no time\. Times are like 2026-10-05 23:59"):
        moment(told, BERLIN)


def test_a_time_that_never_comes_and_one_that_comes_twice() -> None:
    with pytest.raises(GraderError, match=r"does not exist in Europe/Berlin.*for instance 2026-03-29 03:30"):
        moment("2026-03-29 02:30", BERLIN)
    with pytest.raises(GraderError, match="comes twice") as told:
        moment("2026-10-25 02:30", BERLIN)
    offered = str(told.value).partition("Write which: ")[2].split(" or ")
    assert [str(moment(each, BERLIN)) for each in offered] == ["2026-10-25 00:30:00", "2026-10-25 01:30:00"]


def test_an_unknown_zone() -> None:
    for name in ("Mars/Base", "", "../etc/passwd", "CEST "):
        with pytest.raises(GraderError, match="no time zone"):
            zone(name)
    assert zone(here())


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_day_later_is_the_same_time_on_the_clock() -> None:
    due = moment("2026-10-24 23:59", BERLIN)
    assert days_after(due, 1, BERLIN) - due == timedelta(hours=25)
    assert days_late(due, due, BERLIN) == 0
    assert days_late(due, due + timedelta(seconds=1), BERLIN) == 1
    assert days_late(due, due + timedelta(hours=25), BERLIN) == 1, "the same minute of the next day"
    assert days_late(due, due + timedelta(hours=25, seconds=1), BERLIN) == 2
    spring = moment("2026-03-28 23:59", BERLIN)
    assert days_late(spring, spring + timedelta(hours=23), BERLIN) == 1
    assert days_late(spring, spring + timedelta(hours=23, seconds=1), BERLIN) == 2
    gap = moment("2026-03-28 02:30", BERLIN)  # a day later this time does not come: an hour is given
    assert shown(days_after(gap, 1, BERLIN), BERLIN) == "2026-03-29 03:30 CEST"
    twice = moment("2026-10-24 02:30", BERLIN)  # it comes twice: the later one
    assert shown(days_after(twice, 1, BERLIN), BERLIN) == "2026-10-25 02:30 CET"


moments = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1))


@given(moments, st.timedeltas(timedelta(seconds=1), timedelta(days=40)), st.sampled_from([BERLIN, NEW_YORK, KATHMANDU]))
def test_days_late_by_another_library(due: datetime, by: timedelta, local: ZoneInfo) -> None:
    """dateutil's zones: the clock on the wall, as far as that is clear."""
    clock, arrived = tz.gettz(local.key), due + by
    walls = [each.replace(tzinfo=UTC).astimezone(clock) for each in (due, arrived)]
    began, ended = (wall.replace(tzinfo=None) for wall in walls)
    days = max(1, -((began - ended) // timedelta(days=1)))
    edge = (began + timedelta(days=days)).replace(tzinfo=clock)
    if tz.datetime_exists(edge) and not any(tz.datetime_ambiguous(wall) for wall in [*walls, edge]):
        assert days_late(due, arrived, local) == days


@given(moments, st.integers(0, 400), st.sampled_from([BERLIN, NEW_YORK, KATHMANDU]))
def test_a_day_after_is_so_many_days_late(due: datetime, days: int, local: ZoneInfo) -> None:
    ends = days_after(due, days, local)
    assert days_late(due, ends, local) <= days
    assert days_late(due, ends + timedelta(seconds=1), local) >= days
