/**
 * Speaks MCP over two streams, one JSON message a line (stdio). In place of the transport of the SDK, which is not part of the
 * bundle, and which ends at a line that is too long.
 */
import { deserializeMessage, type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/server'
import { messageOf } from '../../lib/errors.ts'

export interface LineTransportOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  readonly maxLineBytes?: number
  /** A line that is no message. */
  onInvalidLine(reason: string): void
}

const defaultMaxLineBytes = 4_194_304

export function createLineTransport(options: LineTransportOptions): Transport {
  const { input, output, maxLineBytes = defaultMaxLineBytes, onInvalidLine } = options
  let chunks: Buffer[] = []
  let length = 0
  let isSkipping = false
  let isClosed = false

  const receive = (line: Buffer) => {
    const text = line.toString('utf8').trim()
    if (text === '' || isClosed) return
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(text)
    } catch (error) {
      onInvalidLine(`a line is no message: ${messageOf(error).slice(0, 200)}`)
      reply(-32_700, 'Parse error')
      return
    }
    transport.onmessage?.(message)
  }
  const reply = (code: number, message: string) =>
    void output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`)
  const take = (piece: Buffer) => {
    if (isSkipping) return
    chunks.push(piece)
    length += piece.length
    if (length <= maxLineBytes) return
    chunks = []
    isSkipping = true
    onInvalidLine(`a message has more than ${maxLineBytes} bytes`)
    reply(-32_600, `A message has at most ${maxLineBytes} bytes`)
  }
  const onData = (data: Buffer | string) => {
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end))
      const line = Buffer.concat(chunks)
      chunks = []
      length = 0
      if (!isSkipping) receive(line)
      isSkipping = false
      start = end + 1
    }
    if (start < chunk.length) take(chunk.subarray(start))
  }
  const close = async () => {
    if (isClosed) return
    isClosed = true
    input.off('data', onData)
    input.pause()
    transport.onclose?.()
  }
  const onEnd = () => void close()

  const transport: Transport = {
    async start() {
      input.on('data', onData)
      input.once('end', onEnd)
      input.once('error', onEnd)
      // The client has gone.
      output.once('error', onEnd)
    },
    async send(message) {
      if (isClosed) return
      if (output.write(serializeMessage(message))) return
      await new Promise<void>((resolve) => {
        const done = () => {
          for (const name of ['drain', 'close', 'error']) output.off(name, done)
          resolve()
        }
        for (const name of ['drain', 'close', 'error']) output.once(name, done)
      })
    },
    close,
  }
  return transport
}
