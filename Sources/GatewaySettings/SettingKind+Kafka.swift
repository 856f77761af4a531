import Options

/// A property of librdkafka, as the operator gave it.
package struct KafkaProperty: Equatable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the value is the name of a file, or of a folder of authorities.
    package static func isPath(_ name: String) -> Bool {
        name.hasPrefix("ssl.") && name.hasSuffix(".location")
    }
}

extension SettingKind where Value == String {
    /// Brokers, separated by commas. The text between the commas is checked here, since librdkafka would accept anything as a
    /// name.
    static var brokers: Self {
        .text("one text with brokers, HOST:PORT, several by comma") { text in
            for broker in text.split(separator: ",", omittingEmptySubsequences: false) {
                let name = broker.drop { $0 == " " }
                if let problem = brokerProblem(name) { return problem }
            }
            return nil
        }
    }

    private static func brokerProblem(_ broker: Substring) -> String? {
        if broker.isEmpty { return "names no broker between two commas or at its end" }
        guard broker.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return "holds what no broker's name holds" }
        // librdkafka also accepts PROTOCOL://HOST:PORT.
        let rest = broker.split(separator: "://", maxSplits: 1).last ?? broker
        // An IPv6 address is in brackets. Its colons do not separate a port.
        let afterHost = rest.first == "[" ? rest.drop { $0 != "]" }.dropFirst() : rest.drop { $0 != ":" }
        if rest.first == "[", !rest.contains("]") { return "lacks the closing bracket of an IPv6 address" }
        if rest.first == ":" { return "has a port without a host" }
        guard !afterHost.isEmpty else { return nil }
        guard afterHost.first == ":", let port = Quantity.wholeNumber(String(afterHost.dropFirst())),
            (1...65_535).contains(port)
        else { return "has a port that is not a number from 1 to 65535" }
        return nil
    }

    /// A topic's name as Kafka allows it. What begins with `^` would be a pattern for librdkafka.
    static var topic: Self {
        .text("a topic") { text in
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
            // Kafka's own limit, from the names of its files.
            let maximumBytes = 249
            guard isName, (1...maximumBytes).contains(text.utf8.count), text != ".", text != ".." else {
                return "is not the name of a topic: 1 to \(maximumBytes) letters, digits, '.', '_' and '-' are expected"
            }
            return nil
        }
    }
}

extension SettingKind where Value == String? {
    /// A topic, or nil where there is none.
    static var topicOrNone: Self {
        let topic = SettingKind<String>.topic
        return Self(topic.expected) { element, reading in
            if case .text("", _) = element.content { return .some(nil) }
            return topic.read(element, &reading).map { .some($0) }
        }
    }
}

extension SettingKind where Value == [KafkaProperty] {
    /// Properties of librdkafka. No value is ever shown: it may be a password.
    static var kafkaProperties: Self {
        let expected = "a map of librdkafka's properties, {name: value}"
        return Self(expected, .structured) { element, reading in
            guard let entries = reading.map(element, expected: expected) else { return nil }
            var properties: [KafkaProperty] = []
            for entry in entries {
                let value = reading.part(".\(entry.key)", entry.value) { element, reading in
                    reading.scalar(element, expected: "a value for librdkafka")
                }
                guard let value else { continue }
                let isPath = KafkaProperty.isPath(entry.key) && value != "probe"
                properties.append(KafkaProperty(name: entry.key, value: isPath ? reading.located(value) : value))
            }
            return properties
        }
    }

    /// Properties of librdkafka with the names of files that hold their values.
    static var kafkaFiles: Self {
        let expected = "a map of librdkafka's properties and files, {sasl.password: FILE}"
        return Self(expected, .structured) { element, reading in
            guard let entries = reading.map(element, expected: expected) else { return nil }
            return entries.compactMap { entry in
                let path = reading.part(".\(entry.key)", entry.value) { element, reading -> String? in
                    guard let path = reading.scalar(element, expected: "the name of a file") else { return nil }
                    guard !path.isEmpty else {
                        reading.refuse(element, "is empty: the name of a file is expected")
                        return nil
                    }
                    return path
                }
                return path.map { KafkaProperty(name: entry.key, value: reading.located($0)) }
            }
        }
    }
}
