/**
 * Reads the body of a request, and values of it by their path.
 */
import { isRecord, isTooComplex, parseJson } from '#sdk'

export type Payload = Readonly<Record<string, unknown>>

/** JSON, or a form with JSON in `payload`. `undefined` for everything else. A list is the field `items`. */
export function readPayload(body: string, contentType: string): Payload | undefined {
  if (!contentType.toLowerCase().startsWith('application/x-www-form-urlencoded')) return parse(body)
  const form = new URLSearchParams(body)
  const payload = form.get('payload')
  return payload === null ? { ...Object.fromEntries(form) } : parse(payload)
}

function parse(text: string): Payload | undefined {
  if (isTooComplex(text)) return undefined
  const value = parseJson(text)
  if (Array.isArray(value)) return { items: value }
  return isRecord(value) ? value : undefined
}

/** Own values only, so that a path cannot reach what JavaScript adds to objects. `undefined` when there is none. */
export function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}

/** '' when the sender names none. */
export function eventTypeOf(headers: Headers, payload: Payload): string {
  const named = headers.get('x-github-event') ?? headers.get('x-gitlab-event')
  if (named !== null) return named
  const field = [payload['event_type'], payload['type'], payload['event']].find((value) => typeof value === 'string')
  return typeof field === 'string' ? field : ''
}
