import Foundation

/// A part of an article of the gateway that is written from a table: what stands between two comments that name it.
///
/// `Tests/documents` writes it. The test that knows the table holds the article to it, and hands over the lines where that
/// command asks for them, by naming a folder in `LIVEGATE_SECTIONS`.
package struct ArticleSection {
    private let article: String
    private let name: String

    package init(_ name: String, of article: String) { (self.name, self.article) = (name, article) }

    /// The whole article.
    package var text: String {
        get throws {
            let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
            return try String(
                contentsOf: root.appending(path: "Sources/Gateway/Gateway.docc/\(article)"), encoding: .utf8)
        }
    }

    /// Whether the article has these lines there, and nothing else.
    package func has(_ lines: [String]) throws -> Bool {
        let section = lines.joined(separator: "\n")
        if let folder = ProcessInfo.processInfo.environment["LIVEGATE_SECTIONS"] {
            try section.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        }
        return try text.contains(
            "<!-- begin \(name): written by Tests/documents -->\n\n\(section)\n\n<!-- end \(name) -->\n")
    }
}
