"""Fits, beside SciPy's curve_fit."""

import pickle

import numpy as np
import pytest
from scipy import optimize, stats

import pyflockwork as fw

FORMULA = "amp*exp(-rate*x) + base"


def decay(x, amp, rate, base):
    return amp * np.exp(-rate * x) + base


def data(rows=60, seed=1):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 5, rows)
    return x, decay(x, 3.0, 0.8, 1.0) + 0.05 * rng.standard_normal(rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_and_errors_are_scipys(weighted):
    x, y = data()
    sigma = 0.02 + 0.01 * x if weighted else None
    values, covariance = optimize.curve_fit(decay, x, y, [1, 1, 1], sigma=sigma)
    r = fw.fit(x, y, FORMULA, sigma=sigma)
    assert r.names == ["amp", "rate", "base"] and r.free == r.names and r.success
    assert np.allclose(r.values, values, rtol=1e-6)
    assert np.allclose(r.covariance, covariance, rtol=1e-3)
    assert np.allclose(list(r.stderr.values()), np.sqrt(np.diag(covariance)), rtol=1e-3)
    assert np.allclose(r.predict(), decay(x, *values), atol=1e-6)
    assert np.allclose(r.residuals, y - r.predict(), atol=1e-12)
    low, high = r.interval(0.9)["rate"]
    half = stats.t.ppf(0.95, 57) * r.stderr["rate"]
    assert np.allclose([low, high], [r.params["rate"] - half, r.params["rate"] + half])
    absolute = fw.fit(x, y, FORMULA, sigma=0.05, absolute_sigma=True)
    theirs = optimize.curve_fit(decay, x, y, [1, 1, 1], sigma=np.full(60, 0.05), absolute_sigma=True)
    assert np.allclose(absolute.covariance, theirs[1], rtol=1e-3)


def test_columns_by_name_and_number():
    rng = np.random.default_rng(2)
    t, u = rng.random(50), rng.random(50)
    y = 2 * t - 3 * u + 1
    named = fw.fit({"t": t, "u": u}, y, "a*t + b*u + c")
    numbered = fw.fit(np.stack([t, u], axis=1), y, "a*x1 + b*x2 + c")
    table = np.rec.fromarrays([t, u], names="t,u")
    for r in (named, numbered, fw.fit(table, y, "a*t + b*u + c")):
        assert np.allclose(r.values, [2, -3, 1])
    assert np.allclose(named.predict({"u": [0.0], "t": [1.0]}), 3)
    assert named.bands({"t": [1.0], "u": [0.0]}).shape == (1, 6)


def test_bounds_on_one_side():
    x = np.linspace(0, 5, 30)
    y = np.stack([amp * np.exp(-0.8 * x) + 1 for amp in (2e4, 3.0, -3.0)])
    bounds = {"amp": (0, np.inf), "rate": (0.1, np.inf)}
    alone = [fw.fit(x, row, "amp*exp(-rate*x) + base", bounds=bounds) for row in y]
    many = fw.fit(x, y, "amp*exp(-rate*x) + base", bounds=bounds)
    for r, amp in zip(alone, many.params["amp"], strict=True):
        assert r.params["amp"] >= 0 and abs(r.params["amp"] - amp) < 1e-6 * max(1, amp)
    assert abs(many.params["amp"][0] / 2e4 - 1) < 1e-9 and many.params["amp"][2] == 0


def test_a_built_in_model_bounds_and_fixed_values():
    x, y = data()
    r = fw.fit(x, y, "offset_exponentials", sizes={"terms": 1})
    assert abs(r.params["rate1"] - 0.8) < 0.05
    r = fw.fit(x, y, FORMULA, fixed={"base": 1.0}, bounds={"rate": (0, 0.5)})
    assert r.params["base"] == 1 and r.stderr["base"] == 0 and r.free == ["amp", "rate"]
    assert r.params["rate"] == 0.5 and r.status["rate"] != "estimated" and not r.success


def test_a_result_is_shown_drawn_and_pickled(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    x, y = data()
    r = fw.fit(x, y, FORMULA, profile=True)
    assert "95 % interval" in repr(r) and "rate" in r._repr_html_()
    r.plot().figure.savefig(tmp_path / "fit.png")
    again = pickle.loads(pickle.dumps(r))
    assert again.params == r.params
    assert again.bands([1.0, 2.0]).tobytes() == r.bands([1.0, 2.0]).tobytes()
    low, high = r.profile["rate"]
    assert low < r.params["rate"] < high


def test_many_fits_are_the_fits_one_by_one():
    x, _ = data()
    y = np.stack([data(seed=seed)[1] for seed in range(20)])
    many = fw.fit(x, y, FORMULA)
    assert len(many) == 20 and many.success.all() and many.values.dtype == np.float64
    for nth in range(20):
        one = fw.fit(x, y[nth], FORMULA)
        assert np.allclose(many.values[nth], one.values, rtol=1e-5)
        assert np.allclose(many.stderr[nth], list(one.stderr.values()), rtol=1e-3)
        assert np.allclose(many.interval(0.9)[nth], list(one.interval(0.9).values()), rtol=1e-3)
    assert np.array_equal(many.params["rate"], many.values[:, 1])
    assert np.allclose(many.predict(x)[3], decay(x, *many.values[3]))
    assert many.message(0) == "converged" and "20 fits" in repr(many)
    assert len(pickle.loads(pickle.dumps(many)).predict([0.0, 1.0])) == 20


def test_many_fits_take_what_one_takes():
    x, _ = data()
    y = np.stack([data(seed=seed)[1] for seed in range(5)])
    same = fw.fit(x, y, FORMULA).values
    own = fw.fit(np.tile(x, (5, 1)), y, FORMULA)
    named = fw.fit({"x": x}, np.asfortranarray(y), FORMULA, device="cpu", threads=1)
    for other in (own, named, fw.fit(x, y.tolist(), FORMULA)):
        assert other.values.tobytes() == same.tobytes()
    single = fw.fit(x.astype(np.float32), y.astype(np.float32), FORMULA)
    assert fw.fit(x, y.astype(np.float32), FORMULA).values.dtype == np.float64
    assert single.values.dtype == np.float32 and np.allclose(single.values, same, rtol=1e-3)
    begun = fw.fit(x, y, FORMULA, p0=[1, 1, 1])
    assert np.allclose(begun.values, same, rtol=1e-6)
    holes = y.copy()
    holes[2, ::7] = np.nan
    holes[3] = np.nan
    missing = fw.fit(x, holes, FORMULA)
    assert missing.nobs.tolist() == [60, 60, 51, 0, 60]
    assert missing.success.tolist() == [True, True, True, False, True]
    assert "fewer rows" in missing.message(3)
    counts = np.random.default_rng(3).poisson(20, (4, 60))
    assert np.allclose(fw.fit(x, counts, "mean + 0*x", poisson=True).params["mean"], counts.mean(1))


@pytest.mark.parametrize(
    ("match", "x", "y", "model", "more"),
    [
        ("x has 3 rows", [1, 2, 3], [1, 2], "a*x", {}),
        ("y has the shape", [1, 2], 3, "a*x", {}),
        ("mistake", [1, 2], [1, 2], "a*(x", {}),
        ("no model called", [1, 2], [1, 2], "decayed", {}),
        ("no parameter", [1, 2], [1, 2], "a*x", {"bounds": {"b": (0, 1)}}),
        ("must be a pair", [1, 2], [1, 2], "a*x", {"bounds": {"a": 3}}),
        ("above 0", [1, 2], [1, 2], "a*x", {"sigma": [0, 1]}),
        ("both given", [1, 2], [1, 2], "a*x", {"sigma": [1, 1], "weights": [1, 1]}),
        ("option of many fits", [1, 2], [1, 2], "a*x", {"p0": [1]}),
        ("option of a single fit", [1, 2], [[1, 2]], "a*x", {"options": {}}),
        ("level is that of", [1, 2], [[1, 2]], "a*x", {"level": 0.9}),
        ("shared", [1, 2], [1, 2], "a*x", {"shared": "a"}),
        ("no parameter", [1, 2], [[1, 2]], "a*x", {"shared": ["b"]}),
        ("not fixed", [1, 2], [[1, 2]], "a*x", {"shared": "a", "fixed": {"a": 1}}),
        ("robust", [1, 2, 3], [[1, 2, 4]], "a*x", {"profile": True, "loss": "huber"}),
        ("'a' shared", [1, 2, 3], [[1, 2, 4]], "a*x", {"profile": True, "shared": "a"}),
        ("level is None", [1, 2, 3], [[1, 2, 4]], "a*x", {"profile": True, "level": None}),
        ("level is 'high'", [1, 2, 3], [[1, 2, 4]], "a*x", {"profile": True, "level": "high"}),
        ("iterations is 1.5", [1, 2, 3], [[1, 2, 4]], "a*x", {"iterations": 1.5}),
        ("iterations is 0", [1, 2, 3], [[1, 2, 4]], "a*x", {"iterations": 0}),
        ("tolerance is 'a'", [1, 2, 3], [[1, 2, 4]], "a*x", {"tolerance": "a"}),
        ("at least one", [1, 2, 3], np.empty((0, 3)), "a*x", {}),
        ("at least one", [], np.empty((3, 0)), "a*x", {}),
        ("finite", [1, np.nan], [1, 2], "a*x", {}),
        ("for y of", [1, 2, 3], [[1, 2]], "a*x", {}),
        ("probability", [1, 2, 3], [1, 2, 4], "a*x", {"level": 2}),
        ("loss", [1, 2, 3], [1, 2, 4], "a*x", {"loss": "cubes"}),
    ],
)
def test_mistakes_are_told(match, x, y, model, more):
    with pytest.raises(ValueError, match=match):
        fw.fit(x, y, model, **more)


def test_types_are_told():
    with pytest.raises(TypeError, match="real"):
        fw.fit([1, 2], ["a", "b"], "a*x")
    with pytest.raises(TypeError, match="the model is"):
        fw.fit([1, 2], [1, 2], lambda x, a: a * x)
    with pytest.raises(TypeError, match="mapping"):
        fw.fit([1, 2], [1, 2], "a*x", bounds=[(0, 1)])
    for shared in (None, True, b"a", [1]):
        with pytest.raises(TypeError, match="name of a parameter"):
            fw.fit([1, 2], [[1, 2]], "a*x", shared=shared)


def test_masks_and_columns_that_are_not_named():
    x, y = data()
    for given in ((x, np.ma.masked_greater(y, 3.0)), (np.ma.array(x, mask=x > 2), y)):
        with pytest.raises(ValueError, match="masked"):
            fw.fit(*given, FORMULA)
    many = np.ma.masked_greater(np.stack([y, y]), 3.0)
    assert fw.fit(x, many, FORMULA).nobs.tolist() == [(y <= 3).sum()] * 2
    with pytest.raises(ValueError, match="names none of the columns of x: x$"):
        fw.fit(x, y, "a*x1 + b")
    with pytest.raises(ValueError, match="names none of the columns of x: t, my col"):
        fw.fit({"t": x, "my col": x}, y, "a*u + b")
    told = fw.fit({"my col": x, "text": ["unused"] * 60}, y, "amp*exp(-rate*`my col`) + base")
    assert abs(told.params["rate"] - 0.8) < 0.05
    with pytest.raises(ValueError, match="no column 'my col'"):
        told.predict({"t": [1.0]})


def test_many_fits_are_looked_at_one_by_one():
    x = np.linspace(0, 5, 40)
    y = np.stack([3 * np.exp(-0.7 * x) + 1, 2 * np.exp(-0.2 * x), np.ones(40)])
    y[0, 3] = np.nan
    many = fw.fit(x, y, "amp*exp(-rate*x) + base")
    assert [one.success for one in many] == [True, True, False]
    assert many[0].params["rate"] == pytest.approx(0.7) and many[-1].message.endswith("all values are equal")
    assert many.endings() == {"converged": 2, "not fitted: all values are equal": 1}
    with pytest.raises(IndexError):
        many[3]
    residuals = many.residuals
    assert residuals.shape == (3, 40) and np.isnan(residuals[0, 3])
    assert np.nanmax(np.abs(residuals[:2])) < 1e-9
    assert np.array_equal(many.predict(), many.predict(x), equal_nan=True)
    # At each fit's own arguments.
    own = np.stack([x, x + 1, x])
    assert np.allclose(many.predict(own)[1], 2 * np.exp(-0.2 * (x + 1)))
    for wrong in ({"rng": 1}, {"options": {}}):
        with pytest.raises(ValueError, match="single fit"):
            fw.fit(x, y, "amp*exp(-rate*x) + base", **wrong)
    with pytest.raises(TypeError, match="p0 is a mapping"):
        fw.fit(x, y, "amp*exp(-rate*x) + base", p0={"amp": 1})
    with pytest.raises(ValueError, match="4 data sets; there are 3"):
        many.predict(np.zeros((4, 40, 1)))
    text, table = repr(many), many._repr_html_()
    assert "all values are equal" in text and "<table>" in table and "all values are equal" in table
    again = pickle.loads(pickle.dumps(many))
    assert np.array_equal(again.residuals, residuals, equal_nan=True)


def test_many_fits_take_arrays_however_they_lie_in_memory():
    x = np.linspace(0, 5, 40)
    y = np.stack([a * np.exp(-0.7 * x) + 1 + 0.01 * np.sin(40 * a * x) for a in (1, 2, 3)])
    wanted = fw.fit(x, y, FORMULA)
    unaligned = np.frombuffer(b"." + y.tobytes(), np.float64, offset=1).reshape(y.shape)
    assert not unaligned.flags.aligned
    frozen = y.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(y), unaligned, y.astype(">f8"), frozen, np.repeat(y, 2, axis=1)[:, ::2]):
        assert np.array_equal(fw.fit(x, same, FORMULA).values, wanted.values)
    # Nothing of the data is copied or written, and the result keeps the array.
    many = fw.fit(x, frozen, FORMULA)
    del frozen
    assert np.array_equal(many.residuals, wanted.residuals) and np.array_equal(
        many.covariance, wanted.covariance
    )


def test_many_fits_have_the_covariance_of_each():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 5, 60)
    y = np.stack([a * np.exp(-0.8 * x) + 1 + 0.01 * rng.standard_normal(60) for a in (1, 2, 3)])
    for given in ({}, {"sigma": 0.02, "absolute_sigma": True}, {"fixed": {"base": 1.0}}):
        many = fw.fit(x, y, FORMULA, **given)
        for nth, row in enumerate(y):
            alone = fw.fit(x, row, FORMULA, **given)
            assert many.free == alone.free
            assert np.allclose(many.covariance[nth], alone.covariance, rtol=1e-3, atol=0)
            assert np.allclose(many.correlation[nth], alone.correlation, atol=1e-4)
        places = [many.names.index(name) for name in many.free]
        variances = np.diagonal(many.covariance, axis1=1, axis2=2)
        assert np.allclose(variances, many.stderr[:, places] ** 2, rtol=1e-12, atol=0)
    again = pickle.loads(pickle.dumps(many))
    assert np.array_equal(again.covariance, many.covariance)
    # At a bound, and where there is no fit, nothing is known.
    bounded = fw.fit(x, np.stack([y[0], np.ones(60)]), FORMULA, bounds={"rate": (0, 0.5)}).covariance
    rate = many.names.index("rate")
    assert (
        np.isnan(bounded[0][rate]).all()
        and np.isfinite(np.delete(np.delete(bounded[0], rate, 0), rate, 1)).all()
    )
    assert np.isnan(bounded[1]).all()
    single = fw.fit(x.astype(np.float32), y.astype(np.float32), FORMULA)
    assert single.covariance.dtype == np.float32
    assert np.allclose(single.correlation, fw.fit(x, y, FORMULA).correlation, atol=1e-2)


def test_many_fits_that_share_have_the_covariance_of_one_fit_to_all():
    rng = np.random.default_rng(5)
    x = np.linspace(0, 4, 25)
    scales = np.array([1.0, 2.0, 5.0])
    y = scales[:, None] * np.exp(-0.7 * x) + 0.03 * rng.standard_normal((3, 25))

    def together(_, rate, *scales):
        return (np.array(scales)[:, None] * np.exp(-rate * x)).ravel()

    _, whole = optimize.curve_fit(together, None, y.ravel(), [1, 1, 1, 1])
    fits = fw.fit(x, y, "scale*exp(-rate*x)", shared="rate")
    rate, scale = fits.free.index("rate"), fits.free.index("scale")
    for nth in range(3):
        of = fits.covariance[nth]
        assert np.isclose(of[rate, scale], whole[0, 1 + nth], rtol=1e-3)
        assert np.isclose(of[rate, rate], whole[0, 0], rtol=1e-3)
        assert np.isclose(of[scale, scale], whole[1 + nth, 1 + nth], rtol=1e-3)


def test_many_fits_are_drawn():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    x = np.linspace(0, 5, 40)
    y = np.stack([a * np.exp(-0.7 * x) + 1 + 0.01 * np.sin(40 * a * x) for a in (1, 2, 3, 4)])
    axes = fw.fit(x, np.vstack([y, np.ones(40)]), FORMULA).plot()
    assert len(axes) == 6 and [ax.get_title()[:5] for ax in axes[3:]] == ["best:", "media", "worst"]
    assert len(axes[3].lines[0].get_ydata()) == 40
    both = np.stack([x, x**2], axis=1)
    assert len(fw.fit(both, y, "a*x1 + b*x2").plot()) == 2
    with pytest.raises(ValueError, match="axes are 1; there must be 6"):
        fw.fit(x, y, FORMULA).plot([axes[0]])
    pyplot.close("all")


def test_many_fits_of_several_columns_are_predicted_for_all_and_for_each():
    random = np.random.default_rng(1)
    x = random.standard_normal((30, 2))
    y = np.stack([2 * x[:, 0] + x[:, 1], x[:, 0] - 3 * x[:, 1]])
    many = fw.fit(x, y, "a*x1 + b*x2")
    assert np.allclose(many.predict(), y) and np.allclose(many.predict(x[:5]), y[:, :5])
    own = np.stack([x, 2 * x])
    assert np.allclose(many.predict(own)[1], 2 * y[1])
    assert np.allclose(many.predict({"x2": x[:, 1], "x1": x[:, 0], "other": x[:, 0]}), y)


def test_what_is_missing_in_y_need_not_be_known_elsewhere():
    x = np.linspace(0, 5, 60)
    y = 3 * np.exp(-0.8 * x) + 1 + 0.01 * np.sin(40 * x)
    gap = x < 1
    sigma = np.where(gap, np.nan, 0.1)
    model = "amp*exp(-rate*x) + base"
    some = fw.fit(x[~gap], y[~gap][None], model, sigma=0.1)
    shared = fw.fit(x, np.where(gap, np.nan, y)[None], model, sigma=sigma)
    own = fw.fit(np.where(gap, np.nan, x)[None], np.where(gap, np.nan, y)[None], model, sigma=sigma[None])
    masked = fw.fit(np.ma.array(x[None], mask=gap[None]), np.ma.array(y[None], mask=gap[None]), model)
    for many in (shared, own, masked):
        assert np.allclose(many.params["rate"], some.params["rate"], rtol=1e-9)
    assert np.allclose(shared.stderr, some.stderr) and np.allclose(own.stderr, some.stderr)
    with pytest.raises(ValueError, match=r"sigma\[0\] is NaN or masked, and y has a value there"):
        fw.fit(x, y[None], model, sigma=sigma)
    with pytest.raises(ValueError, match=r"sigma\[0, 59\] is 0.0; it must be above 0"):
        fw.fit(x, y[None], model, sigma=np.where(x < 5, 0.1, 0.0)[None])
    with pytest.raises(ValueError, match=r"sigma has the shape \(60, 60\)"):
        fw.fit(x, y, model, sigma=np.eye(60))


def test_mistakes_of_a_fit_are_told():
    x = np.linspace(0.0, 5.0, 20)
    y = np.exp(-x)
    with pytest.raises(ValueError, match="the formula has a mistake at column 9"):
        fw.fit(x, y, "amp*exp(")
    with pytest.raises(ValueError, match="names none of the columns of x"):
        fw.fit(x, y, "amp*z")
    with pytest.raises(ValueError, match="starts is 0"):
        fw.fit(x, y, "amp*exp(-x)", starts=0)
    with pytest.raises((TypeError, ValueError), match=r"fixed\['amp'\]"):
        fw.fit(x, y[None], "amp*exp(-rate*x)", fixed={"amp": np.ones(2)})


def test_more_mistakes_of_fits_are_told():
    x = np.linspace(0.0, 5.0, 20)
    y = np.exp(-x) + 0.01 * np.sin(30 * x)
    for match, more in (
        (r"fixed is \['base'\]; it must be a mapping", {"fixed": ["base"]}),
        ("loss is 3; it must be squares", {"loss": 3}),
        ("p0 is 'a'; it must be an array", {"p0": "a"}),
    ):
        with pytest.raises(TypeError, match=match):
            fw.fit(x, y[None], FORMULA, **more)
    for fit in (fw.fit(x, y, FORMULA), fw.fit(x, y[None], FORMULA)):
        with pytest.raises(ValueError, match="level is 'a'; it must be a finite number"):
            fit.interval("a")


def test_what_has_no_value_at_any_start_has_no_estimate():
    x = np.linspace(0.0, 5.0, 20)
    many = fw.fit(x, np.stack([np.exp(-x) * 1e160, np.exp(-x)]), FORMULA, fixed={"base": 0})
    assert many.endings() == {"converged": 1, "not a number at any starting point": 1}
    assert np.isnan(many.values[0, :2]).all() and many.params["base"].tolist() == [0, 0]
    assert np.isfinite(many.values[1]).all()


def test_what_is_missing_in_a_data_frame_is_missing():
    pandas = pytest.importorskip("pandas")
    x = np.linspace(0.0, 5.0, 30)
    y = np.stack([np.exp(-x), np.exp(-2 * x)])
    y[0, 3] = np.nan
    wanted = fw.fit(x, y, "exp(-rate*x)")
    frame = pandas.DataFrame(y).astype("Float64")
    assert np.array_equal(fw.fit(x, frame, "exp(-rate*x)").values, wanted.values)
    columns = pandas.DataFrame({"t": x, "u": 2 * x}).astype("Float64")
    assert np.array_equal(fw.fit(columns, y, "exp(-rate*t)").values, wanted.values)
    with pytest.raises((ValueError, TypeError), match="must be"):
        fw.fit(x, pandas.Series(["a"] * 30), "exp(-rate*x)")


def test_a_parameter_at_its_bound_counts_as_fixed():
    x = np.linspace(0, 5, 60)
    y = 3 * np.exp(-0.8 * x) + 1 + 0.05 * np.cos(40 * x)
    model = "amp*exp(-rate*x) + base"
    one = fw.fit(x, y, model, bounds={"rate": (0, 0.5)})
    many = fw.fit(x, y[None], model, bounds={"rate": (0, 0.5)})
    fixed = fw.fit(x, y, model, fixed={"rate": 0.5})
    assert one.degrees_of_freedom == fixed.degrees_of_freedom == 58
    for name in ("amp", "base"):
        assert np.isclose(one.stderr[name], fixed.stderr[name], rtol=1e-6)
        assert np.isclose(many.stderr[0, many.names.index(name)], fixed.stderr[name], rtol=1e-6)


def test_a_shared_parameter_is_that_of_one_fit_to_all():
    rng = np.random.default_rng(5)
    x = np.linspace(0, 4, 25)
    scales = np.array([1.0, 2.0, 5.0])
    y = scales[:, None] * np.exp(-0.7 * x) + 0.03 * rng.standard_normal((3, 25))

    def together(_, rate, *scales):
        return (np.array(scales)[:, None] * np.exp(-rate * x)).ravel()

    values, covariance = optimize.curve_fit(together, None, y.ravel(), [1, 1, 1, 1])
    fits = fw.fit(x, y, "scale*exp(-rate*x)", shared="rate")
    assert fits.success.all() and list(fits.shared) == ["rate"]
    errors = np.sqrt(np.diag(covariance))
    assert np.isclose(fits.shared["rate"], values[0], rtol=1e-6)
    assert np.isclose(fits.shared_stderr["rate"], errors[0], rtol=1e-3)
    assert np.allclose(fits.params["scale"], values[1:], rtol=1e-6)
    assert np.allclose(fits.stderr[:, fits.names.index("scale")], errors[1:], rtol=1e-3)
    low, high = fits.interval(0.9)[0, fits.names.index("rate")]
    half = stats.t.ppf(0.95, 75 - 4) * errors[0]
    assert np.allclose([low, high], [values[0] - half, values[0] + half], rtol=1e-3)
    single = fw.fit(x.astype("f4"), y.astype("f4"), "scale*exp(-rate*x)", shared=["rate"])
    assert single.values.dtype == np.float32 and np.isclose(single.shared["rate"], values[0], rtol=1e-3)
    assert pickle.loads(pickle.dumps(fits)).shared == fits.shared
    assert fw.fit(x, y, "scale*exp(-rate*x)").shared == {}


def test_many_fits_have_intervals_by_profile():
    x, y = data()
    rows = np.stack([y, 2 * y])
    fits = fw.fit(x, rows, FORMULA, profile=True, level=0.9)
    assert fits.profile.shape == (2, 3, 2)
    for nth in range(2):
        alone = fw.fit(x, rows[nth], FORMULA, profile=True, level=0.9).profile
        for place, name in enumerate(fits.names):
            width = alone[name][1] - alone[name][0]
            assert np.allclose(fits.profile[nth, place], alone[name], atol=1e-5 * width)
    assert fw.fit(x, rows, FORMULA).profile is None
    # A value at its bound has an end on the other side.
    bounds = {"rate": (1.01 * float(fits.params["rate"][0]), 10.0)}
    many = fw.fit(x, rows[:1], FORMULA, profile=True, bounds=bounds).profile[0, fits.names.index("rate")]
    alone = fw.fit(x, rows[0], FORMULA, profile=True, bounds=bounds).profile["rate"]
    assert np.isnan(many[0]) and np.isnan(alone[0])
    assert np.isclose(many[1], alone[1], rtol=1e-6)


def test_new_rows_have_the_sigma_of_the_fit() -> None:
    x = np.linspace(0, 5, 50)
    y = 3 * np.exp(-0.7 * x) + 1 + 0.05 * np.random.default_rng(5).normal(size=50)
    model = "amp*exp(-rate*x) + base"
    plain = fw.fit(x, y, model).bands()
    # A constant sigma changes nothing.
    weighted = fw.fit(x, y, model, sigma=0.05)
    np.testing.assert_allclose(weighted.bands(), plain, rtol=1e-5)
    absolute = fw.fit(x, y, model, sigma=0.05, absolute_sigma=True).bands()
    spread = np.sqrt(absolute[:, 1] ** 2 + 0.05**2)
    np.testing.assert_allclose(absolute[:, 5] - absolute[:, 0], 1.959964 * spread, rtol=1e-6)
    # Of several, which one is to be said.
    varied = fw.fit(x, y, model, sigma=np.where(x < 2, 0.05, 0.1))
    assert np.isnan(varied.bands()[:, 4:]).all() and np.isfinite(varied.bands()[:, :4]).all()
    narrow, wide = (varied.bands(sigma=sigma)[:, 5] for sigma in (0.05, np.full(50, 0.1)))
    assert (narrow < wide).all()
    with pytest.raises(ValueError, match="one number or 50"):
        varied.bands(sigma=[0.1, 0.2])


def test_columns_may_be_called_y() -> None:
    rows, columns = np.mgrid[0:9, 0:9]
    spot = 5 * np.exp(-((columns - 4.2) ** 2 + (rows - 3.7) ** 2) / (2 * 1.5**2)) + 1
    model = "a*exp(-((x-u)^2+(y-v)^2)/(2*s^2))+c"
    r = fw.fit(
        {"x": columns.ravel(), "y": rows.ravel()}, spot.ravel(), model, bounds={"u": (0, 8), "v": (0, 8)}
    )
    assert abs(r.params["u"] - 4.2) < 1e-6 and abs(r.params["v"] - 3.7) < 1e-6
    with pytest.raises(ValueError, match=r"x\['x'\] has the shape \(9, 9\).*ravel"):
        fw.fit({"x": columns, "y": rows}, spot.ravel(), model)
    with pytest.raises(ValueError, match=r"do not go together: 'x' \(81,\), 'y' \(3,\)"):
        fw.fit({"x": columns.ravel(), "y": np.arange(3)}, spot.ravel(), model)
    with pytest.raises(ValueError, match=r"pass y\[:, 0\]"):
        fw.fit(np.arange(9.0), np.arange(9.0)[:, None], "a*x + b")


def test_tables_have_the_digits_of_errors() -> None:
    x = np.linspace(0, 1, 40)
    r = fw.fit(x, 1e6 + 2 * x + 0.01 * np.sin(40 * x), "base + slope*x")
    base = next(line for line in repr(r).splitlines() if line.startswith("base  ")).split()
    assert float(base[1]) != 1e6 and abs(float(base[1]) - r.params["base"]) < 0.1 * r.stderr["base"]
