/**
 * The body of a streamed completion. For a slow client only the newest text is kept, so that the client affects neither the
 * turn nor the memory.
 */
import type { TurnResult } from '#sdk'
import { type ApiError, errorBody } from './errors.ts'
import {
  type Completion,
  type CompletionDelta,
  completionChunk,
  type FinishReason,
  sseDone,
  sseEvent,
  sseKeepAlive,
  type ToolProgress,
  toolProgressEvent,
  usageChunk,
} from './format-response.ts'
import { createTextDelta } from './text-delta.ts'

export interface CompletionStream {
  readonly body: ReadableStream<Uint8Array>
  /** The complete text of the current response so far. */
  setText(text: string): void
  /** A text before tool calls is complete. The next text follows as a separate paragraph. */
  endText(text: string): void
  sendToolProgress(progress: ToolProgress): void
  /** Sends the rest and ends the stream. */
  finish(outcome: TurnResult): void
  /** Ends the stream with an error event and without `[DONE]`. */
  fail(error: ApiError): void
}

export interface CompletionStreamOptions {
  readonly completion: Completion
  readonly includeUsage: boolean
  /** The interval of comments that prevent proxies from closing an idle connection. */
  readonly keepAliveMs: number
}

/** The number of pending events from which text is held back. */
const highWaterMark = 16

export function createCompletionStream({
  completion,
  includeUsage,
  keepAliveMs,
}: CompletionStreamOptions): CompletionStream {
  const answer = createTextDelta()
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let newest: string | undefined
  /** The texts before tool calls. */
  let before = ''
  let current = ''

  const send = (event: string) => controller?.enqueue(encoder.encode(event))
  // With `include_usage` every chunk has the field; it is `null` except in the last one.
  const sendChunk = (delta: CompletionDelta, finishReason: FinishReason | null = null) =>
    send(sseEvent({ ...completionChunk(completion, delta, finishReason), ...(includeUsage ? { usage: null } : {}) }))
  const hasRoom = () => (controller?.desiredSize ?? 0) > 0
  const sendText = (text: string) => {
    if (text !== '') sendChunk({ content: text })
  }
  const flush = () => {
    if (newest === undefined || !hasRoom()) return
    const text = newest
    newest = undefined
    sendText(answer.next(text))
  }
  const keepAlive = setInterval(() => {
    if (hasRoom()) send(sseKeepAlive)
  }, keepAliveMs)
  const cancel = () => {
    clearInterval(keepAlive)
    controller = undefined
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started
        sendChunk({ role: 'assistant', content: '' })
      },
      pull: flush,
      cancel,
    },
    { highWaterMark },
  )

  return {
    body,
    setText(text) {
      current = text
      newest = before + text
      flush()
    },
    endText(text) {
      // The stored text lacks the media tags, which are sent already.
      before += `${(text.startsWith(current) ? text : current).trim()}\n\n`
      current = ''
      newest = before
      flush()
    },
    sendToolProgress(progress) {
      // A slow client needs no keep-alive comment.
      if (hasRoom()) send(toolProgressEvent(completion, progress))
    },
    finish({ text, usage, cutOff }) {
      const open = controller
      if (open === undefined) return
      sendText(answer.finish(before + text))
      sendChunk({}, cutOff ?? 'stop')
      if (includeUsage) send(sseEvent(usageChunk(completion, usage)))
      send(sseDone)
      cancel()
      open.close()
    },
    fail(error) {
      const open = controller
      if (open === undefined) return
      send(sseEvent(errorBody(error), 'error'))
      cancel()
      open.close()
    },
  }
}
