"""Models, and what is to be known of them."""

import csv
import html
import io
import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._errors import Error
from ._session import Port, Session, order

Path = Union[str, "os.PathLike[str]"]
#: Records to run a model on: a path as `origo quantize --data` takes it, the word "random", or records one after the
#: other, each an array, a list of arrays in the order of the inputs, or a dict of them by name.
Data = Union[Path, Iterable[Any]]
#: Columns by name; `pandas.DataFrame(table)` takes it as it is.
Table = Dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Operator:
    """An operator of a model."""

    subgraph: int
    index: int
    op: str  #: CONV_2D
    custom_code: str  #: of CUSTOM
    inputs: Tuple[Optional[str], ...]  #: names of tensors; None: absent
    outputs: Tuple[Optional[str], ...]


@dataclass(frozen=True)
class SourceOperator:
    """An operator of the source."""

    id: int
    op: str
    name: str  #: of its first result that has one


@dataclass(frozen=True)
class Origin:
    """Where an operator came from."""

    subgraph: int
    index: int
    op: str
    name: str
    origins: Tuple[SourceOperator, ...]
    passes: Tuple[str, ...]  #: that made it what it is
    synthetic: Optional[str]  #: why no operator of the source is behind it


@dataclass(frozen=True)
class LedgerRow:
    """What became of something of the source that is gone."""

    kind: str  #: "operator" or "tensor"
    id: int
    name: str
    fate: str  #: fused-away, folded, dead, ...
    by: Optional[str]  #: the pass
    into: Tuple[Tuple[str, int, int], ...]  #: where its work went: "operator" or "tensor", subgraph, index


@dataclass(frozen=True)
class Constant:
    """A constant of a model."""

    subgraph: int
    index: int
    name: str
    type: str  #: as in the schema: FLOAT32
    #: read-only, in the mapped file; what numpy has no type for, or is stored sparse: bytes
    array: NDArray[Any] = field(repr=False)


@dataclass(frozen=True)
class Proof:
    """What exact arithmetic says of a model and its source."""

    verdict: str  #: equal, unequal, undecided or undefined
    different: Tuple[str, ...]  #: what is not equal, the first one first
    assumptions: Tuple[str, ...]  #: what numbers were taken for
    undecided: Dict[str, int]  #: by reason, how many tensors and constants
    functions: Dict[str, int]  #: operators taken for functions of their operands, and how many tensors are behind them
    rounded: int  #: constants that are equal but for one rounding


class Page:
    """The page of `origo view`. A notebook shows it; in a browser it needs no server.

    >>> import origo
    >>> page = origo.load("res/lstm.origo").optimize().view()
    >>> page.html.startswith("<!doctype html>")
    True
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Path) -> None:
        """Writes the file, whole or not at all."""
        _native.write_file(os.fspath(path), self.html)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" '
            'style="width: 100%; height: 720px; border: 1px solid #8886"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<origo.Page, {len(self.html)} characters>"


class Statistics:
    """The least and the greatest number of each float tensor in each record: what scales are made from.

    >>> import origo
    >>> statistics = origo.load("res/lstm.origo").statistics("random")
    >>> statistics.low.shape == statistics.high.shape == (4, len(statistics.names))
    True
    """

    def __init__(self, statistics: "_native.Statistics") -> None:
        self._statistics = statistics
        names, low, high = statistics.arrays()
        self.names: List[str] = names
        self.low: NDArray[np.float32] = low  #: a row a record, a column a tensor; NaN: it had no number there
        self.high: NDArray[np.float32] = high

    def save(self, path: Path) -> None:
        """Writes what `record-minmax --stats` writes, whole or not at all."""
        _native.write_file(os.fspath(path), self._statistics.text())

    @staticmethod
    def load(path: Path) -> "Statistics":
        with open(path, encoding="utf-8", errors="replace") as file:
            return Statistics(_native.parse_statistics(file.read()))

    def __repr__(self) -> str:
        return f"<origo.Statistics of {len(self.names)} tensors in {len(self.low)} records>"


def _number(text: str) -> float:
    return float(text) if text else float("nan")


class Model:
    """A model: the bytes of a file, and where everything in it came from. It never changes.

    >>> import origo
    >>> net = origo.load("res/mobilenet_v2.origo")
    >>> net
    <origo.Model mobilenet_v2.origo: tflite, 204 operators>
    >>> small = net.optimize()
    >>> small
    <origo.Model mobilenet_v2.optimized.tflite: tflite, 65 operators, from mobilenet_v2.origo>
    >>> small.origins[0].name, [source.op for source in small.origins[0].origins]
    ('stem/relu6', ['CONV_2D', 'MUL', 'ADD', 'RELU6'])
    >>> print(small.where("stem/bn/mul").splitlines()[0])
    source operator 1 (MUL "stem/bn/mul")
    """

    def __init__(self, native: "_native.Model", source: Optional["Model"]) -> None:
        self._native = native
        self._source = source
        self._operators: Optional[List[Operator]] = None
        self._map: Optional[Dict[str, Any]] = None
        self._session: Optional[Session] = None

    # What it is.

    @property
    def path(self) -> str:
        """The file that it was read from; of a result, what `save` may call it."""
        return self._native.path

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def format(self) -> str:
        """"tflite" or "circle"."""
        return self._native.format

    @property
    def nbytes(self) -> int:
        """Of the file."""
        return self._native.size

    @property
    def notes(self) -> List[str]:
        """What a command line would have said while the model was made."""
        return self._native.notes

    @property
    def rewrites(self) -> int:
        """How many rewrites the step applied that made it."""
        return self._native.rewrites

    @property
    def source(self) -> Optional["Model"]:
        """The model that origins are about, if it is at hand: a result of this session knows it."""
        return self._source

    @property
    def operators(self) -> List[Operator]:
        if self._operators is None:
            self._operators = [Operator(*row) for row in self._native.operators()]
        return self._operators

    @property
    def constants(self) -> List[Constant]:
        """All constants. Their arrays share the memory of the mapped file, and keep it.

        >>> import origo
        >>> bias = origo.load("res/lstm.origo").constants[0].array
        >>> bias.flags.writeable, bias.flags.owndata
        (False, False)
        """
        return [Constant(*row) for row in self._native.constants()]

    def __bytes__(self) -> bytes:
        return self._native.bytes()

    def save(self, path: Path, *, side_file: bool = True) -> None:
        """Writes the file, and its origins beside it as PATH.origin.json; each whole or not at all."""
        self._native.save(os.fspath(path), side_file)

    def __repr__(self) -> str:
        made = f", from {_native.printable(self._origin_map['source']['file'])}" if self._native.has_map else ""
        return f"<origo.Model {_native.printable(self.name)}: {self.format}, {len(self.operators)} operators{made}>"

    # Other models from it.

    def _made(self, native: "_native.Model") -> "Model":
        return Model(native, self._source if self._native.has_map else self)

    def optimize(
        self,
        level: int = 1,
        *,
        passes: Union[str, Sequence[str]] = (),
        skip: Union[str, Sequence[str]] = (),
        format: Optional[str] = None,
        change_outputs: Union[str, Sequence[str]] = (),
        target: Optional[Path] = None,
        allow_one_step: bool = False,
        allow_hybrid_to_float: bool = False,
        verify_each: bool = False,
        verify_numerics: bool = False,
        verify_algebra: bool = False,
        verify_data: Optional[Path] = None,
        trace: Optional[Path] = None,
        history: Optional[Path] = None,
        remarks: Optional[Path] = None,
        hot: Optional[Path] = None,
        fuel: Optional[int] = None,
        lines_from: Optional[Path] = None,
        origin: Literal["continue", "restart", "ignore"] = "continue",
        embed_origin: Literal["names", "full", "ids", "none"] = "names",
        sparsify_tensor: Optional[str] = None,
        sparsify_traversal_order: Optional[str] = None,
        sparsify_format: Optional[str] = None,
        sparsify_block_map: Optional[str] = None,
        sparsify_block_size: Optional[str] = None,
        nchw_to_nhwc_input_shape: Optional[bool] = None,
        nchw_to_nhwc_output_shape: Optional[bool] = None,
        dynamic_batch_to_single_batch: Optional[bool] = None,
    ) -> "Model":
        """All safe rewrites (level 1), or the `passes` named (with level 0), without those to `skip`; level 2: besides,
        what brings the `target` operators that it takes.

        `format`: "circle" or "tflite". The other keywords are the options of circle2circle.

        >>> import origo
        >>> net = origo.load("res/mobilenet_v2.origo")
        >>> len(net.optimize(skip=["fuse-activation"]).operators) > len(net.optimize().operators)
        True
        """
        options = dict(locals())
        del options["self"], options["format"]
        return self._made(self._native.optimize(options, format or ""))

    def convert(self, format: str) -> "Model":
        """The same model as "circle" or "tflite"."""
        return self.optimize(0, format=format)

    def quantize(
        self,
        data: Union[None, Data, Statistics] = None,
        scheme: Optional[Literal["int8", "int16x8", "dynamic", "weights", "float16"]] = None,
        *,
        recipe: Optional[Path] = None,
        statistics: Optional[Path] = None,
        input_type: Union[str, Sequence[str]] = (),
        output_type: Union[str, Sequence[str]] = (),
        strict: bool = False,
        keep_float: Union[str, Sequence[str]] = (),
        only: Union[str, Sequence[str]] = (),
        labels: Optional[Path] = None,
        weight_bits: int = 8,
        min_elements: int = 1024,
        clip_weights: bool = False,
        per_tensor: bool = False,
        per_channel_dense: bool = False,
        block_size: int = 0,
        equalize: bool = False,
        smooth: Optional[float] = None,
        absorb: bool = False,
        gptq: bool = False,
        gptaq: bool = False,
        bias_correction: bool = False,
        best: bool = False,
        time: Optional[int] = None,
        steps: Optional[int] = None,
        verify_each: bool = False,
        embed_origin: Literal["names", "full", "ids", "none"] = "names",
        quantize_dequantize_weights: Optional[Tuple[str, str, str]] = None,
        quantize_with_minmax: Optional[Tuple[str, str, str]] = None,
        quantize_weights: Optional[Tuple[str, str, str]] = None,
        requantize: Optional[Tuple[str, str]] = None,
        fake_quantize: bool = False,
        quantize_onnx_fq_model: bool = False,
        force_quantparam: Sequence[Tuple[str, float, int]] = (),
        copy_quantparam: Sequence[Tuple[str, str]] = (),
        config: Optional[Path] = None,
        tf_style_maxpool: bool = False,
        save_min_max: bool = False,
        data_format: Optional[
            Literal["list", "filelist", "directory", "dir", "numpy", "h5", "hdf5", "images"]
        ] = None,
        mean: Union[float, Sequence[float]] = (),
        std: Union[float, Sequence[float]] = (),
        layout: Optional[Literal["nhwc", "nchw"]] = None,
        resize: Literal["stretch", "crop", "pad"] = "stretch",
        channels: Optional[Literal["rgb", "bgr", "gray"]] = None,
    ) -> "Model":
        """Stores it in integers.

        With `data`, or statistics of it, everything becomes 8 bits ("int8"), without only weights do ("dynamic"); other
        schemes are "int16x8", "weights" and "float16". `keep_float` says what stays float, by
        names, kinds, scopes, globs and ranges, `only` what alone does not; `notes` of the result tell what else stays
        float, and `strict` refuses that. The keywords are the options of circle-quantizer.

        >>> import origo
        >>> net = origo.load("res/mobilenet_v2.origo").optimize()
        >>> q = net.quantize("random")
        >>> q.name, q.nbytes < net.nbytes / 3
        ('mobilenet_v2.optimized.int8.tflite', True)
        """
        options = dict(locals())
        del options["self"]
        made = options.pop("data") if isinstance(data, Statistics) else None
        return self._made(self._native.quantize(options, self._arrays(options), made._statistics if made else None))

    def calibrate(
        self,
        data: Optional[Data] = None,
        *,
        mode: Literal["percentile", "moving_average"] = "percentile",
        min_percentile: float = 1,
        max_percentile: float = 99,
        moving_avg_batch: int = 16,
        moving_avg_const: float = 0.1,
        calibrator: Union[str, Sequence[str]] = (),
        percentile: float = 99.99,
        bits: int = 8,
        histograms: bool = False,
        num_threads: int = 1,
        engine: Literal["reference", "fast"] = "fast",
        statistics: Optional[Path] = None,
        shard: str = "1/1",
        merge: Sequence[Path] = (),
        data_format: Optional[
            Literal["list", "filelist", "directory", "dir", "numpy", "h5", "hdf5", "images"]
        ] = None,
        mean: Union[float, Sequence[float]] = (),
        std: Union[float, Sequence[float]] = (),
        layout: Optional[Literal["nhwc", "nchw"]] = None,
        resize: Literal["stretch", "crop", "pad"] = "stretch",
        channels: Optional[Literal["rgb", "bgr", "gray"]] = None,
    ) -> "Model":
        """Runs it on records; the same model, with the range of each tensor, which `quantize` then takes.

        The keywords are the options of record-minmax.

        >>> import origo
        >>> net = origo.load("res/lstm.origo")
        >>> net.calibrate("random", calibrator="mse").quantize(scheme="int8").nbytes < net.nbytes
        True
        """
        options = dict(locals())
        del options["self"]
        return self._made(self._native.calibrate(options, self._arrays(options)))

    # Running it.

    def session(self, *, engine: str = "fast", threads: int = 1, signature: str = "") -> Session:
        """Compiles it. `engine`: "fast", or "reference", the semantics bit for bit. `threads`: 0 for one a processor."""
        return Session(_native.session(self._native, engine, threads, signature), signature)

    def run(self, *arrays: Any, **named: Any) -> Dict[str, NDArray[Any]]:
        """Runs it once, on one thread, as if it were for the first time: see Session."""
        if self._session is None:
            self._session = self.session()
        return self._session._default._run(arrays, named, True)

    def _records(self, data: Data) -> Union[str, List[List[Any]]]:
        if isinstance(data, (str, os.PathLike)):
            return os.fspath(data)
        if self._session is None:
            self._session = self.session()
        ports: List[Port] = self._session.inputs
        records: List[List[Any]] = []
        for record in data:
            if isinstance(record, Mapping):
                records.append(order(ports, (), record))
            elif isinstance(record, np.ndarray):
                records.append([record])
            else:
                records.append(list(record))
        return records

    def _arrays(self, options: Dict[str, Any]) -> Optional[List[List[Any]]]:
        """Records that are no file, which are no option."""
        if options.get("data") is None or isinstance(options["data"], (str, os.PathLike)):
            return None
        records = self._records(options.pop("data"))
        assert not isinstance(records, str)
        return records

    def statistics(self, data: Data) -> Statistics:
        """Runs it on records and notes how far the numbers of each tensor go."""
        return Statistics(self._native.statistics(self._records(data)))

    def errors(self, data: Data = "random", *, source: Optional["Model"] = None, effects: int = 0) -> Table:
        """How far its tensors are from the source's: a row a tensor of the source, a column a metric; NaN: not known.

        With `effects`, layers' own errors are told from inherited ones, and for so many records what each does to the
        outputs (docs/errors.md).

        >>> import origo
        >>> net = origo.load("res/mobilenet_v2.origo")
        >>> errors = net.quantize("random").errors()
        >>> worst = errors["MPEIR"].argmax()
        """
        source = self._wanted(source)
        rows = self._native.errors(source._native, source._records(data), effects)
        table: Table = {
            "subgraph": np.array([row[0] for row in rows], np.int64),
            "tensor": np.array([row[1] for row in rows], np.int64),
            "name": np.array([row[2] for row in rows], object),
            "operator": np.array([row[3] for row in rows], object),
            "recovered": np.array([row[4] for row in rows], bool),
            "unmeasured": np.array([row[5] for row in rows], object),
        }
        names: Dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row[6]))
        for name in names:
            table[name] = np.array([row[6].get(name, float("nan")) for row in rows], np.float64)
        return table

    # What it costs, and where it came from.

    def _wanted(self, source: Optional["Model"]) -> "Model":
        if source is not None:
            return source
        if self._source is None:
            raise Error(f"{_native.printable(self.path)}: its source is not at hand; give source=origo.load(...)", self.path)
        return self._source

    def metrics(self, per: str = "operator", *, source: Optional["Model"] = None) -> Table:
        """What it costs (docs/metrics.md), with a row an "operator", "source" operator, "scope", "line", "file", "tensor", "subgraph" or
        for the "model".

        >>> import origo
        >>> table = origo.load("res/mobilenet_v2.origo").metrics()
        >>> str(table["name"][0]), int(table["macs"][0])
        ('stem', 1990656)
        """
        source = source or self._source
        text = self._native.metrics_csv(per, source._native if source else None)
        rows = list(csv.reader(io.StringIO(text, newline="")))
        words = {"operator", "name", "model", "scope", "line", "file", "type", "shape", "kind", "origins", "lives_in"}
        table: Table = {}
        for column, name in enumerate(rows[0]):
            cells = [row[column] for row in rows[1:]]
            table[name] = np.array(cells, object) if name in words else np.array([_number(c) for c in cells], np.float64)
        return table

    @property
    def _origin_map(self) -> Dict[str, Any]:
        if self._map is None:
            self._map = json.loads(self._native.map_json())
        return self._map

    def origin_map(self) -> Dict[str, Any]:
        """The whole map, as docs/origin-map.md describes the side file."""
        return dict(json.loads(self._native.map_json()))

    def _source_operators(self) -> List[SourceOperator]:
        return [
            SourceOperator(op["id"], op["op"], next((name for name in op["outputs"] if name), ""))
            for graph in self._origin_map["source"]["subgraphs"]
            for op in graph["operators"]
        ]

    @property
    def origins(self) -> List[Origin]:
        """Where each operator came from."""
        sources = self._source_operators()
        return [
            Origin(
                number,
                op["index"],
                op["op"],
                next((name for name in op["outputs"] if name), ""),
                tuple(sources[id] for id in op["origins"]),
                tuple(op.get("passes", ())),
                (op.get("synthetic") or {}).get("reason"),
            )
            for number, graph in enumerate(self._origin_map["target"]["subgraphs"])
            for op in graph["operators"]
        ]

    @property
    def ledger(self) -> List[LedgerRow]:
        """What became of everything of the source that is gone."""

        def rows() -> Iterator[LedgerRow]:
            operators = {op.id: op.name for op in self._source_operators()}
            tensors = {t["id"]: t["name"] for g in self._origin_map["source"]["subgraphs"] for t in g["tensors"]}
            for row in self._origin_map["ledger"]:
                kind = "operator" if "operator" in row else "tensor"
                into = row.get("into") or {}
                places = [(k, p[0], p[1]) for k in ("operator", "tensor") for p in into.get(k + "s", ())]
                names = operators if kind == "operator" else tensors
                yield LedgerRow(kind, row[kind], names.get(row[kind], ""), row["fate"], row.get("pass"), tuple(places))

        return list(rows())

    def where(self, name: Union[str, int]) -> str:
        """What became of an operator or tensor of the source, and why: by name, a part of it, or number."""
        return self._native.where(str(name))

    def come_from(self, name: Union[str, int]) -> str:
        """All that is known of an operator or constant of this model."""
        return self._native.come_from(str(name))

    def check(self, source: Optional["Model"] = None) -> List[str]:
        """Holds its origins against the laws of docs/origin-map.md: a line for each that is broken.

        >>> import origo
        >>> origo.load("res/while.origo").optimize().check()
        []
        """
        source = source or self._source
        return self._native.check(source._native if source else None)

    def infer(self, source: "Model", *, seed: int = 1) -> "Model":
        """The same model with its origins in `source`, found by what both compute, as `origo infer` does.

        For what another program made of `source`. The last of its notes says how much was found.

        >>> import origo
        >>> source = origo.load("res/while.origo")
        >>> stripped = origo.load(bytes(source.optimize(embed_origin="none")))
        >>> stripped.infer(source).check()
        []
        """
        return Model(self._native.infer(source._native, seed), source)

    def prove(self, source: Optional["Model"] = None) -> Proof:
        """Is it equal to its source in exact arithmetic, without any tolerance (docs/proof.md)?

        >>> import origo
        >>> origo.load("res/while.origo").optimize().prove().verdict
        'equal'
        """
        told = json.loads(self._native.prove(self._wanted(source)._native))
        undecided = dict(told["constants"]["untold"])
        undecided.update(told["tensors"]["undecided"])
        return Proof(
            told["verdict"],
            tuple(told["different"]),
            tuple(told["assumptions"]),
            undecided,
            told["tensors"]["functions"],
            told["constants"]["rounded"],
        )

    def view(
        self,
        source: Optional["Model"] = None,
        *,
        profiles: Sequence[Path] = (),
        history: Optional[Path] = None,
        errors: Optional[Path] = None,
        target: Optional[Path] = None,
        constants: bool = False,
    ) -> Page:
        """The page of `origo view`: it beside its source, with what the files say that are given (docs/viewers.md)."""
        source = source or self._source
        return Page(
            self._native.page(
                source._native if source else None,
                [os.fspath(path) for path in profiles],
                os.fspath(history or ""),
                os.fspath(errors or ""),
                os.fspath(target or ""),
                constants,
            )
        )

    def _repr_html_(self) -> str:
        return self.view()._repr_html_()


def _document(tool: str, function: Callable[..., Any]) -> None:
    """Lists the options of a tool, whose names are its keywords, in the documentation of a function."""
    rows = [f"        {row[0]}: {row[6]}" for row in _native.options(tool) if row[7] == 0]
    function.__doc__ = (function.__doc__ or "") + "\n        Options:\n\n" + "\n".join(rows) + "\n"


_document("circle2circle", Model.optimize)
_document("circle-quantizer", Model.quantize)
_document("record-minmax", Model.calibrate)


def load(model: Union[Path, bytes], *, origin_map: Optional[Path] = None, name: str = "model") -> Model:
    """Reads a `.circle`, `.tflite` or `.origo` model from a file, or its bytes under a `name`.

    `origin_map`: the side file of a model that carries no origins and has none beside it.
    """
    if isinstance(model, bytes):
        return Model(_native.from_bytes(model, name), None)
    return Model(_native.load(os.fspath(model), os.fspath(origin_map or "")), None)
