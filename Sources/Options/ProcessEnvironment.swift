import CLinux

/// The variables of this process. Nobody here ever changes them.
package enum ProcessEnvironment {
    /// Names and values in the order in which they stand; what has no `=` is left out.
    package static var variables: [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        var next = unsafe process_environment()
        while let entry = unsafe next?.pointee {
            let words = unsafe String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if words.count == 2 { variables.append((String(words[0]), String(words[1]))) }
            unsafe next = next?.advanced(by: 1)
        }
        return variables
    }
}
