"""Optimises .circle and .tflite models, and says of everything where it came from.

See docs/python.md. The names here are all there is; what begins with an underscore may change.
"""

import os as _os

from . import _native
from ._errors import Error
from ._model import Constant, LedgerRow, Model, Operator, Origin, Page, Proof, SourceOperator, Statistics, load
from ._session import Port, Session, Signature

__version__ = _native.version
# Reads HDF5 files and images in a process with limits.
_native.set_reader(_os.path.join(_os.path.dirname(__file__), "origo-reader"))

__all__ = [
    "Constant",
    "Error",
    "LedgerRow",
    "Model",
    "Operator",
    "Origin",
    "Page",
    "Port",
    "Proof",
    "Session",
    "Signature",
    "SourceOperator",
    "Statistics",
    "load",
]
