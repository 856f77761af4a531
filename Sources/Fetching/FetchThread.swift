import CCurl
import Glibc

/// libcurl's handle for many requests at once.
// SAFETY: the thread alone drives it. Any other may call `curl_multi_wakeup`, which libcurl allows for as long as the handle
// lives, and it lives as long as this object.
@safe
final class MultiHandle: @unchecked Sendable {
    /// Connections that stay open between requests, for all servers together.
    private static let maximumIdleConnections = 16

    let pointer: OpaquePointer

    /// libcurl must be set up once, before anything else.
    private static let isSetUp = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init() throws(FetchError) {
        guard Self.isSetUp, let made = unsafe curl_multi_init() else { throw .broken("libcurl cannot be set up") }
        unsafe pointer = OpaquePointer(made)
        unsafe livegate_fetch_keep_connections(made, Self.maximumIdleConnections)
    }

    deinit {
        unsafe _ = curl_multi_cleanup(UnsafeMutableRawPointer(pointer))
    }

    func wake() { unsafe _ = curl_multi_wakeup(UnsafeMutableRawPointer(pointer)) }
}

/// The one thread that drives all requests.
@safe
final class FetchThread {
    /// How long the thread sleeps where libcurl has no earlier time of its own. A new request wakes it.
    private static let restMilliseconds: Int32 = 60_000

    private let handle: MultiHandle
    private let queue: FetchQueue
    private var open: [UnsafeMutablePointer<livegate_fetch>: FetchQueue.Job] = unsafe [:]

    private var multi: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(handle.pointer) }

    init(_ handle: MultiHandle, _ queue: FetchQueue) {
        self.handle = handle
        self.queue = queue
    }

    /// The thread receives no signals: they belong to the threads that watch for them.
    consuming func start() throws(FetchError) {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        var thread = pthread_t()
        let retained = unsafe Unmanaged.passRetained(self)
        let failure = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<FetchThread>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, retained.toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard failure == 0 else {
            unsafe retained.release()
            throw .broken("no thread (error \(failure))")
        }
        pthread_detach(thread)
    }

    private func run() {
        while true {
            let (jobs, isStopped) = queue.take()
            if isStopped { return end(jobs) }
            for job in jobs { begin(job) }
            var running: Int32 = 0
            unsafe _ = curl_multi_perform(multi, &running)
            takeEnded()
            unsafe _ = curl_multi_poll(multi, nil, 0, Self.restMilliseconds, nil)
        }
    }

    private func begin(_ job: FetchQueue.Job) {
        let request = job.request
        let made = unsafe livegate_fetch_create(
            request.url, request.authorities, request.authorities?.count ?? 0, request.body,
            request.body?.count ?? 0, request.maximumBytes, request.timeoutMilliseconds)
        guard let fetch = unsafe made else { return queue.end(job, .failure(.broken("libcurl cannot ask"))) }
        for header in request.headers {
            guard unsafe livegate_fetch_add_header(fetch, header) else {
                unsafe livegate_fetch_destroy(fetch)
                return queue.end(job, .failure(.broken("no memory")))
            }
        }
        guard unsafe livegate_fetch_begin(multi, fetch) else {
            unsafe livegate_fetch_destroy(fetch)
            return queue.end(job, .failure(.broken("libcurl cannot ask")))
        }
        unsafe open[fetch] = job
    }

    private func takeEnded() {
        var code = CURLE_OK
        while let fetch = unsafe livegate_fetch_next_ended(multi, &code) {
            guard let job = unsafe open.removeValue(forKey: fetch) else { continue }
            let result = unsafe Self.result(fetch, code, job.request)
            unsafe livegate_fetch_destroy(fetch)
            queue.end(job, result)
        }
    }

    private static func result(
        _ fetch: UnsafeMutablePointer<livegate_fetch>, _ code: CURLcode, _ request: FetchRequest
    ) -> Result<[UInt8], FetchError> {
        if unsafe fetch.pointee.is_too_large { return .failure(.tooLarge(bytes: request.maximumBytes)) }
        guard code == CURLE_OK else {
            let reason = unsafe String(cString: livegate_fetch_reason(fetch, code))
            return .failure(error(code, reason, request))
        }
        let status = unsafe livegate_fetch_status(fetch)
        guard status == 200 else { return .failure(.status(status)) }
        return .success(unsafe Array(UnsafeBufferPointer(start: fetch.pointee.bytes, count: fetch.pointee.count)))
    }

    private static func error(_ code: CURLcode, _ reason: String, _ request: FetchRequest) -> FetchError {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .timedOut(milliseconds: request.timeoutMilliseconds)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .unreachable(reason)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            .notTrusted(reason)
        default: .broken(reason)
        }
    }

    private func end(_ jobs: [FetchQueue.Job]) {
        for job in jobs { queue.end(job, .failure(.stopped)) }
        while let (fetch, job) = unsafe open.popFirst() {
            unsafe livegate_fetch_abandon(multi, fetch)
            queue.end(job, .failure(.stopped))
        }
    }
}
