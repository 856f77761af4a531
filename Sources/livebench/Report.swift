/// The measurements as a table for people and as JSON for programs.
struct Report {
    /// The cost of a send and a receive over loopback on this machine, in µs, before and after the runs. It is the unit for
    /// comparing figures of different machines.
    let calibration: (before: Double, after: Double)
    let measurements: [Measurement]

    private static let heads = [
        "scenario", "conns", "shakes/s", "µs/shake", "B/conn", "deliv/s", "µs/deliv", "p50 ms", "p99 ms", "p99.9",
        "complete",
    ]

    var table: String {
        let rows = [Self.heads] + measurements.map(cells)
        let widths = Self.heads.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var text = "loopback send and receive: \(number(calibration.before, 2)) µs before, "
        text += "\(number(calibration.after, 2)) µs after\n"
        for row in rows {
            for (column, cell) in row.enumerated() {
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                text += column == 0 ? cell + blanks : "  " + blanks + cell
            }
            text += "\n"
        }
        for measurement in measurements {
            text += remarks(measurement)
            for (reason, count) in measurement.failures.sorted(by: { $0.key < $1.key }) {
                text += "\(measurement.scenario.name): \(count) × \(reason)\n"
            }
        }
        for comparison in Comparison.all(measurements) {
            for (what, _, ratio) in comparison.ratios {
                text += "\(comparison.name): \(comparison.beside.text) \(number(ratio, 3)) times \(what)\n"
            }
        }
        return text
    }

    /// Results without a column.
    private func remarks(_ measurement: Measurement) -> String {
        let name = measurement.scenario.name
        var text = ""
        if let percent = measurement.idlePercent {
            text += "\(name): \(number(percent, 2)) % of a core for pings and their answers\n"
        }
        if let outcome = measurement.stopping {
            text += "\(name): p99 of those who read \(number(outcome.before, 1)) ms before, "
            text += "\(number(outcome.filling, 1)) ms while buffers of those who stopped filled, "
            text += "\(number(outcome.stopped, 1)) ms after that; they cost "
            text += "\(number(outcome.bytesEach, 0)) bytes each at most; \(outcome.complete) ended complete, "
            text += "\(outcome.resynced) with a resync, \(outcome.broken) with neither\n"
        }
        if let outcome = measurement.returning {
            for (notice, when) in [(outcome.calm, "before"), (outcome.storm, "while the others came")] {
                for (waits, what) in [(notice.turns, "a turn"), (notice.events, "an event")] {
                    text += "\(name): those connected waited for \(what) \(number(waits.median, 1)) ms (p50), "
                    text += "\(number(waits.p99, 1)) ms (p99), \(number(waits.most, 1)) ms at most \(when)\n"
                }
            }
            text += comparison(measurement, outcome)
        }
        if let outcome = measurement.hostile {
            for (calm, hostile, what) in [
                (outcome.calm.turns, outcome.hostile.turns, "a turn"),
                (outcome.calm.events, outcome.hostile.events, "an event"),
            ] {
                text += "\(name): those who behave waited for \(what) \(number(calm.p99, 2)) ms (p99) without and "
                text += "\(number(hostile.p99, 2)) ms with \(outcome.peers) hostile peers: "
                text += "\(number(hostile.p99 / max(calm.p99, 0.001), 2)) times\n"
            }
            let growth = number(Double(outcome.growthBytes) / 1_048_576, 1)
            text += "\(name): the gateway grew by \(growth) MiB at most, and ended one of them \(outcome.ends) times\n"
        }
        return text
    }

    /// Clients that resumed compared with those that could not, in the same run.
    private func comparison(_ measurement: Measurement, _ outcome: ReturningOutcome) -> String {
        guard outcome.resumed > 0, let full = measurements.first(where: { $0.returning?.resumed == 0 }) else {
            return ""
        }
        let cpu = measurement.cpuPerHandshake / max(full.cpuPerHandshake, 0.001)
        let time = outcome.milliseconds / max(full.returning?.milliseconds ?? 0, 0.001)
        let name = measurement.scenario.name
        return "\(name): \(outcome.resumed) resumed their session: each cost \(number(cpu, 2)) times the CPU of those "
            + "who could not, and all were back in \(number(time, 2)) times their time\n"
    }

    private func cells(_ measurement: Measurement) -> [String] {
        [
            measurement.scenario.name, "\(measurement.opened)", number(measurement.handshakesPerSecond, 0),
            number(measurement.cpuPerHandshake, 0), number(measurement.bytesPerConnection, 0),
            measurement.deliveriesPerSecond.map { number($0, 0) } ?? "",
            measurement.cpuPerDelivery.map { number($0, 2) } ?? "",
        ] + (0..<3).map { $0 < measurement.latencies.count ? number(measurement.latencies[$0], 1) : "" }
            + [measurement.isComplete ? "yes" : "no"]
    }

    var json: String {
        var rows: [String] = []
        for measurement in measurements {
            var fields = [
                "\"scenario\":\"\(measurement.scenario.name)\"", "\"connections\":\(measurement.opened)",
                "\"tls\":\(measurement.scenario.isSecure)",
                "\"handshakes_per_second\":\(number(measurement.handshakesPerSecond, 1))",
                "\"cpu_us_per_handshake\":\(number(measurement.cpuPerHandshake, 2))",
                "\"bytes_per_connection\":\(number(measurement.bytesPerConnection, 0))",
                "\"received\":\(measurement.received)", "\"complete\":\(measurement.isComplete)",
            ]
            if let rate = measurement.deliveriesPerSecond {
                fields.append("\"deliveries_per_second\":\(number(rate, 1))")
            }
            if let cpu = measurement.cpuPerDelivery { fields.append("\"cpu_us_per_delivery\":\(number(cpu, 3))") }
            if let percent = measurement.idlePercent { fields.append("\"cpu_percent_idle\":\(number(percent, 3))") }
            if let outcome = measurement.stopping {
                fields += [
                    "\"p99_ms_before\":\(number(outcome.before, 3))",
                    "\"p99_ms_filling\":\(number(outcome.filling, 3))",
                    "\"p99_ms_stopped\":\(number(outcome.stopped, 3))",
                    "\"bytes_each_stopped\":\(number(outcome.bytesEach, 0))", "\"ended_complete\":\(outcome.complete)",
                    "\"ended_with_resync\":\(outcome.resynced)", "\"ended_broken\":\(outcome.broken)",
                ]
            }
            if let outcome = measurement.returning {
                fields += ["\"resumed\":\(outcome.resumed)", "\"back_ms\":\(number(outcome.milliseconds, 1))"]
                for (waits, name) in [
                    (outcome.calm.turns, "turn_calm"), (outcome.storm.turns, "turn_storm"),
                    (outcome.calm.events, "event_calm"), (outcome.storm.events, "event_storm"),
                ] {
                    fields += [
                        "\"p50_ms_\(name)\":\(number(waits.median, 3))", "\"p99_ms_\(name)\":\(number(waits.p99, 3))",
                        "\"max_ms_\(name)\":\(number(waits.most, 3))",
                    ]
                }
            }
            if let outcome = measurement.hostile {
                for (waits, name) in [
                    (outcome.calm.turns, "turn_calm"), (outcome.hostile.turns, "turn_hostile"),
                    (outcome.calm.events, "event_calm"), (outcome.hostile.events, "event_hostile"),
                ] { fields.append("\"p99_ms_\(name)\":\(number(waits.p99, 3))") }
                fields += ["\"growth_bytes\":\(outcome.growthBytes)", "\"ends\":\(outcome.ends)"]
            }
            for (name, value) in zip(["p50", "p99", "p99_9"], measurement.latencies) {
                fields.append("\"latency_ms_\(name)\":\(number(value, 3))")
            }
            rows.append("{" + fields.joined(separator: ",") + "}")
        }
        let comparisons = Comparison.all(measurements)
        let lists = Beside.allCases.map { beside in
            let rows = comparisons.filter { $0.beside == beside }.map { comparison in
                let ratios = comparison.ratios.map { ",\"\($0.key)\":\(number($0.ratio, 4))" }.joined()
                return "{\"scenario\":\"\(comparison.name)\"\(ratios)}"
            }
            return rows.isEmpty ? "" : ",\"\(beside.key)\":[\(rows.joined(separator: ","))]"
        }
        let loopback = "[\(number(calibration.before, 3)),\(number(calibration.after, 3))]"
        return "{\"loopback_us\":\(loopback),\"scenarios\":[" + rows.joined(separator: ",") + "]\(lists.joined())}\n"
    }

    /// The number of digits after the point.
    private func number(_ value: Double, _ digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int64((value * scale).rounded())
        guard digits > 0 else { return "\(scaled)" }
        let (whole, rest) = abs(scaled).quotientAndRemainder(dividingBy: Int64(scale))
        let zeros = String(repeating: "0", count: digits - "\(rest)".count)
        return "\(scaled < 0 ? "-" : "")\(whole).\(zeros)\(rest)"
    }
}
