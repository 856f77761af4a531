/// One label of a metric.
struct MetricLabel: Sendable, ExpressibleByStringLiteral {
    let name: String
    /// The values that it may have; nil: names of topics, numbers, versions.
    let values: [String]?

    init(stringLiteral name: String) {
        self.name = name
        values = nil
    }

    init(_ name: String, _ values: [String]) {
        self.name = name
        self.values = values
    }
}

/// One metric of the node: its name, its meaning, and the source of its values. The scrape, its documentation and its tests read
/// this.
struct MetricRow: Sendable {
    enum Kind: String, Sendable { case counter, gauge, histogram }

    enum Sample: Sendable {
        /// The values of the labels, in the order of their names.
        case number([String], Double)
        case histogram(Histogram)

        static func count(_ labels: String..., is value: some BinaryInteger) -> Sample {
            .number(labels, Double(value))
        }
    }

    let name: String
    let kind: Kind
    let labels: [MetricLabel]
    let help: String
    /// A scrape contains the metric only if there are samples.
    let samples: @Sendable (NodeReport) -> [Sample]

    init(
        _ name: String, _ kind: Kind, _ labels: [MetricLabel] = [], _ help: String,
        _ samples: @escaping @Sendable (NodeReport) -> [Sample]
    ) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
        self.samples = samples
    }

    /// A metric of one label whose values are known. Each value is 0 from the start, so that the first of its kind is a rise that
    /// an alert sees.
    static func by<Number: BinaryInteger & SendableMetatype>(
        _ label: MetricLabel, _ name: String, _ kind: Kind, _ help: String,
        _ counted: @escaping @Sendable (NodeReport) -> [String: Number]?
    ) -> MetricRow {
        MetricRow(name, kind, [label], help) { report in
            guard let counted = counted(report) else { return [] }
            let known = label.values ?? []
            let others = counted.keys.filter { !known.contains($0) }.sorted()
            return (known + others).map { .count($0, is: counted[$0] ?? 0) }
        }
    }

    /// A metric of one number.
    static func one(
        _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (NodeReport) -> Double?
    ) -> MetricRow {
        MetricRow(name, kind, [], help) { report in value(report).map { [.number([], $0)] } ?? [] }
    }
}

/// The text format of Prometheus, version 0.0.4.
enum MetricText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    static func bytes(_ rows: [MetricRow], _ report: NodeReport) -> [UInt8] {
        var text = ""
        for row in rows {
            let samples = row.samples(report)
            guard !samples.isEmpty else { continue }
            text += "# HELP \(row.name) \(row.help)\n# TYPE \(row.name) \(row.kind.rawValue)\n"
            for sample in samples {
                switch sample {
                case .number(let values, let number):
                    text += "\(row.name)\(labels(row.labels.map(\.name), values)) \(self.number(number))\n"
                case .histogram(let histogram): append(histogram, of: row.name, to: &text)
                }
            }
        }
        return Array(text.utf8)
    }

    private static func append(_ histogram: Histogram, of name: String, to text: inout String) {
        var sum: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            sum += count
            let bound = index < Histogram.bounds.count ? number(Double(Histogram.bounds[index]) / 1e6) : "+Inf"
            text += "\(name)_bucket{le=\"\(bound)\"} \(sum)\n"
        }
        text += "\(name)_sum \(number(Double(histogram.sum) / 1e6))\n\(name)_count \(sum)\n"
    }

    private static func labels(_ names: [String], _ values: [String]) -> String {
        guard !names.isEmpty else { return "" }
        let pairs = zip(names, values).map { "\($0)=\"\(escaped($1))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }

    private static func number(_ value: Double) -> String {
        guard let whole = Int64(exactly: value) else { return "\(value)" }
        return "\(whole)"
    }
}
