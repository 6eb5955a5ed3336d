/**
 * Parses the settings of the plugin.
 */
import { asNumber, asRecord, asString, type Fields } from '#sdk'

export interface ContentSettings {
  readonly included: boolean
  readonly maxTextChars: number
}

export type OtelSettings = ReturnType<typeof parseOtelSettings>

/** Throws an `Error` that names the invalid setting. */
export function parseOtelSettings(settings: Fields) {
  const endpoint = asString(settings['endpoint'])
  if (endpoint !== '' && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new Error(`settings.endpoint: expected an address such as http://localhost:4318, found "${endpoint}"`)
  return {
    /** Undefined: the environment variables of OpenTelemetry apply. */
    url: endpoint === '' ? undefined : `${endpoint.replace(/\/+$|(?:\/+v1\/traces\/*)$/, '')}/v1/traces`,
    headers: Object.fromEntries(
      Object.entries(asRecord(settings['headers'])).map(([name, value]) => [name, String(value)]),
    ),
    serviceName: asString(settings['service_name']),
    content: { included: settings['include_content'] === true, maxTextChars: asNumber(settings['max_text_chars']) },
    maxQueue: parsePositiveNumber(settings, 'max_queue'),
    intervalMs: parsePositiveNumber(settings, 'interval_ms'),
    timeoutMs: parsePositiveNumber(settings, 'timeout_ms'),
  }
}

function parsePositiveNumber(settings: Fields, key: string): number {
  const value = asNumber(settings[key])
  if (value < 1) throw new Error(`settings.${key}: expected a number from 1`)
  return value
}
