@testable import LiveUpdates

/// A record in memory, as `livegate map` reads it from a line.
typealias TestRecord = RecordLine

extension RecordLine {
    init(_ value: String?, topic: String = "events", key: String? = nil, headers: [(String, String)] = []) {
        self.init(
            topic: topic, value: value.map { Array($0.utf8) }, key: key.map { Array($0.utf8) },
            headers: headers.map { ($0.0, Array($0.1.utf8)) })
    }

    init(bytes: [UInt8]) { self.init(topic: "events", value: bytes, key: nil, headers: []) }
}

extension EventMapper {
    /// A mapper for settings that are known to be good.
    static func of(_ preset: String?, _ change: (inout EventMapping.Settings) -> Void = { _ in }) throws -> EventMapper
    {
        var settings = EventMapping.Settings(preset: preset)
        change(&settings)
        return EventMapper(try EventMapping(settings))
    }

    /// What comes of a record in short: `account entity/id/type`, or the reason.
    func short(_ record: TestRecord) -> String { map(record).short }

    /// The same for a value by itself.
    func short(_ value: String) -> String { short(TestRecord(value)) }
}

extension MappingOutcome {
    var short: String {
        switch self {
        case .event(let account, let event): "\(account) \(event.entity)/\(event.id)/\(event.type)"
        case .skip(let reason, _): reason.rawValue
        }
    }
}

extension EventMapping.Settings {
    /// The settings as the first line of a file of records has them.
    init(_ json: JSONValue) throws {
        self.init(preset: try json.member("preset")?.string)
        account = try Self.list(json.member("account"))
        entity = try Self.list(json.member("entity"))
        id = try Self.list(json.member("id"))
        type = try Self.list(json.member("type"))
        drop = try Self.list(json.member("drop"))
        rename = try Self.pairs(json.member("rename"))
        types = try Self.pairs(json.member("types"))
    }

    private static func list(_ value: JSONValue?) -> [String] {
        guard let value else { return [] }
        return value.string.map { [$0] } ?? value.elements?.compactMap(\.string) ?? []
    }

    private static func pairs(_ value: JSONValue?) -> [EventMapping.Translation] {
        value?.members?.map { EventMapping.Translation(from: $0.name ?? "", to: $0.value.string ?? "") } ?? []
    }
}
