/* Lets Arm NN profile a .tflite model on its back end CpuRef, and say which layer each workload executes.
   usage: armnn MODEL RUNS OUT.json OUT.dot      exit status 3: it does not take the model */
#include <armnn/ArmNN.hpp>
#include <armnn/IProfiler.hpp>
#include <armnnTfLiteParser/ITfLiteParser.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static int profile(char **argv) {
  auto parser = armnnTfLiteParser::ITfLiteParser::Create();
  armnn::INetworkPtr network = parser->CreateNetworkFromBinaryFile(argv[1]);
  armnn::IRuntimePtr runtime = armnn::IRuntime::Create({});
  auto optimised = armnn::Optimize(*network, {armnn::Compute::CpuRef}, runtime->GetDeviceSpec());
  if (!optimised)
    return 3;
  std::ofstream dot(argv[4]);
  if (optimised->SerializeToDot(dot) != armnn::Status::Success)
    return 1;
  armnn::NetworkId id = 0;
  if (runtime->LoadNetwork(id, std::move(optimised)) != armnn::Status::Success)
    return 3;
  auto profiler = runtime->GetProfiler(id);
  profiler->EnableProfiling(true);
  std::vector<std::vector<float>> memory;
  armnn::InputTensors inputs;
  armnn::OutputTensors outputs;
  auto room = [&](const armnn::TensorInfo &info) { // enough for elements of any type, all of it 0 or a small number
    memory.emplace_back(info.GetNumElements() + 1);
    if (info.GetDataType() == armnn::DataType::Float32)
      for (size_t i = 0; i < memory.back().size(); ++i)
        memory.back()[i] = std::sin(12.9898f * float(i));
    return memory.back().data();
  };
  for (const std::string &name : parser->GetSubgraphInputTensorNames(0)) {
    auto binding = parser->GetNetworkInputBindingInfo(0, name);
    inputs.push_back({binding.first, armnn::ConstTensor(binding.second, room(binding.second))});
  }
  for (const std::string &name : parser->GetSubgraphOutputTensorNames(0)) {
    auto binding = parser->GetNetworkOutputBindingInfo(0, name);
    outputs.push_back({binding.first, armnn::Tensor(binding.second, room(binding.second))});
  }
  for (int i = 0; i < std::stoi(argv[2]); ++i)
    if (runtime->EnqueueWorkload(id, inputs, outputs) != armnn::Status::Success)
      return 3;
  std::ofstream file(argv[3]);
  profiler->Print(file);
  return file && dot ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 1;
  try {
    return profile(argv);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
}
