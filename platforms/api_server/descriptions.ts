/**
 * Describes the routes for the OpenAPI document. Loaded with the first request for it.
 */
import type { JsonSchema, ResponseDescription, RouteDescription } from '#sdk'

const text: JsonSchema = { type: 'string' }
const nullableText: JsonSchema = { type: ['string', 'null'] }
const count: JsonSchema = { type: 'integer' }
const flag: JsonSchema = { type: 'boolean' }

function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required }
}

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

const metadata: JsonSchema = { type: 'object', additionalProperties: text }
/** A text, or parts with texts and pictures, in OpenAI's format. */
const content: JsonSchema = { anyOf: [text, list({ type: 'object' })] }
const ignored = 'Options that tune a model are accepted and ignored.'

const chatRequest = object(
  {
    model: text,
    messages: list(object({ role: text, content }, ['role'])),
    stream: flag,
    stream_options: object({ include_usage: flag }, []),
  },
  ['messages'],
)
const usage: JsonSchema = { type: ['object', 'null'] }
const completion = object(
  {
    id: text,
    object: { const: 'chat.completion' },
    created: count,
    model: text,
    choices: list({ type: 'object' }),
    usage,
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
)

const exchange = {
  model: text,
  input: content,
  instructions: text,
  stream: flag,
  store: flag,
  previous_response_id: text,
  metadata,
}
const responseRequest = object({ ...exchange, conversation: { anyOf: [text, object({ id: text }, ['id'])] } }, [
  'input',
])
const response = object(
  {
    id: text,
    object: { const: 'response' },
    created_at: count,
    status: { enum: ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: text,
    output: list({ type: 'object' }),
    usage,
  },
  ['id', 'object', 'created_at', 'status', 'output'],
)

const runRequest = object({ ...exchange, session_id: text, conversation_history: list({ type: 'object' }) }, ['input'])
const runState = object({ run_id: text, status: text }, ['run_id', 'status'])
const run = object(
  {
    object: { const: 'hermes.run' },
    run_id: text,
    status: text,
    session_id: text,
    created_at: count,
    model: text,
    metadata,
    output: text,
    error: text,
    last_event: text,
  },
  ['object', 'run_id', 'status', 'session_id', 'last_event'],
)
const runs = object({ object: { const: 'list' }, data: list(run), has_more: flag, next_cursor: nullableText }, [
  'object',
  'data',
  'has_more',
  'next_cursor',
])
const runsQuery = object({ limit: { type: 'integer', minimum: 1, maximum: 100 }, cursor: text }, [])
const model = object({ id: text, object: { const: 'model' }, created: count, owned_by: text }, ['id', 'object'])

const json = (schema: JsonSchema): ResponseDescription => ({ description: 'Done.', schema })
const stream: ResponseDescription = {
  description: 'Server-sent events.',
  schema: text,
  contentType: 'text/event-stream',
}

interface Parts {
  readonly body?: JsonSchema
  readonly query?: JsonSchema
  readonly status?: number
}

function describe(
  method: RouteDescription['method'],
  path: string,
  summary: string,
  response: ResponseDescription,
  { status = 200, ...given }: Parts = {},
): RouteDescription {
  return { method, path, access: 'token', tag: 'OpenAI', summary, ...given, responses: { [status]: response } }
}

const oneRun = '/v1/runs/{run_id}'
const oneResponse = '/v1/responses/{response_id}'
const deleted = object({ id: text, object: text, deleted: flag }, ['id', 'deleted'])

export const descriptions: readonly RouteDescription[] = [
  describe(
    'POST',
    '/v1/chat/completions',
    `Chat Completions. ${ignored} With \`stream\` server-sent events.`,
    { ...json(completion), events: true },
    {
      body: chatRequest,
    },
  ),
  describe(
    'POST',
    '/v1/responses',
    `Responses. ${ignored} With \`stream\` server-sent events.`,
    { ...json(response), events: true },
    { body: responseRequest },
  ),
  describe('GET', oneResponse, 'Reads a stored response.', json(response)),
  describe('DELETE', oneResponse, 'Removes a stored response.', json(deleted)),
  describe('POST', '/v1/runs', 'Starts a run, which no connection waits for.', json(runState), {
    body: runRequest,
    status: 202,
  }),
  describe('GET', '/v1/runs', 'Lists runs, the newest first.', json(runs), { query: runsQuery }),
  describe('GET', oneRun, 'The state of a run.', json(run)),
  describe('GET', `${oneRun}/events`, 'The events of a run.', stream),
  describe('POST', `${oneRun}/stop`, 'Stops a run.', json(runState)),
  describe('POST', `${oneRun}/cancel`, 'Stops a run.', json(runState)),
  describe('POST', `${oneRun}/approval`, 'Answers the question of a tool call.', json({ type: 'object' }), {
    body: object({ choice: text, request_id: text, reason: text, all: flag }, ['choice']),
  }),
  describe('POST', `${oneRun}/clarify`, 'Answers a question of the agent.', json({ type: 'object' }), {
    body: { type: 'object' },
  }),
  describe(
    'GET',
    '/v1/models',
    'Lists the configured model.',
    json(object({ object: text, data: list(model) }, ['data'])),
  ),
  describe('GET', '/v1/models/{model}', 'The configured model.', json(model)),
  describe(
    'GET',
    '/v1/capabilities',
    'What the API can do.',
    json(object({ object: text, model: nullableText }, ['object'])),
  ),
  {
    ...{ method: 'POST', path: '/v1/embeddings', access: 'token', tag: 'OpenAI', responses: {} },
    summary: 'Refused: the gateway serves an agent, not a model.',
  },
]
