import Glibc
import LiveUpdates
import Logging
import Options
import Reactor
import YAML

/// What came of reading settings.
package struct SettingsOutcome: Sendable {
    /// Nil when something is wrong.
    package let settings: Settings?
    /// All that is wrong, and warnings, in the order in which one reads: the file from above, variables, flags.
    package let problems: [SettingsProblem]

    init(settings: Settings?, problems: [SettingsProblem]) {
        let isRefused = problems.contains { !$0.isWarning }
        self.settings = isRefused ? nil : settings
        self.problems = problems.inReadingOrder
    }
}

extension [SettingsProblem] {
    /// The file from above, other files, variables, flags; each problem once.
    package var inReadingOrder: [SettingsProblem] {
        var told = Set<SettingsProblem>()
        return filter { told.insert($0).inserted }.enumerated()
            .sorted { ($0.element.place.rank, $0.offset) < ($1.element.place.rank, $1.offset) }.map(\.element)
    }
}

extension SettingsPlace {
    fileprivate var rank: Int {
        switch origin {
        case .file: line ?? 1 << 30
        case .otherFile: (1 << 31) + (line ?? 0)
        case .variable: 1 << 40
        case .flag: 1 << 41
        }
    }
}

/// A flag of the command line that says a setting.
package struct SettingsFlag: Sendable {
    let row: SettingRow
    let words: [String]

    /// - Parameters:
    ///   - row: a row with a flag.
    ///   - words: the flag's values in their order; for a setting that is a list each of them can hold several by comma.
    package init(_ row: SettingRow, words: [String]) {
        self.row = row
        self.words = words
    }

    var layer: SettingsLayer? {
        guard let flag = row.flag, !words.isEmpty else { return nil }
        let isList = row.shape == .list
        let parts = isList ? words.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) } : []
        return SettingsLayer(.flag(flag.name), row, words: isList ? parts.map { String($0.trimmingBlanks) } : words)
    }
}

extension Settings {
    /// Reads the settings: flags above the environment above the file above what holds where nobody says anything.
    ///
    /// Opens the settings file and no other; `SettingsCheck` looks at what the settings name.
    package static func load(
        file: String, environment: SettingsEnvironment = .ofProcess(), flags: [SettingsFlag] = []
    ) -> SettingsOutcome {
        let bytes: [UInt8]
        do throws(BoundedFile.Unreadable) {
            bytes = try BoundedFile.read(file, maximumBytes: YAMLDocument.maximumBytes)
        } catch {
            let problem = SettingsProblem(SettingsPlace(.file(file)), key: "", "cannot be read: \(error.reason)")
            return SettingsOutcome(settings: nil, problems: [problem] + environment.warnings)
        }
        return load(text: bytes, file: file, environment: environment, flags: flags)
    }

    /// Reads settings whose file is in memory. `file` is its name, for problems and relative paths.
    package static func load(
        text: [UInt8], file: String, environment: SettingsEnvironment = SettingsEnvironment([]),
        flags: [SettingsFlag] = []
    ) -> SettingsOutcome {
        let layers = flags.compactMap(\.layer) + environment.layers + [SettingsLayer(file: file, text)]
        var resolution = SettingsResolution(layers, folder: Self.folder(of: file))
        let settings = Settings(&resolution, environment, file: SettingsPlace(.file(file)))
        return SettingsOutcome(settings: settings, problems: resolution.problems + environment.warnings)
    }

    /// With a slash at its end; empty for the process's own.
    private static func folder(of file: String) -> String {
        file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(file[...$0]) } ?? ""
    }
}

extension Settings {
    fileprivate init?(
        _ resolution: inout SettingsResolution, _ environment: SettingsEnvironment, file: SettingsPlace
    ) {
        typealias Table = SettingsTable
        listen = resolution.value(Table.listen)
        admin = resolution.value(Table.admin)
        loops = resolution.value(Table.loops)
        let certificate = ServerCertificate(
            certificate: resolution.value(Table.certificate), key: resolution.value(Table.key))
        tls = certificate.certificate.isEmpty && certificate.key.isEmpty ? nil : certificate
        kafka = Kafka(
            brokers: resolution.value(Table.brokers), topics: resolution.value(Table.topics),
            settings: Self.kafkaProperties(&resolution, environment))
        let mapping = Self.mapping(&resolution, file)
        let tokens = resolution.value(Table.tokens)
        auth = Auth(
            jwt: resolution.value(Table.jwt), tokens: tokens.isEmpty ? nil : tokens,
            anonymous: resolution.value(Table.anonymous))
        websocket = WebSocket(deflate: resolution.value(Table.deflate))
        history = History(
            retention: resolution.value(Table.retention),
            maximumEventsPerAccount: resolution.value(Table.maxEventsPerAccount),
            maximumLogBytes: resolution.value(Table.maxLogBytes),
            maximumTimestampDelay: resolution.value(Table.maxTimestampDelay), epoch: resolution.value(Table.epoch))
        limits = Limits(
            maximumHeaderBytes: resolution.value(Table.maxHeaderBytes),
            maximumHeaders: resolution.value(Table.maxHeaders),
            handshakeTimeout: resolution.value(Table.handshakeTimeout),
            maximumMessageBytes: resolution.value(Table.maxMessageBytes),
            maximumFragments: resolution.value(Table.maxFragments),
            maximumControlFramesPerSecond: resolution.value(Table.maxControlFramesPerSecond),
            maximumPendingBytes: resolution.value(Table.maxPendingBytes),
            brokerGrace: resolution.value(Table.brokerGrace), maximumLag: resolution.value(Table.maxLag),
            pingInterval: resolution.value(Table.pingInterval), pongTimeout: resolution.value(Table.pongTimeout),
            maximumWait: resolution.value(Table.maxWait), maximumSyncEvents: resolution.value(Table.maxSyncEvents),
            changedInterval: resolution.value(Table.changedInterval))
        let formats: [String: LogFormat] = ["text": .text, "json": .json]
        log = Log(
            level: LogLevel(name: resolution.value(Table.logLevel)) ?? .info,
            format: formats[resolution.value(Table.logFormat)])
        guard let mapping else { return nil }
        events = mapping
        places = resolution.places
        SettingsConsistency(settings: self, file: file).problems(&resolution)
    }

    /// The map, with single variables over it: they hide an entry of the same name, even a bad one.
    private static func kafkaProperties(
        _ resolution: inout SettingsResolution, _ environment: SettingsEnvironment
    ) -> [KafkaProperty] {
        let single = environment.kafkaProperties
        var properties = resolution.value(SettingsTable.kafkaSettings) { element in
            guard case .map(let entries) = element.content else { return element }
            return YAMLElement(
                line: element.line, .map(entries.filter { entry in !single.contains { $0.name == entry.key } }))
        }
        for property in single {
            let element = YAMLElement(
                line: 1,
                .map([
                    YAMLEntry(key: property.name, line: 1, value: YAMLElement(line: 1, .text(property.value, .untyped)))
                ]
                ))
            properties +=
                resolution.part(
                    SettingsTable.kafkaSettings.row.path, .variable(property.variable), element,
                    SettingsTable.kafkaSettings.kind.read) ?? []
        }
        return properties
    }

    /// The mapping, or nil after its problems were told. A bad part is told and set aside, so that the next one is seen.
    private static func mapping(_ resolution: inout SettingsResolution, _ file: SettingsPlace) -> EventMapping? {
        typealias Table = SettingsTable
        var events = EventMapping.Settings()
        let preset = resolution.value(Table.preset)
        events.preset = preset.isEmpty ? nil : preset
        events.account = resolution.value(Table.account)
        events.entity = resolution.value(Table.entity)
        events.id = resolution.value(Table.id)
        events.type = resolution.value(Table.type)
        events.rename = resolution.value(Table.rename)
        events.drop = resolution.value(Table.drop)
        events.types = resolution.value(Table.types)
        guard resolution.isSound("events") else { return nil }
        var isSound = true
        // Each round sets one of the eight keys aside.
        for _ in 0..<9 {
            do throws(MappingError) {
                let mapping = try EventMapping(events)
                return isSound ? mapping : nil
            } catch {
                isSound = false
                let place = resolution.places[error.key] ?? file
                resolution.tell(SettingsProblem(place, key: error.key, error.text))
                events.setAside(error.key)
            }
        }
        return nil
    }
}

extension MappingError {
    /// The description without the key before it.
    fileprivate var text: String {
        let words = "\(self)"
        return words.hasPrefix(key + ": ") ? String(words.dropFirst(key.count + 2)) : words
    }
}

extension EventMapping.Settings {
    fileprivate mutating func setAside(_ key: String) {
        let harmless = ["key"]
        switch key.split(separator: ".").dropFirst().first {
        case "preset": preset = "rails"
        case "account": account = harmless
        case "entity": entity = harmless
        case "id": id = harmless
        case "type": type = harmless
        case "rename": rename = []
        case "drop": drop = []
        default: types = []
        }
    }
}
