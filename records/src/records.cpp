#include "gpucast/records/records.h"

#include "checked.h"

namespace gpucast::records {

namespace {

using Json = nlohmann::ordered_json;

// Adds a field where it is set, as `checked` passes it.
template <class Value, class Checked>
void add(Json& json, const char* field, const std::optional<Value>& value, Checked checked) {
  if (value) json[field] = checked(field, *value);
}

std::int64_t at_least_one(std::string_view field, std::int64_t value) {
  return count(field, value);
}

std::int64_t at_least_zero(std::string_view field, std::int64_t value) {
  return count(field, value, 0);
}

bool flag(std::string_view /*field*/, bool value) { return value; }

void add_object(Json& json, const char* field, const Json& value) {
  if (value.is_null()) return;
  require_object(field, value);
  json[field] = value;
}

template <class Word>
std::string_view word(std::string_view /*field*/, Word value) {
  return name(value);
}

template <class Values, class Make>
Json list(const Values& values, Make make) {
  Json json = Json::array();
  for (const auto& value : values)
    json.push_back(make(value));
  return json;
}

Json gpu_json(const Gpu& gpu) {
  Json json;
  json["name"] = label("gpus.name", gpu.name);
  add(json, "sms", gpu.sms, at_least_one);
  add(json, "cores", gpu.cores, at_least_one);
  add(json, "clock_hz", gpu.clock_hz, positive);
  add(json, "memory_bytes", gpu.memory_bytes, at_least_one);
  add(json, "max_threads_per_sm", gpu.max_threads_per_sm, at_least_one);
  add(json, "pci", gpu.pci, prose);
  if (!gpu.links.is_null()) {
    require_array("gpus.links", gpu.links);
    json["links"] = gpu.links;
  }
  return json;
}

Json tool_json(const Tool& tool) {
  Json json;
  json["name"] = label("tool.name", tool.name);
  add(json, "version", tool.version, prose);
  return json;
}

Json copy_json(const Copy& copy) {
  Json json{{"from", label("concurrent.from", copy.from)}, {"to", label("concurrent.to", copy.to)}};
  add(json, "bytes", copy.bytes, at_least_one);
  return json;
}

// A list for each phase, with an entry for each step.
Json phases_json(const std::vector<Phases>& steps) {
  const auto seconds = [&](const char* name, double Phases::* phase) {
    return list(steps, [&](const Phases& step) { return not_negative(name, step.*phase); });
  };
  return {{"h2d", seconds("h2d", &Phases::h2d)},
          {"kernel", seconds("kernel", &Phases::kernel)},
          {"d2h", seconds("d2h", &Phases::d2h)},
          {"cpu", seconds("cpu", &Phases::cpu)},
          {"exchange", seconds("exchange", &Phases::exchange)}};
}

Json bytes_json(const StepBytes& bytes) {
  return {{"h2d", count("bytes.h2d", bytes.h2d, 0)},
          {"d2h", count("bytes.d2h", bytes.d2h, 0)},
          {"exchange", count("bytes.exchange", bytes.exchange, 0)}};
}

// The samples stand last but for what is long, too: lines stay readable.
void add_measured(Json& json, const Measurement& measured) {
  json["seconds"] = samples("seconds", measured.seconds);
  add(json, "uncertainty", measured.uncertainty, not_negative);
  if (measured.run_to_run) {
    json["run_to_run"] = {{"sd", not_negative("run_to_run.sd", measured.run_to_run->sd)},
                          {"runs", count("run_to_run.runs", measured.run_to_run->runs, 2)}};
  }
  add(json, "cold", measured.cold, flag);
  add(json, "caveat", measured.caveat, prose);
}

template <class Record>
Json begin(schema::RecordKind kind, const Record& record) {
  Json json{{"kind", name(kind)}, {"machine", label("machine", record.machine)}};
  if constexpr (requires { record.path; }) json["path"] = label("path", record.path);
  return json;
}

}  // namespace

Json to_json(const Machine& machine) {
  Json json{{"kind", name(schema::RecordKind::machine)}, {"id", label("id", machine.id)}};
  add(json, "host", machine.host, label);
  add(json, "cpu", machine.cpu, label);
  add(json, "cpu_cores", machine.cpu_cores, at_least_one);
  if (machine.gpus) json["gpus"] = list(*machine.gpus, gpu_json);
  add(json, "driver", machine.driver, prose);
  add(json, "runtime", machine.runtime, prose);
  add(json, "transport", machine.transport, label);
  add_object(json, "topology", machine.topology);
  if (machine.tool) json["tool"] = tool_json(*machine.tool);
  add(json, "started", machine.started, label);
  if (machine.command) json["command"] = *machine.command;
  add(json, "source", machine.source, prose);
  if (machine.caveats) {
    json["caveats"] =
        list(*machine.caveats, [](const std::string& caveat) { return prose("caveats", caveat); });
  }
  require_finite("machine", json);
  return json;
}

Json to_json(const Transfer& transfer) {
  Json json = begin(schema::RecordKind::transfer, transfer);
  json["memory"] = name(transfer.memory);
  json["engine"] = name(transfer.engine);
  json["route"] = name(transfer.route);
  json["from"] = label("from", transfer.from);
  json["to"] = label("to", transfer.to);
  json["bytes"] = count("bytes", transfer.bytes);
  json["concurrent"] = list(transfer.concurrent, copy_json);
  add(json, "method", transfer.method, word<TransferMethod>);
  add(json, "issuer", transfer.issuer, label);
  json["valid"] = transfer.valid;
  add_measured(json, transfer);
  return json;
}

Json to_json(const Launch& launch) {
  Json json = begin(schema::RecordKind::launch, launch);
  json["method"] = name(launch.method);
  json["count"] = count("count", launch.count);
  add(json, "arguments", launch.arguments, at_least_zero);
  add_measured(json, launch);
  return json;
}

Json to_json(const Step& step) {
  Json json = begin(schema::RecordKind::step, step);
  add(json, "schedule", step.schedule, word<Schedule>);
  add(json, "kernel", step.kernel, label);
  add(json, "program", step.program, label);
  add(json, "case", step.case_name, label);
  json["n"] = count("n", step.n);
  add(json, "unit", step.unit, label);
  json["gpus"] = count("gpus", step.gpus);
  add(json, "block", step.block, at_least_one);
  add(json, "memory", step.memory, word<Memory>);
  add(json, "graph", step.graph, flag);
  add(json, "boundary", step.boundary, label);
  if (step.bytes) json["bytes"] = bytes_json(*step.bytes);
  add(json, "energy_drift", step.energy_drift, finite);
  add_measured(json, step);
  if (!step.phases.empty()) json["phases"] = phases_json(step.phases);
  return json;
}

Json to_json(const Overlap& overlap) {
  Json json = begin(schema::RecordKind::overlap, overlap);
  json["memory"] = name(overlap.memory);
  json["device"] = label("device", overlap.device);
  json["bytes"] = count("bytes", overlap.bytes);
  json["parts"] = list(overlap.parts, schema::name<OverlapPart>);
  if (overlap.parts.empty()) throw std::invalid_argument("parts: is empty");
  add_measured(json, overlap);
  return json;
}

Json to_json(const Skeleton& skeleton) {
  Json json = begin(schema::RecordKind::skeleton, skeleton);
  json["schedule"] = name(skeleton.schedule);
  json["memory"] = name(skeleton.memory);
  json["gpus"] = count("gpus", skeleton.gpus);
  json["h2d_bytes"] = count("h2d_bytes", skeleton.h2d_bytes);
  json["d2h_bytes"] = count("d2h_bytes", skeleton.d2h_bytes);
  json["busy"] = positive("busy", skeleton.busy);
  json["kernel_seconds"] = positive("kernel_seconds", skeleton.kernel_seconds);
  add_measured(json, skeleton);
  return json;
}

Json to_json(const HostMemory& host_memory) {
  Json json = begin(schema::RecordKind::host_memory, host_memory);
  json["memory"] = name(host_memory.memory);
  json["pattern"] = label("pattern", host_memory.pattern);
  json["runner"] = label("runner", host_memory.runner);
  json["phase"] = label("phase", host_memory.phase);
  add(json, "bytes", host_memory.bytes, at_least_one);
  add_measured(json, host_memory);
  return json;
}

Json to_json(const Note& note) {
  Json json;
  json["kind"] = name(schema::RecordKind::note);
  add(json, "machine", note.machine, label);
  add(json, "path", note.path, label);
  json["text"] = prose("text", note.text);
  add_object(json, "about", note.about);
  require_finite("note", json);
  return json;
}

}  // namespace gpucast::records
