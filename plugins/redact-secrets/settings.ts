/**
 * Parses the settings of the plugin.
 */
import { asArray, asString, type Fields, messageOf } from '#sdk'

export type RedactSettings = ReturnType<typeof parseRedactSettings>

/** Throws an `Error` that names the invalid pattern. */
export function parseRedactSettings(settings: Fields) {
  return {
    model: settings['protect_model'] !== false,
    toolResults: settings['protect_tool_results'] !== false,
    answers: settings['protect_answers'] !== false,
    events: settings['protect_events'] !== false,
    patterns: asArray(settings['patterns']).map(parsePattern),
    ignore: new Set(asArray(settings['ignore']).map(asString)),
    restoreFor: new Set(asArray(settings['restore_for_tools']).map(asString)),
  }
}

function parsePattern(value: unknown, index: number): RegExp {
  const name = `settings.patterns, number ${index + 1}`
  try {
    const pattern = new RegExp(asString(value), 'gu')
    if (''.search(pattern) === -1) return pattern
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`)
  }
  throw new Error(`${name}: it matches an empty text`)
}
