/**
 * Sends one request of JSON to a model over `node:http`, and reads the bytes of its response. The built-in `fetch` aborts after five
 * minutes without data, which cannot be configured and is too short for a large model on a small machine. Redirects are not followed: one
 * would turn the POST into a GET or send the key to another host. Node's own agents keep the sockets alive; they also read the proxy
 * settings of the environment.
 */
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { urlToHttpOptions } from 'node:url'
import { onAbort } from '../../lib/timers.ts'

/** The bytes of a body, one piece after the other. The reader of a `ReadableStream` is one, too. */
export interface ByteReader {
  /** Rejects with the error of the connection. */
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  /** Closes the connection of a body that is not complete. */
  cancel(): Promise<void>
}

export interface ModelResponse {
  readonly status: number
  /** The names are in small letters. */
  readonly headers: http.IncomingHttpHeaders
  readonly body: ByteReader
}

/** What one call sends. A stream has its length in the headers. */
export interface PostContent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | ReadableStream<Uint8Array>
}

export type Post = (content: PostContent, signal: AbortSignal) => Promise<ModelResponse>

/** Throws `TypeError` for an address that is none. The function rejects with the error of the connection. */
export function createPost(address: string | URL): Post {
  const { protocol, hostname, port, path } = urlToHttpOptions(new URL(address))
  const { request: open } = protocol === 'https:' ? https : http
  const target = { method: 'POST', protocol, hostname, port, path }
  return ({ headers, body }, signal) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const request = open({ ...target, headers })
      const stopListening = onAbort(signal, () => request.destroy(new Error('the request was aborted')))
      request.once('close', stopListening)
      // Never removed: a socket may fail after its response has begun, and an error without a listener ends the process.
      request.on('error', reject)
      request.once('response', (message) =>
        resolve({ status: message.statusCode ?? 0, headers: message.headers, body: readerOf(message) }),
      )
      if (typeof body === 'string') request.end(body)
      else pipeline(body, request).catch(reject)
    })
}

const maxWaitingBytes = 64 * 1_024

function readerOf(message: http.IncomingMessage): ByteReader {
  const waiting: Uint8Array[] = []
  let waitingBytes = 0
  let end: { readonly error?: Error } | undefined
  let wake: (() => void) | undefined
  const notify = () => {
    wake?.()
    wake = undefined
  }
  message.on('data', (piece: Buffer) => {
    waiting.push(piece)
    waitingBytes += piece.length
    if (waitingBytes > maxWaitingBytes) message.pause()
    notify()
  })
  message.on('end', () => {
    end ??= {}
    notify()
  })
  message.on('error', (error) => {
    end ??= { error }
    notify()
  })
  message.on('close', () => {
    end ??= { error: new Error('the connection was closed before the response was complete') }
    notify()
  })
  return {
    async read() {
      while (waiting.length === 0 && end === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        if (message.isPaused()) message.resume()
        await promise
      }
      const value = waiting.shift()
      if (value !== undefined) {
        waitingBytes -= value.length
        return { done: false, value }
      }
      if (end?.error !== undefined) throw end.error
      return { done: true }
    },
    async cancel() {
      if (!message.complete) message.destroy()
    },
  }
}

const maxPrefixChars = 64 * 1_024

/** Reads at most 64 Ki characters of a body and discards the rest. */
export async function readPrefix(body: ByteReader): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (text.length < maxPrefixChars) {
      const { done, value } = await body.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    await body.cancel()
  }
  return text.slice(0, maxPrefixChars)
}
