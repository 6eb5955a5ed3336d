/**
 * Handles a chat completion: accepts the message, waits for the result of its turn, and responds in OpenAI's format.
 *
 * A turn with a named session continues when the client disconnects, and its reply stays in the session. A turn without one
 * is stopped, because no other client can read its reply.
 */
import type { PlatformContext, TurnResult } from '#sdk'
import { type CompletionStream, createCompletionStream } from './completion-stream.ts'
import { ApiError, errorResponse, toApiError } from './errors.ts'
import { type Completion, chatCompletion } from './format-response.ts'
import { type ChatRequest, parseChatRequest } from './parse-request.ts'
import type { PendingRequests } from './pending-requests.ts'
import type { StoredPictures } from './store-pictures.ts'
import { type InboundMessage, toInboundMessage } from './to-event.ts'

export interface CompletionOptions {
  /** Additional requests are refused with a hint to retry. */
  readonly maxConcurrent: number
  readonly keepAliveMs: number
}

export interface Completions {
  open(): void
  /** Aborts when the gateway stops. Pending requests fail; their turns continue. */
  close(): void
  /** Throws `ApiError` and errors of the gateway. */
  handle(request: Request): Promise<Response>
}

export function createCompletions(
  context: PlatformContext,
  waiting: PendingRequests,
  { maxConcurrent, keepAliveMs }: CompletionOptions,
): Completions {
  let closing = new AbortController()
  let running = 0

  async function accept({ event, key }: InboundMessage): Promise<number> {
    const accepted = await context.accept(event, [key])
    if (accepted.status !== 'refused') return accepted.seq
    throw new ApiError(403, accepted.reason, { type: 'permission_error', code: 'inbox/refused' })
  }

  /** The result of a successful turn. Throws `ApiError` otherwise. */
  async function outcomeOf(seq: number, visit: PendingCompletion): Promise<TurnResult> {
    const { signal, release, message, chat } = visit
    const closed = closing.signal
    let outcome: TurnResult
    try {
      outcome = await context.waitForResult(seq, AbortSignal.any([signal, closed]))
    } catch (error) {
      if (closed.aborted) throw gatewayStopping()
      if (!signal.aborted) throw error
      release()
      if (chat.sessionId === undefined && !waiting.has(message.key)) await stop(seq)
      throw new ApiError(499, 'The client disconnected.', { cause: error })
    }
    if (outcome.status === 'done') return outcome
    const { text, errorCode = outcome.status === 'stopped' ? 'agent/stopped' : 'agent/failed' } = outcome
    if (errorCode === 'inbox/queue-full')
      throw new ApiError(429, text, { type: 'rate_limit_error', code: errorCode, retryAfterSeconds: 5 })
    if (providerOutages.has(errorCode)) throw providerOutage(text, errorCode)
    throw new ApiError(502, text === '' ? 'The turn was stopped.' : text, { type: 'agent_incomplete', code: errorCode })
  }

  /** Counts as a request that runs, so that downloads have the same limit. */
  async function readPictures(chat: ChatRequest, signal: AbortSignal): Promise<StoredPictures> {
    const history = chat.history.map(({ message }) => message)
    const hasPictures = [chat, ...chat.history].some(({ pictures }) => pictures.length > 0)
    if (!hasPictures && chat.recordings.length === 0) return { attachments: [], history }
    running++
    try {
      const said = chat.recordings.length === 0 ? [] : await storeRecordingsOf(chat)
      if (!hasPictures) return { attachments: said, history }
      const { storePictures } = await import('./store-pictures.ts')
      const shown = await storePictures(context.files, chat, signal)
      return { ...shown, attachments: [...said, ...shown.attachments] }
    } finally {
      running--
    }
  }

  async function storeRecordingsOf({ recordings }: ChatRequest) {
    const { storeRecordings } = await import('./store-recordings.ts')
    return await storeRecordings(context.files, recordings)
  }

  async function stop(seq: number): Promise<void> {
    try {
      await context.stop(seq)
    } catch (error) {
      context.log.error(
        { event: 'api_server.stop_failed', seq, err: error },
        'turn of a disconnected client could not be stopped',
      )
    }
  }

  async function streamResult(answer: CompletionStream, outcome: Promise<TurnResult>): Promise<void> {
    try {
      answer.finish(await outcome)
    } catch (error) {
      const known = toApiError(error)
      if (known === null)
        context.log.error({ event: 'api_server.completion_failed', err: error }, 'streamed completion failed')
      answer.fail(known ?? new ApiError(500, 'The gateway could not handle the request.', { type: 'server_error' }))
    }
  }

  async function complete(chat: ChatRequest, message: InboundMessage, signal: AbortSignal): Promise<Response> {
    const { chatId } = message.event.source
    const headers = { [sessionHeader]: chatId }
    let answer: CompletionStream | undefined
    const release = waiting.add({
      chatId,
      messageId: message.key,
      onText: (text) => answer?.setText(text),
      onInterimText: (text) => answer?.endText(text),
      onToolProgress: (progress) => answer?.sendToolProgress(progress),
    })
    const done = () => {
      running--
      release()
    }
    running++
    try {
      const seq = await accept(message)
      const completion = toCompletion(context, chat, seq)
      const outcome = outcomeOf(seq, { signal, release, message, chat })
      if (!chat.stream) return Response.json(chatCompletion(completion, await outcome), { headers })
      answer = createCompletionStream({ completion, includeUsage: chat.includeUsage, keepAliveMs })
      void streamResult(answer, outcome).finally(done)
      return new Response(answer.body, { headers: { ...headers, ...streamHeaders } })
    } catch (error) {
      const known = toApiError(error)
      if (known === null) throw error
      return errorResponse(known, headers)
    } finally {
      if (answer === undefined) done()
    }
  }

  return {
    open() {
      closing = new AbortController()
    },
    close: () => closing.abort(),
    async handle(request) {
      if (closing.signal.aborted) throw gatewayStopping()
      const chat = parseChatRequest(await request.bytes(), request.headers)
      if (running >= maxConcurrent) throw tooManyRequests(maxConcurrent)
      const pictures = await readPictures(chat, request.signal)
      return complete(chat, toInboundMessage(context, chat, pictures), request.signal)
    },
  }
}

const sessionHeader = 'x-hermes-session-id'
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

interface PendingCompletion {
  readonly chat: ChatRequest
  readonly message: InboundMessage
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Stops waiting; may be called twice. */
  readonly release: () => void
}

function toCompletion(context: PlatformContext, chat: ChatRequest, seq: number): Completion {
  const { model, provider } = context.info()
  return {
    id: `chatcmpl-${seq}`,
    created: Math.floor(context.clock() / 1000),
    model: chat.model ?? (model || provider),
  }
}

function tooManyRequests(maxConcurrent: number): ApiError {
  return new ApiError(429, `The limit of ${maxConcurrent} concurrent requests is reached; try again in a moment.`, {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 1,
  })
}

/** The provider of the model does not answer. A program decides itself how long it waits. */
const providerOutages: ReadonlySet<string> = new Set([
  'provider/rate-limit',
  'provider/overloaded',
  'provider/network',
  'provider/timeout',
])

function providerOutage(text: string, code: string): ApiError {
  return new ApiError(503, text, { type: 'agent_incomplete', code, retryAfterSeconds: 30 })
}

function gatewayStopping(): ApiError {
  return new ApiError(503, 'The gateway is stopping. A reply that was in progress is stored in the session.', {
    type: 'server_error',
    code: 'http/starting',
    retryAfterSeconds: 1,
  })
}
