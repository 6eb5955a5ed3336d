/**
 * A `fetch` that sends forms with files. The files are read while they are sent, and their length is announced, because some servers
 * take no request without one.
 */
import { randomUUID } from 'node:crypto'
import { type FetchFunction, httpFetch } from './transport.ts'

export const uploadFetch: FetchFunction = async (input, init) => {
  if (!(init?.body instanceof FormData)) return await httpFetch(input, init)
  const { body, length, contentType } = encodeForm(init.body)
  const headers = new Headers(init.headers)
  headers.set('content-type', contentType)
  headers.set('content-length', String(length))
  return await httpFetch(input, { ...init, body, headers })
}

function encodeForm(form: FormData): {
  readonly body: ReadableStream<Uint8Array>
  readonly length: number
  readonly contentType: string
} {
  const boundary = `hermes-${randomUUID()}`
  const parts: Blob[] = []
  for (const [name, value] of form) {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${escapeName(name)}"`
    if (typeof value === 'string') parts.push(new Blob([`${head}\r\n\r\n${value}\r\n`]))
    else {
      const type = value.type === '' ? 'application/octet-stream' : value.type
      const file = `; filename="${escapeName(value.name)}"\r\ncontent-type: ${type}\r\n\r\n`
      parts.push(new Blob([head, file]), value, new Blob(['\r\n']))
    }
  }
  parts.push(new Blob([`--${boundary}--\r\n`]))
  return {
    body: ReadableStream.from(readAll(parts)),
    length: parts.reduce((sum, { size }) => sum + size, 0),
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

async function* readAll(parts: readonly Blob[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield* part.stream()
}

function escapeName(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character))
}
