import Foundation
import LiveClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Receives what URLSession reports of its task, on its loop.
protocol TaskOwner: AnyObject {
    func receive(_ event: TaskEvent)
}

/// The tasks that have not ended, by their numbers, with their channels. It lives on its loop.
final class TaskTable {
    private var owners: [Int: any TaskOwner] = [:]

    func add(_ owner: any TaskOwner, of task: URLSessionTask) { owners[task.taskIdentifier] = owner }

    func receive(_ event: TaskEvent, of task: Int) {
        let owner = owners[task]
        if case .completed = event { owners[task] = nil }
        owner?.receive(event)
    }
}

/// Passes to the loop, in order, what a session reports on its own queue.
final class TaskDelegate: NSObject, URLSessionDataDelegate, URLSessionWebSocketDelegate {
    private let tasks: Confined<TaskTable>

    init(_ tasks: Confined<TaskTable>) { self.tasks = tasks }

    private func report(_ event: TaskEvent, of task: URLSessionTask) {
        let (tasks, number) = (tasks, task.taskIdentifier)
        tasks.loop.execute { tasks.value.receive(event, of: number) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { report(.answered(AnswerHead(response)), of: dataTask) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        report(.received(Array(data)), of: dataTask)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        report(.opened, of: webSocketTask)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        report(.closed(code: closeCode.rawValue, reason: reason.map(Array.init) ?? []), of: webSocketTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        report(.completed(error.map(TaskFailure.init)), of: task)
    }

    /// URLSession would follow redirects by itself, with all headers, so a server could send the token anywhere. Livegate sends
    /// no redirects, so the answer ends the attempt.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLSessionDataTask: RequestTask {}

extension URLSessionWebSocketTask: SocketTask {
    var closeFrame: (code: Int, reason: [UInt8])? {
        closeCode == .invalid ? nil : (closeCode.rawValue, closeReason.map(Array.init) ?? [])
    }

    var answerHead: AnswerHead? { (response as? HTTPURLResponse).map(AnswerHead.init) }

    func close() { cancel(with: .normalClosure, reason: nil) }

    func send(_ text: String, _ completion: @escaping @Sendable (TaskFailure?) -> Void) {
        send(.string(text)) { error in completion(error.map(TaskFailure.init)) }
    }

    func receive(_ completion: @escaping @Sendable (Result<String?, TaskFailure>) -> Void) {
        receive { (result: Result<Message, any Error>) in
            switch result {
            case .success(.string(let text)): completion(.success(text))
            case .success: completion(.success(nil))
            case .failure(let error): completion(.failure(TaskFailure(error)))
            }
        }
    }

    func ping(_ completion: @escaping @Sendable (TaskFailure?) -> Void) {
        sendPing { error in completion(error.map(TaskFailure.init)) }
    }
}
