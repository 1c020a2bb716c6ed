// All facts of a side file as lines, read as any script would read it. facts.cpp and facts.h print the same.
#include "origin/Naming.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>

using nlohmann::json;

static std::string text(const json &object, const char *key) { return object.value(key, std::string()); }

static void printList(const char *word, const json &object, const char *key) {
  std::cout << ' ' << word;
  for (const json &item : object.value(key, json::array())) {
    std::cout << ' ';
    if (item.is_array())
      std::cout << item[0] << ':' << item[1];
    else if (item.is_string())
      std::cout << item.get<std::string>();
    else
      std::cout << item;
  }
}

static void printTerm(const char *word, const json &term, const char *of) {
  if (term.is_number_float()) {
    char number[40];
    std::snprintf(number, sizeof number, "%.17g", term.get<double>());
    std::cout << ' ' << word << " number " << number;
  } else if (!term.is_null()) {
    std::cout << ' ' << word << ' ' << of << ' ' << term;
  }
}

static void printStep(const json &step) {
  const std::string &key = step.begin().key();
  const json &value = step.begin().value();
  if (key == "permute") {
    printList("permute", step, "permute");
  } else if (key == "slice" || key == "placed") {
    printList(key.c_str(), value, "begin");
    printList("size", value, "size");
  } else {
    bool bySource = key == "affine-by-source";
    std::cout << ' ' << (bySource ? "affine" : key);
    if (bySource || key == "affine") {
      std::cout << ' ' << (value["axis"].is_null() ? json(-1) : value["axis"]);
      printTerm("scale", value["scale"], bySource ? "source" : "constant");
      printTerm("shift", value["shift"], bySource ? "source" : "constant");
    }
  }
}

static void printTensor(size_t subgraph, const json &row, bool constant) {
  std::cout << "tensor " << subgraph << ':' << row["index"] << " \"" << text(row, "name") << "\" reason "
            << text(row, "reason") << " synthetic " << text(row.value("synthetic", json::object()), "reason") << '\n';
  for (const json &relation : row["relations"]) {
    std::cout << "  is " << relation["tensor"] << (relation["exact"].get<bool>() ? " exact" : "");
    for (const json &step : relation["steps"])
      printStep(step);
    std::cout << '\n';
  }
  json usual = json::array();
  if (!row["relations"].empty())
    usual.push_back(row["relations"][0]["tensor"]);
  if (constant && (row["tensors"] != usual || !row["operators"].empty())) {
    printList("computed from tensors", row, "tensors");
    printList("operators", row, "operators");
    std::cout << '\n';
  }
}

int main(int argc, char **argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  json map = json::parse(file);
  const json &target = map["target"]["subgraphs"], &source = map["source"]["subgraphs"];
  for (size_t g = 0; g < target.size(); ++g)
    for (const json &row : target[g]["operators"]) {
      std::cout << "operator " << g << ':' << row["index"];
      printList("origins", row, "origins");
      printList("passes", row, "passes");
      json synthetic = row.value("synthetic", json::object());
      std::cout << " synthetic " << text(synthetic, "reason");
      printList("serves", synthetic, "serves");
      std::cout << " wide " << text(row, "wide");
      printList("calls", row, "calls");
      std::cout << '\n';
    }
  for (size_t g = 0; g < target.size(); ++g) {
    std::map<uint32_t, std::pair<const json *, bool>> rows; // constants and values are one list in the file
    for (const char *key : {"constants", "values"})
      for (const json &row : target[g][key])
        rows[row["index"].get<uint32_t>()] = {&row, key[0] == 'c'};
    for (const auto &[index, row] : rows)
      printTensor(g, *row.first, row.second);
  }
  for (const json &graph : source)
    for (const json &op : graph["operators"]) {
      std::string name;
      for (const json &output : op["outputs"])
        if (name.empty())
          name = output.get<std::string>();
      std::cout << "source operator " << op["id"] << ' ' << text(op, "op") << ' ' << text(op, "custom_code") << " \""
                << name << "\" scopes \"";
      for (const std::string &scope : origo::origin::scopesOfName(name))
        std::cout << scope << ' ';
      std::cout << '"';
      printList("outputs", op, "tensors");
      printList("operands", op, "operands");
      for (const char *cost : {"macs", "bytes"})
        std::cout << ' ' << cost << ' ' << (op.value(cost, json()).is_null() ? "unknown" : op[cost].dump());
      std::cout << '\n';
    }
  for (const json &graph : source)
    for (const json &tensor : graph["tensors"])
      std::cout << "source tensor " << tensor["id"] << ' ' << text(tensor, "kind") << " \"" << text(tensor, "name")
                << "\"\n";
  for (const json &signature : map["source"].value("signatures", json::array())) {
    std::cout << "signature \"" << text(signature, "key") << "\" subgraph " << signature["subgraph"];
    for (const char *key : {"inputs", "outputs"}) {
      std::cout << ' ' << key;
      for (const json &entry : signature[key])
        std::cout << " \"" << text(entry, "name") << "\" " << entry["tensor"];
    }
    std::cout << '\n';
  }
  for (const json &row : map["ledger"]) {
    bool isTensor = row.contains("tensor");
    json part = row.value("part", json::object());
    std::cout << "gone " << (isTensor ? "tensor " : "operator ") << row[isTensor ? "tensor" : "operator"] << ' '
              << text(row, "fate") << " was " << text(row, "was") << " by " << text(row, "pass") << " run "
              << row["run"] << " rewrite " << row["rewrite"] << " part " << text(part, "file") << ' '
              << text(part, "fingerprint");
    json into = row.value("into", json::object());
    printList("operators", into, "operators");
    printList("tensors", into, "tensors");
    for (const json &item : row.value("unneeded", json::array()))
      std::cout << " unneeded " << item["operator"] << ' ' << item["operand"] << ' ' << text(item, "reason");
    std::cout << '\n';
  }
}
