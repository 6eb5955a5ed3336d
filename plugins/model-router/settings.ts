/**
 * Parses the settings of the plugin.
 */
import { asArray, asNumber, asRecord, asString, type Fields, messageOf } from '#sdk'

export interface RouterSettings {
  isSmall(model: string): boolean
  /** '' for none. */
  readonly largeModel: string
  readonly largeModelFields: Fields
  /** Normalized for the comparison: lower case, plain apostrophes. */
  readonly phrases: readonly string[]
  readonly patterns: readonly RegExp[]
  readonly minChars: number
  /** Between 0 and 1. */
  readonly maxShare: number
  appliesTo(route: string): boolean
  readonly instruction: string
}

/** Throws an `Error` that names the invalid setting. */
export function parseRouterSettings(settings: Fields): RouterSettings {
  const small = asArray(settings['small_models']).map(globToRegExp)
  const routes = asArray(settings['routes']).map(globToRegExp)
  const maxShare = asNumber(settings['max_share_per_day'])
  if (maxShare < 0 || maxShare > 1) throw new Error('settings.max_share_per_day: expected a number between 0 and 1')
  return {
    isSmall: (model) => small.some((pattern) => pattern.test(model)),
    largeModel: asString(settings['large_model']),
    largeModelFields: asRecord(settings['large_model_fields']),
    phrases: asArray(settings['phrases'])
      .map(asString)
      .map(normalizeForComparison)
      .filter((phrase) => phrase !== ''),
    patterns: asArray(settings['patterns']).map(parsePattern),
    minChars: asNumber(settings['min_chars']),
    maxShare,
    appliesTo: (route) => routes.length === 0 || routes.some((pattern) => pattern.test(route)),
    instruction: asString(settings['instruction']),
  }
}

/** Makes the comparison independent of case and of typographic apostrophes. */
export function normalizeForComparison(text: string): string {
  return text.replaceAll('’', "'").toLowerCase()
}

function globToRegExp(pattern: unknown): RegExp {
  const literal = asString(pattern).replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('*', '.*')}$`)
}

function parsePattern(pattern: unknown, position: number): RegExp {
  try {
    return new RegExp(asString(pattern), 'iu')
  } catch (error) {
    throw new Error(`settings.patterns, number ${position + 1}: ${messageOf(error)}`)
  }
}
