/**
 * One call of the Web API as its method sees it: form fields, some of them JSON.
 */
import type { Json } from './workspace.ts'

export interface SlackApiCall {
  readonly method: string
  readonly token: string
  /** The fields as they came. */
  readonly fields: ReadonlyMap<string, string>
  /** '' when absent. */
  text(name: string): string
  /** Undefined when absent; null when it is no JSON. */
  json(name: string): unknown
  /** The objects of a JSON list; undefined when absent. */
  list(name: string): readonly Json[] | undefined
}

export function readCall(method: string, token: string, body: string, contentType: string): SlackApiCall {
  const fields = contentType.includes('json') ? fromJson(body) : new Map(new URLSearchParams(body))
  const json = (name: string) => {
    const text = fields.get(name)
    if (text === undefined) return undefined
    try {
      return JSON.parse(text)
    } catch {
      return null
    }
  }
  return {
    method,
    token,
    fields,
    text: (name) => fields.get(name) ?? '',
    json,
    list(name) {
      const value: unknown = json(name)
      return Array.isArray(value) ? value.filter(isJson) : undefined
    },
  }
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fromJson(body: string): Map<string, string> {
  const value: unknown = JSON.parse(body)
  if (!isJson(value)) return new Map()
  return new Map(Object.entries(value).map(([key, one]) => [key, typeof one === 'string' ? one : JSON.stringify(one)]))
}
