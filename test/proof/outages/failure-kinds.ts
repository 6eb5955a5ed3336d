/**
 * Kinds of failure of a model server, each with what has to follow. A server behaves in one of these ways until it recovers.
 */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

/**
 * `waits`: retried, and the turn waits when the failure persists. `explained`: retried, and reported when it persists.
 * `fails`: reported at once. `answered`: no failure.
 */
export type Consequence = 'waits' | 'explained' | 'fails' | 'answered'

export interface FailureKind {
  readonly name: string
  readonly consequence: Consequence
  fail(response: ServerResponse): void
}

const frame = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const done = 'data: [DONE]\n\n'
const half = frame({ role: 'assistant', content: '' }) + frame({ content: 'half an' })

/** A regular response. */
export function answer(response: ServerResponse): void {
  stream(frame({ content: 'ok' }) + frame({}, 'stop') + done)(response)
}

type Fail = FailureKind['fail']

function status(code: number, body: unknown = { error: { message: 'scripted' } }, headers: object = {}): Fail {
  const isText = typeof body === 'string'
  return (response) => {
    const type = isText ? 'text/html' : 'application/json'
    response.writeHead(code, { 'content-type': type, ...headers }).end(isText ? body : JSON.stringify(body))
  }
}

function failureBody(message: string, code: string): object {
  return { error: { message, code } }
}

function body(type: string, text: string | Buffer, headers: object = {}): Fail {
  return (response) => response.writeHead(200, { 'content-type': type, ...headers }).end(text)
}

function stream(text: string | Buffer, headers: object = {}): Fail {
  return body('text/event-stream', text, headers)
}

/** Sends the text and resets the connection. */
function cut(text: string): Fail {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text, () => response.destroy())
  }
}

/** Sends the text and keeps the connection open. */
function open(text: string): Fail {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    response.write(text)
  }
}

/** Sends the text again and again. */
function repeat(text: string): Fail {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(text), 5)
    response.once('close', () => clearInterval(timer))
  }
}

const event = (type: string, message: string) =>
  stream(`${half}data: ${JSON.stringify({ error: { type, message } })}\n\n`)
const page = '<!doctype html><html><title>Please log in</title></html>'

const kinds: Readonly<Record<Consequence, Readonly<Record<string, Fail>>>> = {
  waits: {
    'the status 408': status(408),
    'the status 409': status(409),
    'the status 425': status(425),
    'the status 429': status(429),
    'the status 429 with a time to retry': status(429, {}, { 'retry-after': '1' }),
    'the status 429 with a date to retry': status(429, {}, { 'retry-after': 'Fri, 02 Jan 2026 03:04:06 GMT' }),
    'the status 429 with a time that is no number': status(429, {}, { 'retry-after': 'soon' }),
    'the status 429 with tokens per minute': status(429, failureBody('Limit: 30000 tokens per min', 'rate_limit')),
    'the status 500': status(500),
    'the status 500 with an empty body': status(500, ''),
    'the status 502 with a page': status(502, '<html><title>502 Bad Gateway</title></html>'),
    'the status 503': status(503),
    'the status 503 with a time to retry': status(503, {}, { 'retry-after': '2' }),
    'the status 504': status(504),
    'the status 520': status(520),
    'the status 522': status(522),
    'the status 524': status(524),
    'the status 529': status(529),
    'an overload with the status 200': body('application/json', '{"error":{"type":"overloaded_error"}}'),
    'a rate limit with the status 200': body('application/json', '{"error":{"code":"rate_limit_exceeded"}}'),
    'a connection that is reset before the response': (response) => void response.destroy(),
    'a connection that is reset after the headers': cut(': \n\n'),
    'a connection that is reset during the response': cut(half),
    'a response that is shorter than announced': (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '9999' })
      response.write(half, () => response.destroy())
    },
    'a stream that ends too early': stream(half),
    'an empty stream': stream(''),
    'an overload within the stream': event('overloaded_error', 'Overloaded'),
    'a rate limit within the stream': event('rate_limit_error', 'Slow down'),
    'an error of the server within the stream': event('server_error', 'Oops'),
    'an unknown error within the stream': event('whatever', 'Oops'),
    'no response': () => undefined,
    'a stream that stops': open(half),
    'a stream of comments': repeat(': keep-alive\n\n'),
    'a stream of empty deltas': repeat(frame({ content: '' })),
    'a stream of white space': repeat(frame({ content: '\n' })),
  },
  explained: {
    'the status 204': (response) => response.writeHead(204).end(),
    'a page with the status 200': body('text/html', page),
    'a page as a stream': stream(page),
    'a JSON document instead of a stream': body('application/json', '{"id":"x"}'),
    'a plain text': body('text/plain', 'It works!'),
    'bytes that are not compressed as announced': stream(Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]), {
      'content-encoding': 'gzip',
    }),
    'a compressed response that was not requested': stream(gzipSync(half), { 'content-encoding': 'gzip' }),
    'zero bytes': stream('\0\0\0\0'),
    'a chunk of torn JSON': stream(`${half}data: {"choices": [{"del\n\n`),
    'a chunk that is a list': stream(`${half}data: []\n\n`),
    'a chunk nested a thousand deep': stream(`data: {"a":${'['.repeat(1000)}${']'.repeat(1000)}}\n\n`),
    'a chunk whose choices are a text': stream('data: {"choices": "none"}\n\n'),
    'a chunk whose content is a number': stream(frame({ content: 7 })),
    'a stream without a choice': stream(`data: {"choices": []}\n\n${done}`),
    'a response of another API': stream(`event: ping\ndata: {"type":"ping"}\n\n${done}`),
  },
  fails: {
    'the status 400': status(400),
    'the status 401': status(401),
    'the status 402': status(402),
    'the status 403': status(403),
    'the status 403 with a page': status(403, page),
    'the status 404': status(404),
    'the status 405': status(405),
    'the status 413': status(413),
    'the status 422': status(422),
    'a redirect': status(307, '', { location: 'https://elsewhere.example/' }),
    'a full context': status(400, failureBody('Too long.', 'context_length_exceeded')),
    'a content filter': status(400, failureBody('The response was filtered.', 'content_filter')),
    'an account without credit': status(400, failureBody('Your credit balance is too low', '')),
    'an exhausted quota': status(429, failureBody('You exceeded your current quota', 'insufficient_quota')),
    'a wrong key with the status 200': body('application/json', '{"error":{"code":"invalid_api_key"}}'),
    'a wrong key within the stream': event('authentication_error', 'No'),
    'an invalid request within the stream': event('invalid_request_error', 'No'),
    'a response without an end': repeat(frame({ content: 'x'.repeat(500) })),
  },
  answered: {
    'an empty response': stream(frame({ content: '' }, 'stop') + done),
    'a response of white space': stream(frame({ content: ' \n' }, 'stop') + done),
    'a response that was filtered': stream(frame({}, 'content_filter') + done),
    'a response without the end marker': stream(frame({ content: 'ok' }) + frame({}, 'stop')),
  },
}

export const failureKinds: readonly FailureKind[] = Object.entries(kinds).flatMap(([consequence, named]) =>
  Object.entries(named).map(([name, fail]) => ({ name, fail, consequence: toConsequence(consequence) })),
)

function toConsequence(name: string): Consequence {
  if (name === 'waits' || name === 'explained' || name === 'fails' || name === 'answered') return name
  throw new Error(`unknown consequence ${name}`)
}
