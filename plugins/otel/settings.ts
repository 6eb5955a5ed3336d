/**
 * Where spans go and what they hold, read from the settings.
 */
import { asNumber, asRecord, asString, type Fields } from '#sdk'

export interface OtelSettings {
  /** Undefined: the variables of OpenTelemetry decide. */
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly content: ContentSettings
  readonly maxQueue: number
  readonly intervalMs: number
  readonly timeoutMs: number
}

export interface ContentSettings {
  readonly included: boolean
  readonly maxTextChars: number
}

/** Throws an `Error` that names the setting which cannot be used. */
export function parseOtelSettings(given: Fields): OtelSettings {
  const endpoint = asString(given['endpoint'])
  if (endpoint !== '' && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new Error(`settings.endpoint: expected an address such as http://localhost:4318, found "${endpoint}"`)
  return {
    url: endpoint === '' ? undefined : `${endpoint.replace(/\/+$|(?:\/+v1\/traces\/*)$/, '')}/v1/traces`,
    headers: Object.fromEntries(
      Object.entries(asRecord(given['headers'])).map(([name, value]) => [name, String(value)]),
    ),
    serviceName: asString(given['service_name']),
    content: { included: given['include_content'] === true, maxTextChars: asNumber(given['max_text_chars']) },
    maxQueue: parsePositiveNumber(given, 'max_queue'),
    intervalMs: parsePositiveNumber(given, 'interval_ms'),
    timeoutMs: parsePositiveNumber(given, 'timeout_ms'),
  }
}

function parsePositiveNumber(given: Fields, key: string): number {
  const value = asNumber(given[key])
  if (value < 1) throw new Error(`settings.${key}: expected a number from 1`)
  return value
}
