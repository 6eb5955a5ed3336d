/**
 * What the router is told, read from its settings.
 */
import { type Fields, list, messageOf, num, record, str } from '#sdk'

export interface RouterSettings {
  isSmall(model: string): boolean
  /** '' for none. */
  readonly largeModel: string
  readonly largeModelFields: Fields
  /** As they are compared: small letters, plain apostrophes. */
  readonly phrases: readonly string[]
  readonly patterns: readonly RegExp[]
  readonly minChars: number
  /** Between 0 and 1. */
  readonly maxShare: number
  worksOn(route: string): boolean
  readonly instruction: string
}

/** Throws an `Error` that names the setting which cannot be used. */
export function routerSettings(given: Fields): RouterSettings {
  const small = list(given['small_models']).map(glob)
  const routes = list(given['routes']).map(glob)
  const maxShare = num(given['max_share_per_day'])
  if (maxShare < 0 || maxShare > 1) throw new Error('settings.max_share_per_day: expected a number between 0 and 1')
  return {
    isSmall: (model) => small.some((pattern) => pattern.test(model)),
    largeModel: str(given['large_model']),
    largeModelFields: record(given['large_model_fields']),
    phrases: list(given['phrases'])
      .map(str)
      .map(comparable)
      .filter((phrase) => phrase !== ''),
    patterns: list(given['patterns']).map(expression),
    minChars: num(given['min_chars']),
    maxShare,
    worksOn: (route) => routes.length === 0 || routes.some((pattern) => pattern.test(route)),
    instruction: str(given['instruction']),
  }
}

/** Apostrophes come in two forms, and so do letters. */
export function comparable(text: string): string {
  return text.replaceAll('’', "'").toLowerCase()
}

function glob(pattern: unknown): RegExp {
  const literal = str(pattern).replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('*', '.*')}$`)
}

function expression(pattern: unknown, position: number): RegExp {
  try {
    return new RegExp(str(pattern), 'iu')
  } catch (error) {
    throw new Error(`settings.patterns, number ${position + 1}: ${messageOf(error)}`)
  }
}
