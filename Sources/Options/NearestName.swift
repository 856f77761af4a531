/// Words that resemble one another, for `did you mean`.
package enum NearestName {
    /// A longer word is compared by its beginning, so that a hostile one costs no more than a long name.
    static let maximumComparedBytes = 64

    /// The name with the smallest edit distance to `word`; of several the first. Nil only when there are none.
    package static func nearest(to word: String, among names: [String]) -> String? {
        names.map { (name: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }?.name
    }

    /// How many insertions, deletions, replacements and swaps of neighbours make `left` into `right`, without regard
    /// to upper and lower case (optimal string alignment).
    package static func distance(_ left: String, _ right: String) -> Int {
        let a = Array(left.lowercased().utf8.prefix(maximumComparedBytes))
        let b = Array(right.lowercased().utf8.prefix(maximumComparedBytes))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in 0..<b.count {
                var best = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
