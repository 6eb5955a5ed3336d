/**
 * The body of a call: JSON, or a form with `payload_json` and files.
 */
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface ReceivedFile {
  readonly name: string
  readonly type: string
  readonly bytes: Buffer
}

export interface ReceivedBody {
  readonly json: Readonly<Record<string, unknown>>
  /** A body that is an array, such as commands. */
  readonly list: readonly Readonly<Record<string, unknown>>[]
  /** By the number in `files[n]`. */
  readonly files: ReadonlyMap<number, ReceivedFile>
}

/** Undefined for any other body. */
export async function readBody(request: IncomingMessage): Promise<ReceivedBody | undefined> {
  const bytes = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  const files = new Map<number, ReceivedFile>()
  if (!type.startsWith('multipart/form-data')) {
    const value = bytes.length === 0 ? {} : parse(bytes.toString())
    return value === undefined ? undefined : { ...shapes(value), files }
  }
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  for (const [key, part] of form) {
    const number = /^files\[(\d+)\]$/.exec(key)?.[1]
    if (number === undefined || typeof part === 'string') continue
    const content = Buffer.from(await part.arrayBuffer())
    files.set(Number(number), { name: part.name, type: part.type, bytes: content })
  }
  const value = parse(String(form.get('payload_json') ?? '{}'))
  return value === undefined ? undefined : { ...shapes(value), files }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function shapes(value: unknown): Pick<ReceivedBody, 'json' | 'list'> {
  if (Array.isArray(value)) return { json: {}, list: value.filter(isObject) }
  return { json: isObject(value) ? value : {}, list: [] }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
