import TLS

/// `GET /`: one file without anything from elsewhere, which asks the administration for JSON and holds no data itself.
///
/// It is text, so that the binary needs no folder beside it. The policy names its style and its script by their hashes:
/// whatever else got into the page, as text of an account or of a topic, would not run.
enum StatusPage {
    static let answer = AdminAnswer(
        200, "text/html; charset=utf-8", .bytes(Array(html.utf8)),
        fields: [
            ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
        ])

    private static let policy =
        "default-src 'none'; style-src \(hash(style)); script-src \(hash(script)); connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static func hash(_ text: String) -> String {
        "'sha256-\(Base64.encode(Digest.sha256(Array(text.utf8))))'"
    }

    private static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Livegate</title>
        <style>\(style)</style>
        </head>
        <body>
        <header><h1>Livegate <span id="node"></span></h1><p id="state" role="status">…</p></header>
        <form id="login" hidden>
        <label for="token">Token of the administration (admin_token_file)</label>
        <input id="token" type="password" autocomplete="off" spellcheck="false" required>
        <button>Show</button>
        </form>
        <main id="main" hidden>
        <section aria-labelledby="wrong"><h2 id="wrong">What is wrong</h2><ul id="problems"></ul></section>
        <section aria-labelledby="minutes"><h2 id="minutes">The last ten minutes</h2><div id="charts"></div></section>
        <section aria-labelledby="busiest"><h2 id="busiest">Busiest accounts</h2>
        <table><thead><tr><th scope="col">Account</th><th scope="col">Connections</th>
        <th scope="col">Requests a minute</th><th scope="col">Refused a minute</th></tr></thead>
        <tbody id="accounts"></tbody></table></section>
        <section aria-labelledby="numbers"><h2 id="numbers">Now</h2><dl id="facts"></dl></section>
        </main>
        <noscript>This page needs JavaScript; GET /admin/status has the same as JSON.</noscript>
        <script>\(script)</script>
        </body>
        </html>

        """

    private static let style = """
        :root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#667;--line:#0b62c4;--second:#c4610b;
        --bad:#b3261e;--edge:#ccd}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--paper:#14171a;--soft:#9aa3ad;--line:#6cb0ff;
        --second:#ffb066;--bad:#ff8a80;--edge:#343a41}}
        *{box-sizing:border-box}[hidden]{display:none!important}
        body{margin:0 auto;max-width:72rem;padding:1rem;font:1rem/1.45 system-ui,sans-serif;color:var(--ink);
        background:var(--paper)}
        header{display:flex;flex-wrap:wrap;gap:0 1rem;align-items:baseline}
        h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:1.5rem 0 .5rem}
        #node{font-weight:400;color:var(--soft)}
        #state{margin:0;color:var(--soft)}#state.bad{color:var(--bad);font-weight:600}
        /* What was last known, of a node that cannot be asked now. */
        .old section:not(:first-child){opacity:.45}
        #problems{margin:0;padding-left:1.2rem}#problems .bad{color:var(--bad)}
        #charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))}
        figure{margin:0;border:1px solid var(--edge);border-radius:.4rem;padding:.6rem}
        figcaption{display:flex;justify-content:space-between;gap:.5rem}figcaption b{font-weight:600;white-space:nowrap}
        svg{display:block;width:100%;height:5rem}
        .a{stroke:var(--line)}.b{stroke:var(--second)}.grid{stroke:var(--edge)}
        b .a{color:var(--line)}b .b{color:var(--second)}small{color:var(--soft);margin-left:.5rem}
        polyline{fill:none;stroke-width:1.5;vector-effect:non-scaling-stroke}
        table{border-collapse:collapse;min-width:min(100%,24rem)}
        th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--edge);overflow-wrap:anywhere}
        td:last-child,th:last-child{text-align:right;font-variant-numeric:tabular-nums}
        dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0}dt{color:var(--soft)}dd{margin:0}
        input,button{font:inherit;padding:.4rem .6rem}form{display:grid;gap:.5rem;max-width:24rem;margin-top:1rem}
        :focus-visible{outline:3px solid var(--line);outline-offset:2px}
        """

    private static let script = #"""
        "use strict";
        const at = id => document.getElementById(id), KEY = "livegate-token", SVG = "http://www.w3.org/2000/svg";
        const show = n => n === null || n === undefined ? "–"
          : n.toLocaleString("en", {maximumFractionDigits: n < 10 ? 2 : 0});
        const make = (tag, text, name) => {
          const node = document.createElement(tag);
          if (text !== undefined) node.textContent = text;
          if (name) node.className = name;
          return node;
        };
        const draw = (tag, values) => {
          const node = document.createElementNS(SVG, tag);
          for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
          return node;
        };
        async function ask(path) {
          const token = sessionStorage.getItem(KEY);
          const headers = token ? {Authorization: "Bearer " + token} : {};
          const answer = await fetch(path, {headers, cache: "no-store", signal: AbortSignal.timeout(10000)});
          if (answer.status === 401) {
            // A late refusal of the previous token does not concern the one that was typed since.
            if (sessionStorage.getItem(KEY) === token) sessionStorage.removeItem(KEY);
            throw new Error(token ? "refused" : "token");
          }
          if (!answer.ok) throw new Error("the node answers " + answer.status);
          return answer.json();
        }
        function line(points, value, top, name) {
          const parts = [];
          let run = [];
          for (const point of [...points, null]) {
            const y = point === null ? null : value(point);
            if (y === null || y === undefined) { if (run.length) parts.push(run); run = []; continue; }
            run.push((600 - point.seconds_ago).toFixed(1) + "," + (78 - 74 * y / top).toFixed(1));
          }
          // A point alone is a dash.
          for (const run of parts) if (run.length === 1) run.push(run[0].replace(/^[^,]+/, x => Number(x) + 3));
          return parts.map(run => draw("polyline", {points: run.join(" "), class: name}));
        }
        function chart(title, unit, points, values) {
          const all = points.flatMap(point => values.map(value => value(point))).filter(y => typeof y === "number");
          const top = Math.max(1, ...all), last = points.length ? points[points.length - 1] : null;
          const most = all.length ? Math.max(...all) : null, shown = values.map(value => last ? show(value(last)) : "–");
          const figure = make("figure"), caption = make("figcaption"), now = make("b");
          // Each number in the colour of its line.
          shown.forEach((text, index) => now.append(...(index ? [" / "] : []), make("span", text, "ab"[index])));
          now.append(" " + unit, make("small", "most " + show(most)));
          caption.append(make("span", title), now);
          const label = title + ": now " + shown.join(" / ") + " " + unit + ", at most " + show(most);
          const frame = {viewBox: "0 0 600 80", preserveAspectRatio: "none", role: "img", "aria-label": label};
          const svg = draw("svg", frame);
          svg.append(draw("line", {x1: 0, x2: 600, y1: 78, y2: 78, class: "grid"}));
          values.forEach((value, index) => svg.append(...line(points, value, top, "ab"[index])));
          figure.append(caption, svg);
          return figure;
        }
        function render(status, charts) {
          at("login").hidden = true;
          at("main").hidden = false;
          at("main").className = "";
          const since = status.started.replace("T", " ").replace(/(:\d\d)(\.\d+)?Z$/, "$1 UTC");
          report(status.state, " · version " + status.version + " · since " + since, status.state !== "ready");
          at("problems").replaceChildren(...(status.problems.length
            ? status.problems.map(text => make("li", text, "bad")) : [make("li", "Nothing that is known.")]));
          const points = charts.points;
          at("charts").replaceChildren(
            chart("Connections", "open", points, [p => p.connections]),
            chart("Deliveries", "a second", points, [p => p.deliveries]),
            chart("Delivery p50 / p99", "ms", points, [p => p.delivery_p50_ms, p => p.delivery_p99_ms]),
            chart("Lag", "records", points, [p => p.lag_records]),
            chart("Refused", "a second", points, [p => p.refusals]));
          at("accounts").replaceChildren(...status.accounts.map(entry => {
            const row = make("tr");
            const counts = [entry.connections, entry.requests_per_minute, entry.refusals_per_minute];
            row.append(make("td", entry.account), ...counts.map(count => make("td", show(count))));
            return row;
          }));
          const kinds = status.connections, late = status.event_age_ms, facts = [
            ["WebSockets", show(kinds.websocket)], ["Event streams", show(kinds.event_stream)],
            ["Waiting requests", show(kinds.sync)], ["Handshakes", show(status.rates.handshakes[1]) + " a second"],
            ["Events", show(status.rates.events[1]) + " a second"],
            ["Age of events p50 / p99", show(late.p50) + " / " + show(late.p99) + " ms"],
            ["Kept events", show(status.log.events)], ["Accounts that have some", show(status.log.accounts)]];
          at("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
        }
        function report(state, more, isBad) {
          // The title too: of many tabs it is all that is seen.
          document.title = state + " – Livegate " + location.host;
          at("state").textContent = state + more;
          at("state").className = isBad ? "bad" : "";
        }
        const clock = () => new Date().toISOString().slice(11, 19) + " UTC";
        let timer, answeredAt = "", asked = 0;
        async function refresh() {
          clearTimeout(timer);
          const number = ++asked;
          try {
            const answers = await Promise.all([ask("/admin/status"), ask("/admin/charts")]);
            if (number !== asked) return;
            render(...answers);
            answeredAt = clock();
          } catch (error) {
            // Of an earlier question nothing is shown any more.
            if (number !== asked) return;
            const isRefused = error.message === "refused", wants = isRefused || error.message === "token";
            const isNew = wants && (isRefused || at("login").hidden);
            at("main").className = "old";
            if (wants) { at("main").hidden = true; at("login").hidden = false; }
            if (isNew) at("token").focus();
            if (isRefused) report("refused", ": this token is not the one of admin_token_file", true);
            else if (isNew) report("token required", "", true);
            else if (!wants) {
              report("unreachable", ": " + error.message, true);
              const known = answeredAt ? "the values below are of " + answeredAt : "no values are known";
              at("main").hidden = false;
              at("problems").replaceChildren(make("li", "The node does not answer this page: " + known + ".", "bad"));
            }
          }
          timer = setTimeout(refresh, document.hidden ? 60000 : 5000);
        }
        at("login").addEventListener("submit", event => {
          event.preventDefault();
          sessionStorage.setItem(KEY, at("token").value);
          at("token").value = "";
          refresh();
        });
        document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
        at("node").textContent = location.host;
        refresh();
        """#
}
