/**
 * How events reach the app: over one of its sockets, or posted to its address. What is not acknowledged comes again, as
 * Slack does it; slash commands and interactions do not.
 */
import { createHmac, randomUUID } from 'node:crypto'
import type { WebSocket } from 'ws'
import { isJson } from './call.ts'
import type { Json } from './workspace.ts'

export type EnvelopeType = 'events_api' | 'interactive' | 'slash_commands'

/** What the app answered: nothing after all tries, or an acknowledgement with what it carried. */
export type DeliveryResult = { readonly acknowledged: false } | { readonly acknowledged: true; readonly payload: Json }

export interface Delivery {
  deliver(type: EnvelopeType, payload: Json): Promise<DeliveryResult>
  /** A socket of the app has opened. */
  attach(socket: WebSocket): void
  /** How many sockets are open. */
  sockets(): number
  /** Announces the end of a socket, without closing it. */
  warn(reason: 'warning' | 'refresh_requested' | 'link_disabled'): void
  /** Sends a frame as it is. */
  raw(frame: string): void
  /** Cuts every socket. */
  cut(): void
  /** From now on each envelope comes twice. */
  double(on: boolean): void
  /** Envelopes wait until released, and come in the opposite order then. */
  holdBack(): () => void
  /** Stops waiting for everything that is not acknowledged. */
  forget(): void
  close(): void
}

export interface DeliveryOptions {
  /** After how long an event that was not acknowledged comes again, ms. Slack: 3,000. */
  readonly redeliverMs: number
  readonly maxTries: number
  /** The address of the app in http mode. */
  readonly hook: (() => string) | undefined
  readonly signingSecret: string
  readonly pingMs: number
  readonly hello: Json
}

interface PendingEnvelope {
  /** The id of the envelope that is under way: each try has a new one. */
  id: string
  readonly type: EnvelopeType
  readonly payload: Json
  tries: number
  timer: NodeJS.Timeout | undefined
  on: WebSocket | undefined
  settle(result: DeliveryResult): void
}

/** Pings in a row. */
const maxUnacknowledged = 5

export function createDelivery(options: DeliveryOptions): Delivery {
  const { redeliverMs, maxTries, hook, pingMs, hello } = options
  const sockets: WebSocket[] = []
  const waiting = new Set<PendingEnvelope>()
  let turn = 0
  let doubled = false
  let held: (() => void)[] | undefined
  let closed = false

  return {
    async deliver(type, payload) {
      if (held !== undefined) await new Promise<void>((release) => held?.push(release))
      if (hook !== undefined) {
        if (doubled) void postAll(hook(), type, payload)
        return await postAll(hook(), type, payload)
      }
      if (doubled) void overSocket(type, payload)
      return await overSocket(type, payload)
    },
    attach,
    sockets: () => sockets.length,
    warn(reason) {
      sockets[0]?.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'applink-1' } }))
    },
    raw: (frame) => sockets[0]?.send(frame),
    cut() {
      for (const socket of sockets) socket.terminate()
    },
    double(on) {
      doubled = on
    },
    holdBack() {
      const mine: (() => void)[] = []
      held = mine
      return () => {
        held = undefined
        for (const release of mine.reverse()) release()
      }
    },
    forget() {
      for (const pending of waiting) {
        clearTimeout(pending.timer)
        pending.settle({ acknowledged: false })
      }
      waiting.clear()
    },
    close() {
      closed = true
      for (const { timer } of waiting) clearTimeout(timer)
      for (const socket of sockets) socket.terminate()
    },
  }

  function attach(socket: WebSocket): void {
    sockets.push(socket)
    socket.send(JSON.stringify({ type: 'hello', num_connections: sockets.length, ...hello }))
    let unanswered = 0
    const beat = setInterval(() => {
      unanswered += 1
      // No client is there any more: what waits for an acknowledgement goes another way.
      if (unanswered > maxUnacknowledged) socket.terminate()
      else socket.ping('ping')
    }, pingMs)
    socket.on('pong', () => {
      unanswered = 0
    })
    socket.on('message', (data) => acknowledge(String(data)))
    // A reset is what these servers are for.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(beat)
      sockets.splice(sockets.indexOf(socket), 1)
      for (const pending of waiting) if (pending.on === socket) again(pending)
    })
    for (const pending of waiting) if (pending.on === undefined) send(pending)
  }

  function overSocket(type: EnvelopeType, payload: Json): Promise<DeliveryResult> {
    return new Promise((settle) => {
      const pending: PendingEnvelope = { id: '', type, payload, tries: 0, timer: undefined, on: undefined, settle }
      waiting.add(pending)
      send(pending)
    })
  }

  /** To exactly one of the sockets, in turns. Without any it waits for one. */
  function send(pending: PendingEnvelope): void {
    if (closed) return
    const open = sockets.filter(({ readyState }) => readyState === 1)
    const socket = open[turn++ % Math.max(1, open.length)]
    pending.on = socket
    if (socket === undefined) return
    pending.id = randomUUID()
    const retry = pending.tries === 0 ? {} : { retry_attempt: pending.tries, retry_reason: 'timeout' }
    const { id, type, payload } = pending
    const envelope = { envelope_id: id, type, payload, accepts_response_payload: type !== 'events_api', ...retry }
    socket.send(JSON.stringify(envelope))
    pending.timer = setTimeout(() => again(pending), redeliverMs)
  }

  /** For an envelope that was not acknowledged in time, or whose socket has gone. */
  function again(pending: PendingEnvelope): void {
    clearTimeout(pending.timer)
    pending.tries += 1
    if (pending.type === 'events_api' && pending.tries <= maxTries) {
      send(pending)
      return
    }
    waiting.delete(pending)
    pending.settle({ acknowledged: false })
  }

  function acknowledge(frame: string): void {
    const answer: unknown = JSON.parse(frame)
    if (!isJson(answer)) return
    const pending = [...waiting].find(({ id }) => id === answer['envelope_id'])
    if (pending === undefined) return
    clearTimeout(pending.timer)
    waiting.delete(pending)
    pending.settle({ acknowledged: true, payload: isJson(answer['payload']) ? answer['payload'] : {} })
  }

  async function postAll(url: string, type: EnvelopeType, payload: Json): Promise<DeliveryResult> {
    for (let attempt = 0; attempt <= maxTries && !closed; attempt += 1) {
      const result = await postOnce(url, type, payload, attempt)
      if (result.acknowledged || type !== 'events_api') return result
      await new Promise((resolve) => setTimeout(resolve, redeliverMs / 10))
    }
    return { acknowledged: false }
  }

  async function postOnce(url: string, type: EnvelopeType, payload: Json, attempt: number): Promise<DeliveryResult> {
    const { body, contentType } = bodyOf(type, payload)
    const retry = attempt === 0 ? {} : { 'x-slack-retry-num': String(attempt), 'x-slack-retry-reason': 'http_error' }
    const headers = { 'content-type': contentType, ...signatureOf(body, options.signingSecret), ...retry }
    try {
      const response = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(redeliverMs) })
      const text = await response.text()
      if (!response.ok) return { acknowledged: false }
      const answer: unknown = text === '' || !text.startsWith('{') ? {} : JSON.parse(text)
      return { acknowledged: true, payload: isJson(answer) ? answer : {} }
    } catch {
      // No client answers, or not in time: Slack tries again.
      return { acknowledged: false }
    }
  }
}

/** The headers by which an app knows that Slack has sent a body. */
export function signatureOf(body: string, secret: string, seconds = Math.floor(Date.now() / 1_000)) {
  const hex = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': `v0=${hex}` }
}

function bodyOf(type: EnvelopeType, payload: Json): { body: string; contentType: string } {
  if (type === 'events_api') return { body: JSON.stringify(payload), contentType: 'application/json' }
  const fields =
    type === 'interactive'
      ? { payload: JSON.stringify(payload) }
      : Object.fromEntries(Object.entries(payload).map(([key, value]) => [key, String(value)]))
  return { body: String(new URLSearchParams(fields)), contentType: 'application/x-www-form-urlencoded' }
}
