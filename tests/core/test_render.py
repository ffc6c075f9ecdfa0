"""The colours of a rendered picture follow from the values, for every data type."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zarrscope.errors import Unsupported
from zarrscope.view.render import (
    ChannelDisplay,
    _percentiles,
    auto_levels,
    histogram,
    label_colors,
    limit_step,
    overlay,
    pattern,
    render,
    suitable_limits,
)

RED, GREEN, GREY = (255, 0, 0), (0, 255, 0), (255, 255, 255)


def expected(plane: Any, display: Any) -> Any:
    """One channel according to the definition, in double precision."""
    level = np.clip((plane.astype(np.float64) - display.lo) / (display.hi - display.lo), 0, 1) ** display.gamma
    level = 1 - level if display.inverted else level
    return level[..., None] * np.array(display.color, float)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">u2", ">f4"])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("gamma", [1.0, 0.5, 2.2])
def test_one_channel_is_what_the_definition_says(dtype: Any, gamma: Any, inverted: Any) -> None:
    ramp = np.arange(-100 if np.dtype(dtype).kind != "u" else 0, 120).astype(dtype).reshape(-1, 10)
    display = ChannelDisplay(GREY, 10, 90, gamma, inverted=inverted)
    assert np.abs(render([ramp], [display]).astype(float) - expected(ramp, display)).max() <= 1.0


def test_channels_add_up_and_stop_at_white() -> None:
    a = np.full((4, 5), 1000, np.uint16)
    half = ChannelDisplay((200, 100, 0), 0, 2000)
    both = render([a, a, a], [half, half, ChannelDisplay((0, 0, 255), 0, 1000)])
    assert both.shape == (4, 5, 3)
    assert both[0, 0].tolist() == [200, 100, 255]
    assert render([a, a, a], [half] * 3)[0, 0].tolist() == [255, 150, 0]


def test_hidden_channels_need_no_data() -> None:
    a = np.full((2, 2), 1, np.uint8)
    shown = ChannelDisplay(RED, 0, 1)
    hidden = ChannelDisplay(GREEN, 0, 1, visible=False)
    assert render([a, None], [shown, hidden])[0, 0].tolist() == [255, 0, 0]
    assert not render([a], [hidden]).any()


def test_not_a_number_is_nothing_unless_a_colour_is_given() -> None:
    plane = np.array([[np.nan, np.inf, -np.inf, 0.5]], np.float32)
    display = ChannelDisplay(GREY, 0, 1)
    assert render([plane], [display])[0, :, 0].tolist() == [0, 255, 0, 128]
    assert render([plane], [display], nan=(1, 2, 3))[0, 0].tolist() == [1, 2, 3]
    assert render([plane.astype(np.float16)], [display], nan=(1, 2, 3))[0, 0].tolist() == [1, 2, 3]


def test_long_integers_are_told_apart_where_floats_would_merge_them() -> None:
    base = 2**62
    plane = np.array([[base, base + 1, base + 2, base - 5]], np.int64)
    picture = render([plane], [ChannelDisplay(GREY, float(base), float(base) + 1024.0)])
    assert picture[0, :, 0].tolist() == [0, 0, 0, 0]
    top = np.array([[2**64 - 1, 0]], np.uint64)
    assert render([top], [ChannelDisplay(GREY, 0, 2.0**64)])[0, :, 0].tolist() == [255, 0]
    ends = np.array([[-(2**63), 2**63 - 1]], np.int64)
    assert render([ends], [ChannelDisplay(GREY, -(2.0**63), 2.0**63)])[0, :, 0].tolist() == [0, 255]


def test_truth_complex_and_time() -> None:
    assert render([np.array([[True, False]])], [ChannelDisplay(GREY)])[0, :, 0].tolist() == [255, 0]
    assert render([np.array([[3 + 4j]])], [ChannelDisplay(GREY, 0, 10)])[0, 0, 0] == 128
    days = np.array([["2020-01-01", "NaT"]], "datetime64[D]")
    start = float(days[0, 0].astype(int))
    assert render([days], [ChannelDisplay(GREY, start - 1, start)], nan=RED)[0].tolist() == [[255] * 3, list(RED)]


def test_what_is_no_number_is_refused() -> None:
    for plane in (np.array([["a"]]), np.array([[None]], object), np.zeros((1, 1), [("a", "u1")])):
        with pytest.raises(Unsupported):
            render([plane], [ChannelDisplay()])


def test_inputs_stay_as_they_are_and_strides_do_not_matter() -> None:
    volume = np.arange(4 * 6 * 8, dtype=np.uint16).reshape(4, 6, 8)
    before = volume.copy()
    display = ChannelDisplay(GREY, 0, 200)
    assert np.array_equal(render([volume[:, 2, ::-2]], [display]), render([volume[:, 2, ::-2].copy()], [display]))
    assert np.array_equal(volume, before)


@given(
    hnp.arrays(
        st.sampled_from(["u1", "i2", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "?"]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
    ),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
)
def test_no_number_and_no_window_raises_or_warns(plane: Any, lo: Any, hi: Any) -> None:
    picture = render([plane], [ChannelDisplay(GREY, lo, hi)])
    assert picture.shape == (*plane.shape, 3)
    assert picture.dtype == np.uint8
    low, high = auto_levels(plane)
    assert low < high or not np.isfinite([low, high]).all()
    assert histogram(plane).counts.sum() <= plane.size


def test_auto_levels() -> None:
    noise = np.random.default_rng(0).normal(1000, 50, (200, 200))
    lo, hi = auto_levels(noise)
    assert 800 < lo < 900
    assert 1100 < hi < 1200
    assert auto_levels(np.zeros((4, 4), np.uint16)) == (0.0, 1.0)
    assert auto_levels(np.full((4, 4), 7, np.uint8)) == (0.0, 7.0)
    assert auto_levels(np.full((4, 4), np.nan)) == (0.0, 1.0)
    assert auto_levels(np.zeros((0, 4))) == (0.0, 1.0)
    one_spot = np.zeros((100, 100))
    one_spot[3, 3] = 9
    assert auto_levels(one_spot) == (0.0, 9.0)
    assert auto_levels(np.array([np.nan, np.inf, 1, 2]))[1] <= 2


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 500, 4096])
def test_percentiles_are_those_of_numpy(dtype: str, size: int) -> None:
    values = (np.random.default_rng(size).normal(0, 60, size)).astype(dtype)
    plain = values.view(np.uint8) if dtype == "bool" else values
    wanted = np.percentile(plain.astype(np.float64), (0, 0.5, 50, 99.8, 100))
    assert _percentiles(plain, 0, 0.5, 50, 99.8, 100) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("given", "integers", "suited", "step"),
    [
        ((47.7078, 412.3), True, (48, 412), 1),
        ((47.7078, 57.7), True, (47.7, 57.7), 0.1),
        ((47.7078, 57.7078), True, (48, 58), 1),
        ((0.25, 0.755), True, (0.25, 0.76), 0.01),
        ((-0.2, 1e18), True, (0, 1e18), 1),
        ((0.123456, 0.987654), False, (0.1235, 0.9877), 0.0001),
        ((47.70781, 57.6), False, (47.708, 57.6), 0.001),
        ((113.72, 65000.4), False, (114, 65000), 1),
        ((1e-9, 3.33333e-9), False, (1e-9, 3.333e-9), 1e-12),
        ((5, 5), True, (5, 5), 0),
        ((-1e308, 1e308), False, (-1e308, 1e308), 0),
    ],
)
def test_suitable_limits_have_no_digits_that_mean_nothing(given: Any, integers: bool, suited: Any, step: float) -> None:
    assert suitable_limits(*given, integers=integers) == pytest.approx(suited, rel=1e-15)
    assert limit_step(*given, integers=integers) == pytest.approx(step)


@pytest.mark.parametrize("dtype", ["u1", ">u2", "i4"])
def test_automatic_limits_of_integers_are_whole(dtype: str) -> None:
    ramp = np.linspace(3, 120, 45).astype(dtype).reshape(5, 9)
    assert all(limit == int(limit) for limit in auto_levels(ramp))
    assert auto_levels(ramp.astype("f4") / 7) == pytest.approx(tuple(np.percentile(ramp / 7, (0.5, 99.8))), abs=0.01)


def test_histogram_counts_every_finite_value_once() -> None:
    values = np.array([0, 1, 1, 3, 3, 3], np.uint16)
    found = histogram(values)
    assert found.counts.tolist() == [1, 2, 0, 3]
    assert found.edges.tolist() == [0, 1, 2, 3, 4]
    floats = histogram(np.array([0.0, 0.5, np.nan, np.inf]), bins=2)
    assert floats.counts.tolist() == [1, 1]
    assert floats.not_finite == 2


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8"])
def test_a_label_has_one_colour_everywhere_and_neighbours_differ(dtype: Any) -> None:
    plane = np.arange(0, 100, dtype=dtype).reshape(10, 10)
    picture = label_colors(plane)
    assert picture[0, 0].tolist() == [0, 0, 0, 0]
    assert (picture.reshape(-1, 4)[1:, 3] == 255).all()
    assert len({tuple(c) for c in picture.reshape(-1, 4).tolist()}) == 100
    steps = np.abs(np.diff(picture.reshape(-1, 4)[1:, :3].astype(int), axis=0)).max(axis=1)
    assert steps.min() > 60
    assert np.array_equal(picture, label_colors(plane.astype("u2")))


def test_stated_label_colours_win_even_for_zero_and_numbers_out_of_range_are_ignored() -> None:
    plane = np.array([[0, 1, 2]], np.uint8)
    picture = label_colors(plane, {0: (9, 9, 9, 9), 2: (1, 2, 3, 128), 70000: (5, 5, 5, 5), -1: (0, 0, 0, 0)})
    assert picture[0, 0].tolist() == [9, 9, 9, 9]
    assert picture[0, 2].tolist() == [1, 2, 3, 128]
    assert picture[0, 1].tolist() == label_colors(plane)[0, 1].tolist()


def test_outline_keeps_only_borders() -> None:
    plane = np.zeros((7, 7), np.uint16)
    plane[1:6, 1:6] = 4
    alpha = label_colors(plane, outline=True)[..., 3]
    assert alpha[3, 3] == 0
    assert alpha[1, 1:6].all()
    assert not alpha[0].any()


def test_overlay_weighs_by_opacity_and_alpha() -> None:
    picture = np.full((1, 3, 3), 100, np.uint8)
    labels = np.array([[[200, 0, 0, 255], [200, 0, 0, 0], [200, 0, 0, 128]]], np.uint8)
    assert np.array_equal(overlay(picture, labels, 0), picture)
    assert overlay(picture, labels, 1)[0].tolist()[:2] == [[200, 0, 0], [100, 100, 100]]
    assert abs(int(overlay(picture, labels, 1)[0, 2, 0]) - 150) <= 1


@pytest.mark.parametrize("state", ["fill", "failed", "undecodable"])
def test_patterns_continue_from_tile_to_tile(state: Any) -> None:
    whole = pattern(state, 40, 60)
    assert whole.any()
    assert not whole.all()
    assert np.array_equal(whole[17:30, 23:50], pattern(state, 13, 27, 17, 23))


def test_a_tile_is_rendered_faster_than_by_plain_numpy() -> None:
    import time

    def plainly() -> Any:
        mixed = np.zeros((256, 256, 3), np.float32)
        for plane, display in zip(planes, displays, strict=True):
            low, high = display.lo, display.hi
            light = np.clip((plane.astype(np.float32) - low) / (high - low), 0, 1)
            mixed += light[..., None] * np.array(display.color, np.float32)
        return np.clip(mixed, 0, 255).astype(np.uint8)

    planes = [np.random.default_rng(i).integers(0, 5000, (256, 256)).astype(np.uint16) for i in range(3)]
    displays = [ChannelDisplay(RED, 100, 4000), ChannelDisplay(GREEN, 100, 3000, 0.8), ChannelDisplay(GREY, 100, 2500)]
    render(planes, displays)
    ours, theirs = [], []
    for _ in range(20):
        start = time.perf_counter()
        render(planes, displays)
        between = time.perf_counter()
        plainly()
        ours.append(between - start)
        theirs.append(time.perf_counter() - between)
    assert min(ours) < min(theirs)
