// Tests: PresetSample.swift

import LiveUpdates
import Testing

@Suite struct PresetSampleTests {
    @Test(arguments: Preset.allCases) func `the sample of a preset is an event of its account`(preset: Preset) throws {
        let sample = preset.sample
        let record = TestRecord(
            sample.value, topic: sample.topic, key: sample.key, headers: sample.headers.map { ($0.name, $0.value) })
        let entity = preset == .debezium || preset == .debeziumFlat ? "incidents" : "incident"
        let short = try EventMapper.of(preset.rawValue).short(record)
        #expect(short.hasPrefix("PACC1 \(entity)/PINC1/"), "\(preset): \(short)")
    }
}
