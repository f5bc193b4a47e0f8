"""How far colours are apart, and how well text stands out: CIE L*a*b* and WCAG 2, from sRGB."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = (0.9505, 1.0, 1.089)


def linear(colour: Sequence[float]) -> NDArray[np.float64]:
    """Linear RGB of an sRGB colour, 0 to 255 each."""
    srgb = np.array(colour) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b* (D65) of linear RGB; distances of 2.3 are just seen."""
    xyz = _XYZ @ rgb / _WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(text: Sequence[float], paper: Sequence[float]) -> float:
    """Contrast ratio of WCAG 2."""
    one, other = (float(_XYZ[1] @ linear(colour)) for colour in (text, paper))
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
