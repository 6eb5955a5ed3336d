/**
 * What is to be protected, read from the settings.
 */
import { asArray, asString, type Fields, messageOf } from '#sdk'

export interface RedactSettings {
  readonly model: boolean
  readonly toolResults: boolean
  readonly answers: boolean
  readonly events: boolean
  readonly patterns: readonly RegExp[]
  readonly ignore: ReadonlySet<string>
  readonly restoreFor: ReadonlySet<string>
}

/** Throws an `Error` that names the pattern which cannot be used. */
export function parseRedactSettings(given: Fields): RedactSettings {
  return {
    model: given['protect_model'] !== false,
    toolResults: given['protect_tool_results'] !== false,
    answers: given['protect_answers'] !== false,
    events: given['protect_events'] !== false,
    patterns: asArray(given['patterns']).map(parsePattern),
    ignore: new Set(asArray(given['ignore']).map(asString)),
    restoreFor: new Set(asArray(given['restore_for_tools']).map(asString)),
  }
}

function parsePattern(given: unknown, position: number): RegExp {
  const where = `settings.patterns, number ${position + 1}`
  try {
    const pattern = new RegExp(asString(given), 'gu')
    if (''.search(pattern) === -1) return pattern
  } catch (error) {
    throw new Error(`${where}: ${messageOf(error)}`)
  }
  throw new Error(`${where}: it matches an empty text`)
}
