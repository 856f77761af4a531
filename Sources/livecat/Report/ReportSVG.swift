import LiveState
import Options

/// The report as a picture: the curves of `ReportText`, for a page or a mail. It contains nothing to fetch or to run.
struct ReportSVG {
    static let width = 800
    static let height = 480
    /// The area of a curve, without its labels.
    static let left = 80
    static let plotWidth = 700
    static let plotHeight = 150

    let report: RefreshReport

    var text: String {
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.width) \(Self.height)" role="img">
            <title>Refreshes that people asked for, and the time from an event to the screen</title>
            <style>
            text { font: 12px sans-serif; fill: #333 } .axis { stroke: #999; fill: none }
            .share, .half { stroke: #06c; fill: none; stroke-width: 2 } .most { stroke: #c50; fill: none; stroke-width: 2 }
            @media (prefers-color-scheme: dark) { text { fill: #ddd } .share, .half { stroke: #6bf } .most { stroke: #fa6 } }
            </style>
            """
        ]
        let days = report.columns(atMost: Self.plotWidth / 2)
        parts += shares(days)
        parts += latencies(days)
        return parts.joined(separator: "\n") + "\n</svg>\n"
    }

    private func shares(_ days: [RefreshCount?]) -> [String] {
        let bottom = 200
        let top = ReportText.top(days.map { $0?.manualShare })
        var parts = frame("Refreshes that people asked for, in % of all", bottom: bottom)
        for part in [0, 0.5, 1] {
            parts.append(label(ReportText.percent(top * part), x: Self.left - 8, y: y(part, bottom), anchor: "end"))
        }
        return parts + lines(days.map { $0?.manualShare.map { $0 / top } }, "share", bottom: bottom)
    }

    private func latencies(_ days: [RefreshCount?]) -> [String] {
        guard report.total.latency.contains(where: { $0 > 0 }) else { return [] }
        let bottom = 440
        let bins = RefreshCount.latencyEnds.count
        var parts = frame("From an event to the screen: half of them (blue) and 95 % (orange)", bottom: bottom)
        for bin in 0...bins {
            let height = y(Double(bin) / Double(bins), bottom)
            parts.append(label(RefreshCount.latencyText(bin), x: Self.left - 8, y: height, anchor: "end"))
        }
        for (part, name) in [(0.5, "half"), (0.95, "most")] {
            let heights = days.map { $0?.latencyBin(part).map { Double($0) / Double(bins) } }
            parts += lines(heights, name, bottom: bottom)
        }
        return parts
    }

    private func frame(_ title: String, bottom: Int) -> [String] {
        let (right, top) = (Self.left + Self.plotWidth, bottom - Self.plotHeight)
        let range = report.range ?? ("", "")
        return [
            label(title, x: Self.left, y: top - 12, anchor: "start"),
            "<path class=\"axis\" d=\"M\(Self.left) \(top)V\(bottom)H\(right)\"/>",
            label(range.first, x: Self.left, y: bottom + 18, anchor: "start"),
            label(range.last, x: right, y: bottom + 18, anchor: "end"),
        ]
    }

    /// A line through neighbouring columns. It is interrupted at a column without a value, and a single value is a point.
    private func lines(_ values: [Double?], _ name: String, bottom: Int) -> [String] {
        var path = ""
        var isDown = false
        for (column, value) in values.enumerated() {
            guard let value else {
                isDown = false
                continue
            }
            let x = Self.left + (values.count < 2 ? 0 : column * Self.plotWidth / (values.count - 1))
            let isAlone = !isDown && (column + 1 == values.count || values[column + 1] == nil)
            path += "\(isDown ? "L" : "M")\(x) \(y(value, bottom))" + (isAlone ? "h2" : "")
            isDown = true
        }
        return path.isEmpty ? [] : ["<path class=\"\(name)\" d=\"\(path)\"/>"]
    }

    private func y(_ part: Double, _ bottom: Int) -> Int { bottom - Int((part * Double(Self.plotHeight)).rounded()) }

    private func label(_ text: String, x: Int, y: Int, anchor: String) -> String {
        let escaped = text.printable.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        return "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\">\(escaped.replacing(">", with: "&gt;"))</text>"
    }
}
