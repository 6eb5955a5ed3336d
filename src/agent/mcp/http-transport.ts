/**
 * Speaks with a server on the network. What it sends is bounded, and the configured headers go to its own origin only.
 */
import {
  type AuthProvider,
  type FetchLike,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import type { McpServerConfig } from './config.ts'

export interface HttpTransportOptions {
  readonly url: string
  readonly transport: McpServerConfig['transport']
  readonly headers: Readonly<Record<string, string>>
  readonly authProvider?: AuthProvider | undefined
  readonly fetch: FetchLike
  readonly maxMessageBytes?: number
}

const defaultMaxMessageBytes = 10 * 1_048_576

export function createHttpTransport(options: HttpTransportOptions): Transport {
  const url = new URL(options.url)
  const { authProvider, maxMessageBytes = defaultMaxMessageBytes } = options
  const shared = {
    fetch: boundedFetch(withHeaders(options.fetch, url.origin, options.headers), maxMessageBytes),
    ...(authProvider === undefined ? {} : { authProvider }),
  }
  if (options.transport === 'sse') return new SSEClientTransport(url, shared)
  return new StreamableHTTPClientTransport(url, shared)
}

function withHeaders(fetchOriginal: FetchLike, origin: string, headers: Readonly<Record<string, string>>): FetchLike {
  return async (url, init) => {
    const all = new Headers(init?.headers)
    if (new URL(url).origin === origin)
      for (const [name, value] of Object.entries(headers)) if (!all.has(name)) all.set(name, value)
    return await fetchOriginal(url, { ...init, headers: all })
  }
}

/** Fails while a body is read that, or of which one event, is longer. */
export function boundedFetch(fetchOriginal: FetchLike, maxMessageBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetchOriginal(url, init)
    const { body } = response
    if (body === null) return response
    const isStream = (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream')
    const limited = body.pipeThrough(limitBytes(maxMessageBytes, isStream))
    const bounded = new Response(limited, response)
    // A response that is built has no address of its own.
    Object.defineProperty(bounded, 'url', { value: response.url })
    return bounded
  }
}

/** Fails when the body, or one event of a stream, is longer. */
function limitBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      const lastEnd = isStream ? endOfLastEvent(chunk) : -1
      bytes = lastEnd === -1 ? bytes + chunk.length : chunk.length - lastEnd
      if (bytes > maxBytes) controller.error(new Error(`the server sent more than ${maxBytes} bytes in one message`))
      else controller.enqueue(chunk)
    },
  })
}

/** The position after the last blank line; -1 for none. An event that ends between two chunks counts with the next one. */
function endOfLastEvent(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'), text.lastIndexOf('\r\r'))
}
