/**
 * Handles a chat completion: accepts the message, waits for the result of its turn, and responds in OpenAI's format.
 */
import type { PlatformContext } from '#sdk'
import { answerTurn } from './answer-turn.ts'
import { type CompletionStream, createCompletionStream } from './completion-stream.ts'
import { type Completion, chatCompletion } from './format-response.ts'
import { parseChatRequest } from './parse-request.ts'
import type { ApiServer } from './server.ts'
import { completionMessage } from './to-event.ts'

/** Throws `ApiError` and errors of the gateway. */
export async function handleCompletion(server: ApiServer, request: Request): Promise<Response> {
  const { context, turns, options } = server
  const chat = parseChatRequest(await request.bytes(), request.headers)
  turns.admit()
  const files = await turns.storeFiles(chat, request.signal)
  const message = completionMessage(context, chat, files)
  const model = chat.model ?? modelOf(context)
  let completion: Completion = { id: '', created: 0, model }
  let stream: CompletionStream | undefined
  return await answerTurn(server, {
    message,
    sessionId: chat.sessionId,
    signal: request.signal,
    isLive: chat.stream,
    async accept() {
      const seq = await turns.accept(message)
      completion = { id: `chatcmpl-${seq}`, created: Math.floor(context.clock() / 1000), model }
      const { includeUsage } = chat
      if (chat.stream) stream = createCompletionStream({ completion, includeUsage, keepAliveMs: options.keepAliveMs })
      return seq
    },
    stream: () => stream,
    body: (result) => chatCompletion(completion, result),
  })
}

export function modelOf(context: PlatformContext): string {
  const { model, provider } = context.gateway.info()
  return model || provider
}
