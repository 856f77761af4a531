// What a server's answer to an action means. It is separate from the queue, for code that only sends.

/** What an answer means for an action: "done", "unauthorized", "rejected" or "again". */
export function actionOutcome(status) {
    if (status >= 200 && status <= 299) return "done"
    if (status === 401) return "unauthorized"
    if (status === 408 || status === 429) return "again"
    return status >= 400 && status <= 499 ? "rejected" : "again"
}
