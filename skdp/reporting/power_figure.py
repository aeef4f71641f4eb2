"""The trade-off between false alarms and what an attack finds, as an inline SVG."""

from skdp.privacy.meaning import FALSE_POSITIVE_RATES
from skdp.privacy.trade_off import PrivacyCurve, attack_power

__all__ = ["power_figure"]

_SIZE, _LEFT, _TOP = 300.0, 52.0, 12.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Steepest at 0, and with a kink anywhere for a pure release: a chord must not cut off much of it.
_RATES = (*(2.0**-power for power in range(14, 6, -1)), *(step / 100 for step in range(1, 100)))


def power_figure(curve: PrivacyCurve) -> str:
    """Return a figure of the greatest true positive rate against the false positive rate.

    Parameters
    ----------
    curve : PrivacyCurve
        What is proved.

    Returns
    -------
    str
        An `svg` element without text from elsewhere; colours come from the page.
    """
    found = [(rate, attack_power(curve, rate)) for rate in (0.0, *_RATES, 1.0)]
    line = " ".join(f"{_x(rate):.1f},{_y(power):.1f}" for rate, power in found)
    dots = "".join(
        f'<circle class="curve-dot" cx="{_x(rate):.1f}" '
        f'cy="{_y(attack_power(curve, rate)):.1f}" r="3.5"/>'
        for rate in FALSE_POSITIVE_RATES
    )
    middle = _LEFT + _SIZE / 2
    return (
        '<svg viewBox="0 0 370 370" role="img" aria-labelledby="figure-title figure-words">'
        '<title id="figure-title">What attacks can find</title><desc id="figure-words">'
        "Greatest rate of true cases found, by rate of false alarms; guessing is the diagonal."
        f"</desc>{_axes()}"
        f'<line class="guess" x1="{_x(0):g}" y1="{_y(0):g}" x2="{_x(1):g}" y2="{_y(1):g}"/>'
        f'<polyline class="curve" points="{line}"/>{dots}'
        f'<text x="{middle:g}" y="362" text-anchor="middle">false alarms</text>'
        f'<text transform="translate(12 {_y(0.5):g}) rotate(-90)" text-anchor="middle">'
        "found at most</text></svg>"
    )


def _axes() -> str:
    return "".join(
        f'<line class="grid" x1="{_x(tick):g}" y1="{_y(0):g}" x2="{_x(tick):g}" y2="{_y(1):g}"/>'
        f'<line class="grid" x1="{_x(0):g}" y1="{_y(tick):g}" x2="{_x(1):g}" y2="{_y(tick):g}"/>'
        f'<text x="{_x(tick):g}" y="{_y(0) + 18:g}" text-anchor="middle">{tick:.0%}</text>'
        f'<text x="{_x(0) - 5:g}" y="{_y(tick) + 4:g}" text-anchor="end">{tick:.0%}</text>'
        for tick in _TICKS
    )


def _x(rate: float) -> float:
    return _LEFT + _SIZE * rate


def _y(power: float) -> float:
    return _TOP + _SIZE * (1 - power)
