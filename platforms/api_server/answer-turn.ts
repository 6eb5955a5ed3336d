/**
 * Waits for the turn of a message, and answers with its result or with a stream.
 *
 * A turn with a named session continues when the client disconnects, and its reply stays in the session. A turn without one
 * is stopped, because no other client can read its reply.
 */
import type { PlatformContext, TurnResult } from '#sdk'
import type { CompletionStream } from './completion-stream.ts'
import { ApiError, errorResponse, toApiError } from './errors.ts'
import type { ApiServer } from './server.ts'
import type { InboundMessage } from './to-event.ts'
import { sessionHeaders, streamHeaders } from './turn-requests.ts'

export interface TurnRequest {
  readonly message: InboundMessage
  /** The session that the client named. */
  readonly sessionId: string | undefined
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** Whether the client wants a stream. */
  readonly isLive: boolean
  /** Stores the message, and returns its number. */
  accept(): Promise<number>
  /** Undefined before it has begun, and for a client that wants no stream. */
  stream(): CompletionStream | undefined
  /** The response to a client that wants no stream. */
  body(result: TurnResult): unknown
}

/** Throws errors of the gateway that a client cannot act on. */
export async function answerTurn(
  { context, waiting, turns }: ApiServer,
  { message, sessionId, signal, isLive, accept, stream, body }: TurnRequest,
): Promise<Response> {
  const headers = sessionHeaders(message.event)
  const release = waiting.add({
    chatId: message.event.source.chatId,
    messageId: message.key,
    isLive,
    onText: (text) => stream()?.setText(text),
    onInterimText: (text) => stream()?.endText(text),
    onToolProgress: (progress) => stream()?.sendToolProgress(progress),
  })
  const end = turns.begin()
  const done = () => {
    end()
    release()
  }
  let isStreaming = false
  try {
    const seq = await accept()
    const outcome = turns.resultOf({
      seq,
      signal,
      onDisconnect() {
        release()
        return sessionId === undefined && !waiting.has(message.key)
      },
    })
    const answer = stream()
    if (answer === undefined) return Response.json(body(await outcome), { headers })
    isStreaming = true
    void streamResult(context, answer, outcome).finally(done)
    return new Response(answer.body, { headers: { ...headers, ...streamHeaders } })
  } catch (error) {
    const known = toApiError(error)
    if (known === null) throw error
    return errorResponse(known, headers)
  } finally {
    if (!isStreaming) {
      done()
      await stream()?.body.cancel()
    }
  }
}

/** Ends the stream with the result or its error. Never rejects. */
async function streamResult(
  { log }: Pick<PlatformContext, 'log'>,
  answer: Pick<CompletionStream, 'finish' | 'fail'>,
  outcome: Promise<TurnResult>,
): Promise<void> {
  try {
    answer.finish(await outcome)
  } catch (error) {
    const known = toApiError(error)
    if (known === null) log.error({ event: 'api_server.completion_failed', err: error }, 'streamed completion failed')
    answer.fail(known ?? new ApiError(500, 'The gateway could not handle the request.', { type: 'server_error' }))
  }
}
