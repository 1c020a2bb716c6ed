#include "python/Arrays.h"
#include "python/LoadedModel.h"

#include "commands/Errors.h"
#include "commands/Files.h"
#include "commands/Related.h"
#include "eval/EvalError.h"
#include "export/Writer.h"
#include "quantize/Reader.h"
#include "report/errors/Errors.h"
#include "schema/InputFile.h"

#include <mutex>
#include <unistd.h>

/// The module origo._native: plain values in and out. What it looks like to people is written in Python, in
/// python/origo/.
namespace origo::python {
namespace {

template <class Enum>
Enum oneOf(const std::string &name, const char *what, std::initializer_list<std::pair<const char *, Enum>> table) {
  std::string names;
  for (auto [known, value] : table) {
    if (name == known)
      return value;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  fail(makeError(llvm::Twine(what) + ": \"" + printable(name) + "\" is none; there are " + names));
}

eval::Engine engineNamed(const std::string &name) {
  return oneOf<eval::Engine>(name, "engine", {{"fast", eval::Engine::Fast}, {"reference", eval::Engine::Reference}});
}

py::tuple portTuple(const eval::Port &port) {
  const Quantization *q = port.value ? port.value->quantization : nullptr;
  bool scaled = q && q->scale.size() == 1;
  py::object shape = py::none();
  if (port.rankKnown)
    shape = py::tuple(py::cast(std::vector<int>(port.shape.begin(), port.shape.end())));
  return py::make_tuple(textOf(port.name), textOf(tensorTypeName(port.type)), dtypeOf(port.type), shape,
                        scaled ? py::object(py::float_(q->scale[0])) : py::none(),
                        scaled && !q->zeroPoint.empty() ? py::object(py::int_(q->zeroPoint[0])) : py::none());
}

py::list portList(llvm::ArrayRef<eval::Port> ports) {
  py::list list;
  for (const eval::Port &port : ports)
    list.append(portTuple(port));
  return list;
}

/// A compiled model and what outlives a run of it.
class NativeSession {
public:
  NativeSession(ModelPtr model, const std::string &engine, unsigned threads, const std::string &signature)
      : model(model) {
    eval::CompileOptions options;
    options.engine = engineNamed(engine);
    options.threads = commands::threadCount(threads);
    options.signature = signature;
    unlocked([&] {
      imported = take(model->import());
      auto compiled = eval::compile(*imported.model, options);
      session.emplace(take(compiled ? std::move(compiled) : inFile(model->path(), compiled.takeError())));
    });
  }

  py::list signatures() const {
    py::list list;
    for (const std::string &name : session->signatures())
      list.append(textOf(name));
    return list;
  }
  py::list inputs(const std::string &signature) const { return portList(take(session->inputs(signature))); }
  py::list outputs(const std::string &signature) const { return portList(take(session->outputs(signature))); }

  /// `values` in the order of inputs(); names and arrays of the outputs. `fresh`: as if it were the first run.
  py::list run(const std::string &signature, const py::list &values, bool fresh) {
    auto ports = take(session->inputs(signature));
    if (values.size() != ports.size())
      fail(makeError("the model has " + llvm::Twine(ports.size()) + " inputs, and " + llvm::Twine(values.size()) +
                     " arrays were given"));
    std::vector<Given> given;
    given.reserve(ports.size());
    std::vector<eval::TensorRef> refs;
    for (size_t i = 0; i < ports.size(); ++i)
      refs.push_back(given.emplace_back(ports[i], values[i]).ref);
    Own &own = ours();
    auto results = unlocked([&] {
      std::unique_lock lock(own.mutex, std::defer_lock);
      eval::RunOptions options;
      options.signature = signature;
      if (!fresh) {
        lock.lock();
        options.state = &own.state;
      }
      auto outputs = session->run(refs, options);
      if (!outputs)
        fail(inFile(model->path(), outputs.takeError()));
      return std::move(*outputs);
    });
    py::list list;
    for (eval::NamedTensor &result : results)
      list.append(py::make_tuple(textOf(result.name), arrayOf(std::move(result.tensor))));
    return list;
  }

  void reset() {
    Own &own = ours();
    std::lock_guard lock(own.mutex);
    own.state.reset();
  }

private:
  struct Own {
    eval::State state;
    std::mutex mutex; ///< of the state
    pid_t process = ::getpid();
  };
  /// With Python's lock. In a process that was forked off nobody will open what another thread had closed, nor finish
  /// what it was at: that is left where it lies.
  Own &ours() {
    if (own->process != ::getpid()) {
      if (own->mutex.try_lock())
        own->mutex.unlock(), own->process = ::getpid();
      else
        (void)own.release(), own = std::make_unique<Own>();
    }
    return *own;
  }

  ModelPtr model;
  Imported imported;
  std::optional<eval::Session> session;
  std::unique_ptr<Own> own = std::make_unique<Own>();
};

/// All operators and constants of a model; constants share its mapping.
py::list operatorsOf(const LoadedModel &model) {
  Imported imported = unlocked([&] { return take(model.import()); });
  py::list list;
  auto names = [](auto values) {
    py::list list;
    for (const Value *value : values)
      list.append(value ? py::object(textOf(value->name)) : py::none());
    return py::tuple(list);
  };
  for (const auto &graph : imported.model->subgraphs)
    for (const Operator &op : graph->operators) {
      std::vector<const Value *> operands;
      for (unsigned i = 0; i < op.numOperands(); ++i)
        operands.push_back(op.operand(i));
      list.append(py::make_tuple(graph->index, op.index, op.opName(), textOf(op.customCode()), names(operands),
                                 names(op.results())));
    }
  return list;
}

py::list constantsOf(const LoadedModel &model) {
  auto imported = std::make_shared<Imported>(unlocked([&] { return take(model.import()); }));
  py::capsule owner(new std::shared_ptr<Imported>(imported),
                    [](void *p) { delete static_cast<std::shared_ptr<Imported> *>(p); });
  py::list list;
  for (const auto &graph : imported->model->subgraphs)
    for (const Value *value : graph->values) {
      if (!value->isConstant() || !value->payload().hasBytes())
        continue;
      llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
      // What is stored otherwise than as one element behind the other is shown as it is stored.
      bool plain = payloadBytes(value->type, value->elementCount().value_or(~uint64_t(0))) == bytes.size();
      std::vector<int32_t> shape(value->shape.begin(), value->shape.end());
      if (!plain)
        shape = {static_cast<int32_t>(bytes.size())};
      list.append(py::make_tuple(graph->index, value->index, textOf(value->name), textOf(tensorTypeName(value->type)),
                                 viewOf(plain ? value->type : TensorType::UINT8, shape, bytes, owner)));
    }
  return list;
}

/// Either words for commands::recordsAt(), or a list of arrays.
class Data {
public:
  explicit Data(const py::object &data) {
    if (py::isinstance<py::str>(data))
      path = data.cast<std::string>();
    else
      arrays.emplace(data.cast<py::list>());
  }
  llvm::Expected<std::unique_ptr<quantize::Records>> open(llvm::ArrayRef<eval::Port> inputs) {
    return arrays ? arrays->open(inputs) : commands::recordsAt(path, inputs);
  }
  /// The value of what used it, or what Python had against it.
  template <class T> T done(llvm::Expected<T> value) {
    if (!value && arrays)
      try {
        arrays->rethrow();
      } catch (...) {
        llvm::consumeError(value.takeError());
        throw;
      }
    return take(std::move(value));
  }

private:
  std::string path;
  std::optional<ArrayRecords> arrays;
};

using StatisticsPtr = std::shared_ptr<quantize::Statistics>;

StatisticsPtr statisticsOf(const LoadedModel &model, const py::object &given) {
  Data data(given);
  auto statistics = unlocked([&] { return model.statistics([&](auto inputs) { return data.open(inputs); }); });
  return std::make_shared<quantize::Statistics>(data.done(std::move(statistics)));
}

/// Names, and two arrays with a row a record and a column a tensor; NaN where the record has no number.
py::tuple statisticsArrays(const quantize::Statistics &statistics) {
  size_t rows = statistics.records.size(), columns = statistics.tensors.size();
  py::list names;
  py::array_t<float> low({rows, columns}), high({rows, columns});
  auto lows = low.mutable_unchecked<2>(), highs = high.mutable_unchecked<2>();
  for (size_t c = 0; c < columns; ++c) {
    const auto &tensor = statistics.tensors[c];
    names.append(textOf(tensor.name));
    for (size_t r = 0; r < rows; ++r) {
      bool any = r < tensor.rows.size() && !tensor.rows[r].empty();
      lows(r, c) = any ? tensor.rows[r].min : NAN;
      highs(r, c) = any ? tensor.rows[r].max : NAN;
    }
  }
  return py::make_tuple(names, low, high);
}

/// A row a tensor of the source: places, and figures by name.
py::list errorsOf(const LoadedModel &result, const LoadedModel &source, const py::object &given, uint64_t effects) {
  Data data(given);
  std::optional<commands::Related> models;
  std::vector<report::ErrorRow> rows;
  auto count = unlocked([&]() -> llvm::Expected<uint64_t> {
    auto related = commands::relate([&](const ImportOptions &options) { return source.import(options); },
                                    [&](const ImportOptions &options) { return result.import(options); });
    if (!related)
      return related.takeError();
    models.emplace(std::move(*related));
    report::ErrorOptions options;
    options.compile.engine = eval::Engine::Fast;
    options.own = effects > 0;
    auto run = report::ErrorRun::of(models->source, models->result, options);
    if (!run)
      return run.takeError();
    commands::ErrorRecords records;
    records.withEffects = effects;
    auto numbers = commands::runRecords(
        *run, [&](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) { return data.open(inputs); }, records);
    if (!numbers)
      return numbers.takeError();
    rows = run->rows();
    return numbers->size();
  });
  data.done(std::move(count));
  py::list list;
  for (const report::ErrorRow &row : rows) {
    py::dict figures;
    auto add = [&](const char *prefix, const report::ErrorSums &sums) {
      if (sums.empty())
        return;
      report::ErrorFigures all = sums.figures(row.scale);
      for (const report::ErrorMetric &metric : report::errorMetrics())
        if (auto value = metric.of(all))
          figures[textOf((prefix + metric.name).str())] = *value;
    };
    add("", row.total);
    add("own_", row.own);
    add("inherited_", row.inherited);
    if (row.effect)
      figures["effect"] = *row.effect;
    const Operator *op = row.value->producer();
    list.append(py::make_tuple(row.value->subgraph()->index, row.value->index, textOf(row.value->name),
                               op ? py::object(textOf(op->opName())) : py::none(), row.recovered,
                               textOf(row.unmeasured), figures));
  }
  return list;
}

std::string textOfValue(const py::handle &value) {
  return py::hasattr(value, "__fspath__") ? py::str(py::module_::import("os").attr("fspath")(value)) : py::str(value);
}

/// A value of Python, or the values of a sequence.
std::vector<std::string> textsOf(const py::handle &value) {
  if (py::isinstance<py::str>(value) || !py::isinstance<py::sequence>(value))
    return {textOfValue(value)};
  std::vector<std::string> texts;
  for (py::handle one : value)
    texts.push_back(textOfValue(one));
  return texts;
}

/// Sets one option as a keyword asks for it.
llvm::Error setOption(const commands::Option &row, void *request, const py::handle &value) {
  if (row.flag)
    return row.set(request, value.cast<bool>() ? "true" : "false");
  if (row.repeats && !row.splits) {
    bool alone = py::isinstance<py::str>(value); // else a sequence of texts, or of sequences of them
    py::object list = alone ? py::object(py::make_tuple(value)) : py::reinterpret_borrow<py::object>(value);
    for (py::handle one : list)
      if (llvm::Error error = row.set(request, row.words == 1 ? textOfValue(one) : commands::joinList(textsOf(one))))
        return error;
    return llvm::Error::success();
  }
  if (!row.splits && row.words == 1)
    return row.set(request, textOfValue(value));
  std::vector<std::string> texts = textsOf(value);
  return texts.empty() ? llvm::Error::success() : row.set(request, commands::joinList(texts));
}

/// Sets what keywords say.
void readKeywords(const commands::Command &command, void *request, const py::dict &keywords) {
  for (const auto &[key, value] : keywords) {
    std::string name = py::str(key);
    const auto *row = llvm::find_if(command.options(), [&](const commands::Option &row) {
      return row.keyword() == name && row.python == commands::Without::Nothing;
    });
    if (row == command.options().end())
      fail(makeError("there is no option " + printable(name)));
    if (value.is_none())
      continue;
    if (llvm::Error error = setOption(*row, request, value))
      fail(makeError(name + llvm::toString(std::move(error))));
  }
}

/// What is known of a command's options: keyword, type, whether it is a list and of how many words, the texts of its
/// default, choices, help, why Python has none, and the option, the key of a .cfg file and why that has none.
py::list optionsOf(const std::string &tool) {
  const commands::Command *command = commands::findCommand(tool);
  py::list list;
  if (!command)
    return list;
  auto fresh = command->fresh();
  for (const commands::Option &row : command->options()) {
    py::list choices;
    if (row.choices)
      for (const commands::Choice &choice : row.choices())
        choices.append(textOf(choice.name));
    list.append(py::make_tuple(row.keyword(), textOf(row.type), row.repeats, row.words, row.get(fresh.get()), choices,
                               textOf(row.help), static_cast<int>(row.python), textOf(row.name),
                               textOf(row.key.empty() ? row.name : row.key), static_cast<int>(row.cfg)));
  }
  return list;
}

ModelPtr optimize(const LoadedModel &model, const py::dict &keywords, const std::string &format) {
  commands::OptimizeRequest request;
  if (!format.empty())
    oneOf<Format>(format, "format", {{"circle", Format::Circle}, {"tflite", Format::Tflite}});
  request.output = "." + format; // its extension counts
  readKeywords(commands::optimizeCommand, &request, keywords);
  return unlocked([&] { return take(model.optimize(request)); });
}

ModelPtr quantize(const LoadedModel &model, const py::dict &keywords, const py::object &given,
                  const StatisticsPtr &statistics) {
  commands::QuantizeRequest request;
  std::optional<Data> data;
  if (!given.is_none()) {
    data.emplace(given);
    request.records.arrays = [&](llvm::ArrayRef<eval::Port> inputs) { return data->open(inputs); };
  }
  request.statistics = statistics.get();
  readKeywords(commands::quantizeCommand, &request, keywords);
  request.chooseScheme();
  auto made = unlocked([&] { return model.quantize(request); });
  return data ? data->done(std::move(made)) : take(std::move(made));
}

ModelPtr calibrate(const LoadedModel &model, const py::dict &keywords, const py::object &given) {
  commands::RecordRequest request;
  std::optional<Data> data;
  if (!given.is_none()) {
    data.emplace(given);
    request.records.arrays = [&](llvm::ArrayRef<eval::Port> inputs) { return data->open(inputs); };
  }
  readKeywords(commands::recordCommand, &request, keywords);
  auto made = unlocked([&] { return model.calibrate(request); });
  return data ? data->done(std::move(made)) : take(std::move(made));
}

py::str metricsCsv(const LoadedModel &model, const std::string &per, const LoadedModel *source) {
  using report::Rows;
  Rows rows = oneOf<Rows>(per, "per",
                          {{"operator", Rows::Operators},
                           {"source", Rows::Sources},
                           {"scope", Rows::Scopes},
                           {"line", Rows::Lines},
                           {"file", Rows::Files},
                           {"tensor", Rows::Tensors},
                           {"subgraph", Rows::Subgraphs},
                           {"model", Rows::Model}});
  return textOf(unlocked([&] { return take(model.metricsCsv(rows, source)); }));
}

py::str page(const LoadedModel &model, const LoadedModel *source, std::vector<std::string> profiles,
             const std::string &history, const std::string &errors, const std::string &target, bool constants) {
  commands::PageRequest request;
  request.profiles = std::move(profiles);
  request.history = history;
  request.errors = errors;
  request.target = target;
  request.histograms = constants;
  return textOf(unlocked([&] { return take(model.page(std::move(request), source)); }));
}

/// There is none but what the module itself hands out: another one would be memory that nothing was put into.
PyObject *refuseNew(PyTypeObject *type, PyObject *, PyObject *) {
  PyErr_Format(PyExc_TypeError, "%s is made by the functions of origo only", type->tp_name);
  return nullptr;
}

py::list texts(const std::vector<std::string> &lines) {
  py::list list;
  for (const std::string &line : lines)
    list.append(textOf(line));
  return list;
}

} // namespace
} // namespace origo::python

PYBIND11_MODULE(_native, module) {
  using namespace origo::python;
  using pybind11::arg;
  module.attr("version") = ORIGO_VERSION;
  module.def("printable", [](const py::str &text) {
    auto bytes = py::bytes(text.attr("encode")("utf-8", "replace"));
    return textOf(origo::printable(std::string(bytes), ~size_t(0)));
  });
  registerFailure();
  origo::copyInputs();

  py::class_<LoadedModel, ModelPtr>(module, "Model")
      .def_property_readonly("path", [](const LoadedModel &m) { return textOf(m.path()); })
      .def_property_readonly(
          "format", [](const LoadedModel &m) { return m.format == origo::Format::Tflite ? "tflite" : "circle"; })
      .def_property_readonly("size", [](const LoadedModel &m) { return m.bytes().size(); })
      .def_property_readonly("rewrites", [](const LoadedModel &m) { return m.rewrites; })
      .def_property_readonly("has_map", &LoadedModel::hasMap)
      .def_property_readonly("notes", [](const LoadedModel &m) { return texts(m.notes); })
      .def("bytes",
           [](const LoadedModel &m) {
             return py::bytes(reinterpret_cast<const char *>(m.bytes().data()), m.bytes().size());
           })
      .def(
          "save",
          [](const LoadedModel &m, const std::string &path, bool sideFile) {
            unlocked([&] { take(m.save(path, sideFile)); });
          },
          arg("path"), arg("side_file"))
      .def("operators", &operatorsOf)
      .def("constants", &constantsOf)
      .def("optimize", &optimize, arg("options"), arg("format"))
      .def("quantize", &quantize, arg("options"), arg("data"), arg("statistics").none(true))
      .def("calibrate", &calibrate, arg("options"), arg("data"))
      .def("statistics", &statisticsOf, arg("data"))
      .def("errors", &errorsOf, arg("source"), arg("data"), arg("effects"))
      .def("map_json", [](const LoadedModel &m) { return textOf(unlocked([&] { return take(m.mapJson()); })); })
      .def(
          "where",
          [](const LoadedModel &m, const std::string &what) {
            return textOf(unlocked([&] { return take(m.where(what)); }));
          },
          arg("what"))
      .def(
          "come_from",
          [](const LoadedModel &m, const std::string &what) {
            return textOf(unlocked([&] { return take(m.from(what)); }));
          },
          arg("what"))
      .def(
          "check",
          [](const LoadedModel &m, const LoadedModel *source) {
            return texts(unlocked([&] { return take(m.check(source)); }));
          },
          arg("source").none(true))
      .def(
          "infer",
          [](const LoadedModel &m, const LoadedModel &source, unsigned seed) {
            return unlocked([&] { return take(m.infer(source, seed)); });
          },
          arg("source"), arg("seed"))
      .def(
          "prove",
          [](const LoadedModel &m, const LoadedModel &source) {
            return textOf(unlocked([&] { return take(m.prove(source)); }));
          },
          arg("source"))
      .def("metrics_csv", &metricsCsv, arg("per"), arg("source").none(true))
      .def("page", &page, arg("source").none(true), arg("profiles"), arg("history"), arg("errors"), arg("target"),
           arg("constants"));

  py::class_<origo::quantize::Statistics, StatisticsPtr>(module, "Statistics")
      .def("arrays", &statisticsArrays)
      .def("text", [](const origo::quantize::Statistics &s) { return textOf(unlocked([&] { return s.text(); })); });

  py::class_<NativeSession>(module, "Session")
      .def("signatures", &NativeSession::signatures)
      .def("inputs", &NativeSession::inputs, arg("signature"))
      .def("outputs", &NativeSession::outputs, arg("signature"))
      .def("run", &NativeSession::run, arg("signature"), arg("values"), arg("fresh"))
      .def("reset", &NativeSession::reset);

  for (const char *name : {"Model", "Statistics", "Session"})
    reinterpret_cast<PyTypeObject *>(module.attr(name).ptr())->tp_new = refuseNew;

  module.def(
      "session",
      [](ModelPtr model, const std::string &engine, unsigned threads, const std::string &signature) {
        return std::make_unique<NativeSession>(std::move(model), engine, threads, signature);
      },
      arg("model"), arg("engine"), arg("threads"), arg("signature"));
  module.def(
      "write_file",
      [](const std::string &path, const std::string &text) { unlocked([&] { take(origo::writeFile(path, text)); }); },
      arg("path"), arg("text"));
  module.def("options", &optionsOf, arg("tool"));
  module.def("set_reader", &origo::quantize::Reader::setProgram, arg("path"));
  module.def(
      "load",
      [](const std::string &path, const std::string &map) {
        return unlocked([&] { return take(LoadedModel::open(path, map)); });
      },
      arg("path"), arg("origin_map"));
  module.def(
      "from_bytes",
      [](const py::bytes &bytes, const std::string &name) {
        std::string_view text = bytes;
        return unlocked([&] { return take(LoadedModel::fromBytes({text.data(), text.size()}, name)); });
      },
      arg("bytes"), arg("name"));
  module.def(
      "parse_statistics",
      [](const std::string &text) {
        return std::make_shared<origo::quantize::Statistics>(
            unlocked([&] { return take(origo::quantize::Statistics::parse(text)); }));
      },
      arg("text"));
}
