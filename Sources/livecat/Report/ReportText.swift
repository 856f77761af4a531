import LiveState
import Options

/// The report for a terminal: curves made of characters that every terminal has.
struct ReportText {
    /// Rows of the curve of shares.
    static let shareRows = 10
    /// The width left of a curve, for a number and an axis.
    static let margin = 10
    /// How many screens the table shows; the others are summed up in its last row.
    static let maximumScreens = 20
    static let maximumNameCharacters = 24

    let report: RefreshReport
    /// The terminal's width; at least 40 columns are used.
    let columns: Int

    var text: String {
        guard let range = report.range else { return "nothing was counted\n" }
        let days = report.columns(atMost: max(40, columns) - Self.margin - 1)
        var lines = ["Refreshes that people asked for, in % of all"]
        lines += shareCurve(days.map { $0?.manualShare })
        lines += axis(days.count, range)
        if report.total.latency.contains(where: { $0 > 0 }) {
            lines += ["", "From an event to the screen: o half of them, * 95 %"]
            lines += latencyCurve(days)
            lines += axis(days.count, range)
        }
        lines += [""] + table()
        return lines.joined(separator: "\n") + "\n"
    }

    /// The top of the curve's scale: the lowest of these values that no share exceeds.
    static func top(_ shares: [Double?]) -> Double {
        let highest = shares.compactMap { $0 }.max() ?? 0
        return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].first { highest <= $0 } ?? 1
    }

    private func shareCurve(_ shares: [Double?]) -> [String] {
        let top = Self.top(shares)
        let rows = shares.map { share in share.map { Int(($0 / top * Double(Self.shareRows)).rounded()) } }
        return (0...Self.shareRows).reversed().map { row in
            let label = row % 5 == 0 ? Self.percent(top * Double(row) / Double(Self.shareRows)) : ""
            return line(label, rows.map { $0 == row ? "*" : " " })
        }
    }

    private func latencyCurve(_ days: [RefreshCount?]) -> [String] {
        let half = days.map { $0?.latencyBin(0.5) }
        let most = days.map { $0?.latencyBin(0.95) }
        return (0...RefreshCount.latencyEnds.count).reversed().map { bin in
            line(
                RefreshCount.latencyText(bin), days.indices.map { half[$0] == bin ? "o" : most[$0] == bin ? "*" : " " })
        }
    }

    private func line(_ label: String, _ marks: [String]) -> String {
        let marks = marks.joined()
        return (Self.right(label, Self.margin - 2) + " |" + marks).trimmingEnd
    }

    private func axis(_ width: Int, _ range: (first: String, last: String)) -> [String] {
        let space = String(repeating: " ", count: Self.margin)
        let gap = width - range.first.count - range.last.count
        let isOne = range.first == range.last
        let under = isOne ? range.first : range.first + String(repeating: " ", count: max(1, gap)) + range.last
        return [
            String(repeating: " ", count: Self.margin - 1) + "+" + String(repeating: "-", count: width), space + under,
        ]
    }

    private func table() -> [String] {
        var rows = [["Screen", "refreshes", "manual", "half", "95 %", "fetches", "saved"]]
        let screens = report.screensByUse
        rows += screens.prefix(Self.maximumScreens).map { Self.row($0.screen.printable, $0) }
        if screens.count > Self.maximumScreens {
            var rest = RefreshCount(day: "", screen: "")
            for screen in screens.dropFirst(Self.maximumScreens) { rest.add(screen) }
            rows.append(Self.row("\(screens.count - Self.maximumScreens) more", rest))
        }
        if screens.count > 1 { rows.append(Self.row("all", report.total)) }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let first = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
            return ([first] + row.indices.dropFirst().map { Self.right(row[$0], widths[$0]) }).joined(separator: "  ")
        }
    }

    private static func row(_ name: String, _ count: RefreshCount) -> [String] {
        let isLong = name.count > maximumNameCharacters
        return [
            isLong ? name.prefix(maximumNameCharacters - 1) + "…" : name, String(count.manual + count.automatic),
            count.manualShare.map(percent) ?? "-", RefreshCount.latencyText(count.latencyBin(0.5)),
            RefreshCount.latencyText(count.latencyBin(0.95)), String(count.made),
            count.savedShare.map(percent) ?? "-",
        ]
    }

    /// `7.5 %`: with one decimal below ten, if it is not zero.
    static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1_000).rounded())
        return tenths < 100 && tenths % 10 != 0 ? "\(tenths / 10).\(tenths % 10) %" : "\((tenths + 5) / 10) %"
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

extension String {
    fileprivate var trimmingEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
