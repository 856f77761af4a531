import CYAML

/// Creates elements from libyaml's events.
struct YAMLBuilder: ~Copyable {
    /// Problems that do not stop the reading: duplicate keys, anchors, aliases, tags.
    private(set) var problems: [YAMLProblem] = []
    private let events: YAMLEvents
    /// The path of the element that is being read.
    private var path = ""
    private var depth = 0

    init(_ bytes: [UInt8]) {
        events = YAMLEvents(bytes)
    }

    /// The root, or nil for an empty document.
    mutating func document() throws(YAMLProblem) -> YAMLElement? {
        _ = try next()  // The stream starts.
        guard case .documentStart = try next().kind else { return nil }
        let first = try next()
        let root = try element(first)
        _ = try next()  // The document ends.
        let last = try next()
        if case .documentStart = last.kind {
            throw YAMLProblem(line: last.line, key: "", text: "a second document: settings are one document")
        }
        // A document that has only comments or a bare `---`.
        if case .text("", .plain) = root.content { return nil }
        return root
    }

    private func next() throws(YAMLProblem) -> YAMLEvents.Event {
        do throws(YAMLProblem) {
            return try events.next()
        } catch {
            throw YAMLProblem(line: error.line, key: path, text: error.text)
        }
    }

    private mutating func element(_ event: YAMLEvents.Event) throws(YAMLProblem) -> YAMLElement {
        depth += 1
        defer { depth -= 1 }
        guard depth <= YAMLDocument.maximumDepth else {
            throw YAMLProblem(
                line: event.line, key: path, text: "nested deeper than \(YAMLDocument.maximumDepth) levels")
        }
        if event.hasAnchor { report(event.line, "an anchor (&): anchors and aliases are not read, write it out") }
        if event.hasTag { report(event.line, "a tag (!): tags are not read, put text into quotes") }
        switch event.kind {
        case .scalar(let text, let style):
            return YAMLElement(line: event.line, .text(text, style))
        case .alias:
            report(event.line, "an alias (*): anchors and aliases are not read, write it out")
            return YAMLElement(line: event.line, .refused)
        case .listStart: return YAMLElement(line: event.line, .list(try list()))
        case .mapStart: return YAMLElement(line: event.line, .map(try map()))
        case .documentStart, .end:
            throw YAMLProblem(line: event.line, key: path, text: "a value is missing")
        }
    }

    private mutating func list() throws(YAMLProblem) -> [YAMLElement] {
        let before = path
        defer { path = before }
        var elements: [YAMLElement] = []
        while true {
            path = "\(before)[\(elements.count)]"
            let event = try next()
            if case .end = event.kind { return elements }
            elements.append(try element(event))
        }
    }

    private mutating func map() throws(YAMLProblem) -> [YAMLEntry] {
        let before = path
        defer { path = before }
        var entries: [YAMLEntry] = []
        var lines: [[UInt8]: Int] = [:]
        while true {
            path = before
            let event = try next()
            if case .end = event.kind { return entries }
            let name = try element(event)
            guard case .text(let key, _) = name.content else {
                if case .refused = name.content {
                    // Reported already. The value is read to reach the next key.
                    _ = try element(try next())
                    continue
                }
                throw YAMLProblem(line: event.line, key: path, text: "a key that is no text")
            }
            path = before.isEmpty ? key : "\(before).\(key)"
            let value = try element(try next())
            if let line = lines[Array(key.utf8)] {
                path = before.isEmpty ? key : "\(before).\(key)"
                report(name.line, "duplicate key, first in line \(line)")
            } else {
                lines[Array(key.utf8)] = name.line
                entries.append(YAMLEntry(key: key, line: name.line, value: value))
            }
        }
    }

    private mutating func report(_ line: Int, _ text: String) {
        guard problems.count < YAMLDocument.maximumProblems else { return }
        problems.append(YAMLProblem(line: line, key: path, text: text))
    }
}
