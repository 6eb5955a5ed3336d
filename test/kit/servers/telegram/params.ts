/**
 * How calls of the Bot API come over HTTP: the parameters from wherever they stand, and the envelope of the answers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

export type JsonRecord = Readonly<Record<string, unknown>>

/** A file that came with the call. */
export interface Uploaded {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
}

export interface Params {
  readonly fields: JsonRecord
  readonly files: ReadonlyMap<string, Uploaded>
}

/** A refusal of the Bot API. */
export class ApiError extends Error {
  readonly code: number
  readonly parameters: JsonRecord | undefined

  constructor(code: number, description: string, parameters?: JsonRecord) {
    super(description)
    this.code = code
    this.parameters = parameters
  }
}

export function badRequest(description: string, parameters?: JsonRecord): ApiError {
  return new ApiError(400, `Bad Request: ${description}`, parameters)
}

/** From the query, JSON, a form, or a form with files. */
export async function readParams(request: IncomingMessage, url: URL): Promise<Params> {
  const query = Object.fromEntries(url.searchParams)
  const body = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  const files = new Map<string, Uploaded>()
  if (body.length === 0) return { fields: query, files }
  if (type.includes('json')) return { fields: { ...query, ...asRecord(JSON.parse(body.toString())) }, files }
  const fields: Record<string, unknown> = query
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  for (const [key, value] of form) {
    if (typeof value === 'string') fields[key] = value
    else files.set(key, { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) })
  }
  return { fields, files }
}

export function asRecord(value: unknown): JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {}
}

/** An object or list; in forms it comes as JSON. */
export function nestedOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    throw badRequest('object expected')
  }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value)
}

export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

export function succeed(response: ServerResponse, result: unknown): void {
  write(response, 200, { ok: true, result })
}

export function refuse(response: ServerResponse, { code, message, parameters }: ApiError): void {
  write(response, code, {
    ok: false,
    error_code: code,
    description: message,
    ...(parameters === undefined ? {} : { parameters }),
  })
}

function write(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed || response.writableEnded) return
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
