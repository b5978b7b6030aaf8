// An agent's step over HTTP: publish what happened, compile the context for the next call, follow the
// log. Every shape is checked against the types that openapi-typescript makes of /openapi.json.
import createClient from "openapi-fetch";
import type { components, paths } from "./weft.js";

type Item = components["schemas"]["ContextItem"];
type LogEvent = components["schemas"]["LogEvent"];
type Problem = components["schemas"]["Problem"];

const address = process.env.WEFT_HTTP ?? "http://127.0.0.1:8080";
const token = process.env.WEFT_HTTP_TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : undefined;
const weft = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: address, headers });
const path = { session: process.env.WEFT_SESSION ?? "typescript" };

/** The answer, or the problem as an exception: its `detail` says what to do. */
function given<T>(answer: { data?: T; error?: Problem }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data;
}

const items: Item[] = [
  { id: "m1", kind: "user_turn", text: "Which order was the largest?" },
  {
    id: "c1",
    kind: "tool_call",
    text: "orders()",
    parent_id: "m1",
    metadata: { tool_name: "orders", call_id: "call_1", arguments: {} },
  },
  {
    id: "r1",
    kind: "tool_result",
    text: "O-20614 was 2,060.09",
    parent_id: "c1",
    metadata: { call_id: "call_1" },
  },
];
const { ack } = given(await weft.POST("/v1/sessions/{session}/items", {
  params: { path },
  body: items,
}));

const { pack, request } = given(await weft.POST("/v1/sessions/{session}/compile", {
  params: { path, query: { provider: "openai" }, header: { "Idempotency-Key": `step-${ack.sequence}` } },
  body: { phase: "answer", after: ack.sequence, timeout: 30 },
}));
console.log(pack.prompt);
console.log(`${pack.stats.included_count} items, ${JSON.stringify(request?.messages).length} characters`);

const why = given(await weft.POST("/v1/sessions/{session}/explain", {
  params: { path },
  body: { item_id: "m1", request: { phase: "answer" } },
}));
console.log(`m1 included: ${why.included}`);

// A problem is typed, too.
const refused = await weft.POST("/v1/sessions/{session}/compile", {
  params: { path: { session: "nobody" } },
  body: { phase: "answer" },
});
console.log(`refused: ${refused.error?.code}`);

// The log as a stream: resumed after the session's first event.
const page = given(await weft.GET("/v1/sessions/{session}/events", {
  params: { path, query: { limit: 1 } },
}));
const seen = String(page.events[0]?.sequence ?? "");
const stream = await fetch(`${address}/v1/sessions/${path.session}/events`, {
  headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": seen },
});
const kinds: string[] = [];
let rest = "";
for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
  const blocks = (rest + chunk).split("\n\n");
  rest = blocks.pop() ?? "";
  for (const block of blocks) {
    const data = block.split("\n").find((line) => line.startsWith("data: "));
    if (data) kinds.push((JSON.parse(data.slice(6)) as LogEvent).kind);
  }
  if (kinds.length >= 2) break;
}
console.log(`events: ${kinds.slice(0, 2).join(", ")}`);
