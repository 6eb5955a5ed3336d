/**
 * The body of a streamed response: OpenAI's typed events in their order, numbered. For a slow client only the newest text is kept, as
 * in completions.
 */
import type { TurnResult } from '#sdk'
import type { CompletionStream } from './completion-stream.ts'
import type { ApiError } from './errors.ts'
import type { Exchange } from './exchanges.ts'
import {
  type OutputMessage,
  outputMessage,
  outputText,
  responseError,
  responseObject,
  statusOf,
} from './format-exchange.ts'
import { sseEvent, sseKeepAlive, type ToolProgress } from './format-response.ts'
import { createTextDelta, type TextDelta } from './text-delta.ts'

/** The number of pending events from which text is held back. */
const highWaterMark = 16

interface OpenMessage {
  readonly index: number
  readonly delta: TextDelta
  sent: string
}

export function createResponseStream({
  exchange,
  keepAliveMs,
}: {
  readonly exchange: Exchange
  /** The interval of comments that prevent proxies from closing an idle connection. */
  readonly keepAliveMs: number
}): CompletionStream {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let sequence = 0
  let open: OpenMessage | undefined
  let newest: string | undefined
  const ended: OutputMessage[] = []

  const hasRoom = () => (controller?.desiredSize ?? 0) > 0
  const send = (type: string, fields: object) =>
    controller?.enqueue(encoder.encode(sseEvent({ type, sequence_number: sequence++, ...fields }, type)))

  const begin = (): OpenMessage => {
    if (open !== undefined) return open
    const index = ended.length
    const item = outputMessage(exchange, index, { status: 'in_progress', phase: 'final_answer', content: [] })
    open = { index, delta: createTextDelta(), sent: '' }
    send('response.output_item.added', { output_index: index, item })
    send('response.content_part.added', { ...locate(item.id, index), part: outputText('') })
    return open
  }
  const sendText = (text: string) => {
    if (text === '') return
    const message = begin()
    message.sent += text
    send('response.output_text.delta', { ...locate(idOf(message), message.index), delta: text, logprobs: [] })
  }
  const idOf = ({ index }: OpenMessage) => outputMessage(exchange, index, emptyParts).id
  const flush = () => {
    if (newest === undefined || !hasRoom()) return
    const text = newest
    newest = undefined
    if (text.trim() !== '') sendText(begin().delta.next(text))
  }
  /** Ends the open message; `text` is its valid text. */
  const end = (text: string, parts: Pick<OutputMessage, 'status' | 'phase'>) => {
    newest = undefined
    const message = begin()
    sendText(message.delta.finish(text))
    const item = outputMessage(exchange, message.index, { ...parts, content: [outputText(text)] })
    const at = locate(item.id, message.index)
    send('response.output_text.done', { ...at, text, logprobs: [] })
    send('response.content_part.done', { ...at, part: outputText(text) })
    send('response.output_item.done', { output_index: message.index, item })
    open = undefined
    return item
  }
  const keepAlive = setInterval(() => {
    if (hasRoom()) controller?.enqueue(encoder.encode(sseKeepAlive))
  }, keepAliveMs)
  const cancel = () => {
    clearInterval(keepAlive)
    controller = undefined
  }
  const close = () => {
    const last = controller
    cancel()
    last?.close()
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started
        const response = responseObject(exchange, undefined)
        send('response.created', { response })
        send('response.in_progress', { response })
      },
      pull: flush,
      cancel,
    },
    { highWaterMark },
  )

  return {
    body,
    setText(text) {
      newest = text
      flush()
    },
    endText(text) {
      if (controller === undefined || text.trim() === '') return
      ended.push(end(text.trim(), { status: 'completed', phase: 'commentary' }))
    },
    sendToolProgress(progress: ToolProgress) {
      if (hasRoom()) send('hermes.tool.progress', { emoji: '🔧', ...progress })
    },
    finish(result: TurnResult) {
      if (controller === undefined) return
      const status = result.cutOff === undefined ? 'completed' : 'incomplete'
      end(result.text, { status, phase: 'final_answer' })
      send(`response.${statusOf(result)}`, { response: responseObject(exchange, result, ended) })
      close()
    },
    fail(error: ApiError) {
      if (controller === undefined) return
      const response = { ...responseObject(exchange, undefined, ended), status: 'failed', error: responseError(error) }
      send('response.failed', { response })
      close()
    },
  }
}

const emptyParts = { status: 'in_progress', phase: 'final_answer', content: [] } as const

function locate(itemId: string, index: number) {
  return { item_id: itemId, output_index: index, content_index: 0 }
}
