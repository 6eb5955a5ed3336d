/**
 * One chat completion from request to response: hand the message in, wait for its outcome, answer in the client's form.
 *
 * A request that names a session is finished even when its client hangs up: the answer waits in the session. A request
 * without one exists for its client alone, and its turn stops with it.
 */
import type { PlatformContext, TurnResult } from '#sdk'
import { type CompletionStream, createCompletionStream } from './completion-stream.ts'
import { ApiError, errorResponse, toApiError } from './errors.ts'
import { type Completion, chatCompletion } from './format-response.ts'
import { type ChatRequest, parseChatRequest } from './parse-request.ts'
import type { PendingRequests } from './pending-requests.ts'
import { type InboundMessage, toInboundMessage } from './to-event.ts'

export interface CompletionOptions {
  /** More requests at the same time are told to come back. */
  readonly maxConcurrent: number
  readonly keepAliveMs: number
}

export interface Completions {
  open(): void
  /** Requests that wait are told that the gateway stops; their turns go on. */
  close(): void
  /** Throws `ApiError` and what the gateway throws. */
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

  /** The outcome of a turn that went well; throws `ApiError` for every other end of waiting. */
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
      throw new ApiError(499, 'The client hung up.', { cause: error })
    }
    if (outcome.status === 'done') return outcome
    const { text, errorCode = outcome.status === 'stopped' ? 'agent/stopped' : 'agent/failed' } = outcome
    throw new ApiError(502, text === '' ? 'The turn was stopped.' : text, { type: 'agent_incomplete', code: errorCode })
  }

  async function stop(seq: number): Promise<void> {
    try {
      await context.stop(seq)
    } catch (error) {
      context.log.error({ seq, err: error }, 'could not stop the turn of a client that hung up')
    }
  }

  async function streamResult(answer: CompletionStream, outcome: Promise<TurnResult>): Promise<void> {
    try {
      answer.finish(await outcome)
    } catch (error) {
      const known = toApiError(error)
      if (known === null) context.log.error({ err: error }, 'a streamed completion failed')
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
      return complete(chat, toInboundMessage(context, chat), request.signal)
    },
  }
}

const sessionHeader = 'x-hermes-session-id'
const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

interface PendingCompletion {
  readonly chat: ChatRequest
  readonly message: InboundMessage
  /** Aborts when the client hangs up. */
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
  return new ApiError(429, `${maxConcurrent} requests are being worked on already; try again in a moment.`, {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 1,
  })
}

function gatewayStopping(): ApiError {
  return new ApiError(503, 'The gateway is stopping; the answer, if one was on its way, waits in the session.', {
    type: 'server_error',
    code: 'http/starting',
    retryAfterSeconds: 1,
  })
}
