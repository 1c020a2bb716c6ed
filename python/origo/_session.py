"""Running models on arrays of numpy."""

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from numpy.typing import NDArray

from . import _native
from ._errors import Error
from ._native import printable


def listed(names: Iterable[str]) -> str:
    return ", ".join(printable(name) for name in names)


@dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    type: str  #: as in the schema: FLOAT32
    dtype: str  #: of its arrays; "uint8" also where numpy has no such type, whose elements are bytes in one dimension
    shape: Optional[Tuple[int, ...]]  #: -1: known at run time only; None: not even the rank is
    scale: Optional[float]  #: of integers that stand for real numbers: (element - zero_point) * scale
    zero_point: Optional[int]


def order(ports: List[Port], arrays: Tuple[Any, ...], named: Mapping[str, Any]) -> List[Any]:
    """Arrays in the order of the inputs, some of them given by name."""
    if len(arrays) > len(ports):
        raise Error(f"the model has {len(ports)} inputs, and {len(arrays)} arrays were given")
    values = list(arrays)
    names = [port.name for port in ports]
    for name in names[len(arrays) :]:
        if name not in named:
            raise Error(f'input "{printable(name)}" is missing; the inputs are {listed(names)}')
        values.append(named[name])
    for name in named:
        if name not in names[len(arrays) :]:
            raise Error(f'there is no input "{printable(name)}" left; the inputs are {listed(names)}')
    return values


class Signature:
    """One way to call a model: `session["decode"](tokens=array)`."""

    def __init__(self, session: "_native.Session", name: str) -> None:
        self._session = session
        self.name = name

    @property
    def inputs(self) -> List[Port]:
        return [Port(*port) for port in self._session.inputs(self.name)]

    @property
    def outputs(self) -> List[Port]:
        return [Port(*port) for port in self._session.outputs(self.name)]

    def __call__(self, *arrays: Any, **named: Any) -> Dict[str, NDArray[Any]]:
        """Runs it on arrays in the order of its inputs, or by their names; the outputs by theirs.

        Where two outputs share a name, or one has none, its number stands for it; behind a # where another is called so.
        """
        return self._run(arrays, named, False)

    def _run(self, arrays: Tuple[Any, ...], named: Mapping[str, Any], fresh: bool) -> Dict[str, NDArray[Any]]:
        outputs: Dict[str, NDArray[Any]] = {}
        results = self._session.run(self.name, order(self.inputs, arrays, named), fresh)
        names = {name for name, _ in results}
        for index, (name, array) in enumerate(results):
            if not name or name in outputs:
                name = str(index)
                while name in names or name in outputs:
                    name = "#" + name
            outputs[name] = array
        return outputs

    def __repr__(self) -> str:
        return f"<origo.Signature {self.name!r}>"


class Session:
    """A compiled model, with what outlives a run of it: variables and memory that is used again.

    >>> import numpy, origo
    >>> session = origo.load("res/lstm.origo").session()
    >>> [(port.name, port.shape) for port in session.inputs]
    [('frames', (1, 20, 13))]
    >>> outputs = session(numpy.zeros((1, 20, 13), "float32"))
    >>> {name: array.shape for name, array in outputs.items()}
    {'probabilities': (1, 12)}

    Several threads may have a session each; runs of one wait for each other. Other threads of Python go on meanwhile.
    """

    def __init__(self, session: "_native.Session", signature: str) -> None:
        self._session = session
        self._default = Signature(session, signature)

    @property
    def signatures(self) -> List[str]:
        return self._session.signatures()

    def __getitem__(self, signature: str) -> Signature:
        if signature not in self.signatures:
            raise Error(f'there is no signature "{printable(signature)}"; there are: {listed(self.signatures) or "none"}')
        return Signature(self._session, signature)

    @property
    def inputs(self) -> List[Port]:
        return self._default.inputs

    @property
    def outputs(self) -> List[Port]:
        return self._default.outputs

    def __call__(self, *arrays: Any, **named: Any) -> Dict[str, NDArray[Any]]:
        """Runs the signature that was compiled, or the first subgraph: see Signature."""
        return self._default(*arrays, **named)

    def reset(self) -> None:
        """Variables are as before the first run."""
        self._session.reset()
