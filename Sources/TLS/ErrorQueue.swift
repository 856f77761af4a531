import COpenSSL

/// OpenSSL's error queue of the calling thread, emptied.
///
/// A loop is a serial queue and changes threads, so the queue is cleared before a call and drained after it, in the
/// same function: what is left behind would be read by another connection's call, on whatever thread that runs.
struct ErrorQueue {
    /// The oldest error: what OpenSSL met first, before the layers above said that they failed too.
    let first: UInt

    static func clear() {
        ERR_clear_error()
    }

    /// Takes everything out of the calling thread's queue.
    static func drain() -> ErrorQueue {
        let first = ERR_get_error()
        ERR_clear_error()
        return ErrorQueue(first: first)
    }

    var isEmpty: Bool { first == 0 }
    var library: Int32 { ERR_GET_LIB(first) }
    var reason: Int32 { ERR_GET_REASON(first) }

    /// OpenSSL's words for the error, without numbers and function names.
    var text: String {
        if isEmpty { return "no reason given" }
        guard let words = unsafe ERR_reason_error_string(first) else { return "error \(library):\(reason)" }
        return unsafe String(cString: words)
    }
}
