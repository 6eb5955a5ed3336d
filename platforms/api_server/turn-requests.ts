/**
 * What all routes that run a turn share: the limit of requests, the pictures, the stored message, its result, and what a client
 * that disconnects does to its turn.
 */
import { linkAbortSignal, type MessageEvent, type PlatformContext, type TurnResult } from '#sdk'
import { ApiError } from './errors.ts'
import type { ParsedMessages } from './read-messages.ts'
import type { StoredPictures } from './store-pictures.ts'
import type { InboundMessage } from './to-event.ts'

export interface TurnRequest {
  readonly seq: number
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Called when the client disconnects. Returns whether no other client waits for this turn, so that it is stopped. */
  onDisconnect(): boolean
}

export interface TurnRequests {
  /** Throws `ApiError` when the gateway stops or too many requests run. */
  admit(): void
  /** Stores the pictures and recordings of a request. Counts as a request that runs, so that downloads have the same limit. */
  storeFiles(messages: Omit<ParsedMessages, 'input'>, signal: AbortSignal): Promise<StoredPictures>
  /** Returns the number of the stored message. Throws `ApiError` and errors of the gateway. */
  accept(message: InboundMessage): Promise<number>
  /** The result of a successful turn. Throws `ApiError` otherwise. */
  resultOf(request: TurnRequest): Promise<TurnResult>
  /** Counts a request until the returned function is called. */
  begin(): () => void
}

export function createTurnRequests(
  context: PlatformContext,
  { maxConcurrent, closed }: { readonly maxConcurrent: number; readonly closed: AbortSignal },
): TurnRequests {
  let running = 0

  async function stop(seq: number): Promise<void> {
    try {
      await context.turns.stop(seq)
    } catch (error) {
      context.log.error(
        { event: 'api_server.stop_failed', seq, err: error },
        'turn of a disconnected client could not be stopped',
      )
    }
  }

  return {
    admit() {
      if (closed.aborted) throw gatewayStopping()
      if (running >= maxConcurrent) throw tooManyRequests(maxConcurrent)
    },
    begin() {
      let open = true
      running++
      return () => {
        if (open) running--
        open = false
      }
    },
    async storeFiles({ pictures, recordings, history: parsed }, signal) {
      const history = parsed.map(({ message }) => message)
      const hasPictures = pictures.length > 0 || parsed.some((message) => message.pictures.length > 0)
      if (!hasPictures && recordings.length === 0) return { attachments: [], history }
      running++
      try {
        const said = recordings.length === 0 ? [] : await storeRecordingsOf(context, recordings)
        if (!hasPictures) return { attachments: said, history }
        const { storePictures } = await import('./store-pictures.ts')
        const shown = await storePictures(context.files, { pictures, history: parsed }, signal)
        return { ...shown, attachments: [...said, ...shown.attachments] }
      } finally {
        running--
      }
    },
    async accept({ event, key }) {
      const accepted = await context.accept(event, [key])
      if (accepted.status !== 'refused') return accepted.seq
      throw new ApiError(403, accepted.reason, { type: 'permission_error', code: 'inbox/refused' })
    },
    async resultOf({ seq, signal, onDisconnect }) {
      let result: TurnResult
      const ended = linkAbortSignal(signal, closed)
      try {
        result = await context.turns.waitForResult(seq, ended.signal)
      } catch (error) {
        if (closed.aborted) throw gatewayStopping()
        if (!signal.aborted) throw error
        if (onDisconnect()) await stop(seq)
        throw new ApiError(499, 'The client disconnected.', { cause: error })
      } finally {
        ended.release()
      }
      const failure = toFailure(result)
      if (failure !== undefined) throw failure
      return result
    },
  }
}

async function storeRecordingsOf(context: PlatformContext, recordings: ParsedMessages['recordings']) {
  const { storeRecordings } = await import('./store-recordings.ts')
  return await storeRecordings(context.files, recordings)
}

/** The error of a turn without an answer. */
export function toFailure({ status, text, errorCode }: TurnResult): ApiError | undefined {
  if (status === 'done') return undefined
  const code = errorCode ?? (status === 'stopped' ? 'agent/stopped' : 'agent/failed')
  if (code === 'inbox/queue-full')
    return new ApiError(429, text, { type: 'rate_limit_error', code, retryAfterSeconds: 5 })
  if (providerOutages.has(code))
    return new ApiError(503, text, { type: 'agent_incomplete', code, retryAfterSeconds: 30 })
  return new ApiError(502, text === '' ? 'The turn was stopped.' : text, { type: 'agent_incomplete', code })
}

/** The provider of the model does not answer. A program decides itself how long it waits. */
const providerOutages: ReadonlySet<string> = new Set([
  'provider/rate-limit',
  'provider/overloaded',
  'provider/network',
  'provider/timeout',
])

export function tooManyRequests(limit: number, what = 'concurrent requests'): ApiError {
  return new ApiError(429, `The limit of ${limit} ${what} is reached; try again in a moment.`, {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 1,
  })
}

export function gatewayStopping(): ApiError {
  return new ApiError(503, 'The gateway is stopping. A reply that was in progress is stored in the session.', {
    type: 'server_error',
    code: 'http/starting',
    retryAfterSeconds: 1,
  })
}

/** The headers of every response of a turn. */
export function sessionHeaders({ source, metadata }: MessageEvent): Record<string, string> {
  const key = metadata?.['session_key']
  return { 'x-hermes-session-id': source.chatId, ...(key === undefined ? {} : { 'x-hermes-session-key': key }) }
}

export const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
