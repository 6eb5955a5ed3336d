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
import type { ApiServer } from './server.ts'
import { completionMessage, type InboundMessage } from './to-event.ts'
import { sessionHeaders, streamHeaders } from './turn-requests.ts'

/** Throws `ApiError` and errors of the gateway. */
export async function handleCompletion(server: ApiServer, request: Request): Promise<Response> {
  const { context, turns } = server
  const chat = parseChatRequest(await request.bytes(), request.headers)
  turns.admit()
  const files = await turns.storeFiles(chat, request.signal)
  return complete(server, chat, completionMessage(context, chat, files), request.signal)
}

async function complete(
  { context, waiting, turns, options }: ApiServer,
  chat: ChatRequest,
  message: InboundMessage,
  signal: AbortSignal,
): Promise<Response> {
  const headers = sessionHeaders(message.event)
  let answer: CompletionStream | undefined
  const release = waiting.add({
    chatId: message.event.source.chatId,
    messageId: message.key,
    onText: (text) => answer?.setText(text),
    onInterimText: (text) => answer?.endText(text),
    onToolProgress: (progress) => answer?.sendToolProgress(progress),
  })
  const end = turns.begin()
  const done = () => {
    end()
    release()
  }
  try {
    const seq = await turns.accept(message)
    const completion = toCompletion(context, chat, seq)
    const outcome = turns.resultOf({
      seq,
      signal,
      onDisconnect() {
        release()
        return chat.sessionId === undefined && !waiting.has(message.key)
      },
    })
    if (!chat.stream) return Response.json(chatCompletion(completion, await outcome), { headers })
    answer = createCompletionStream({ completion, includeUsage: chat.includeUsage, keepAliveMs: options.keepAliveMs })
    void streamResult(context, answer, outcome).finally(done)
    return new Response(answer.body, { headers: { ...headers, ...streamHeaders } })
  } catch (error) {
    const known = toApiError(error)
    if (known === null) throw error
    return errorResponse(known, headers)
  } finally {
    if (answer === undefined) done()
  }
}

/** Ends the stream with the result or its error. Never rejects. */
export async function streamResult(
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

function toCompletion(context: PlatformContext, chat: ChatRequest, seq: number): Completion {
  const { model, provider } = context.gateway.info()
  return {
    id: `chatcmpl-${seq}`,
    created: Math.floor(context.clock() / 1000),
    model: chat.model ?? (model || provider),
  }
}
