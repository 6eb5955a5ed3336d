/**
 * Parses the settings of the plugin.
 */
import { asArray, asNumber, asRecord, asString, type Fields, isRecord } from '#sdk'
import { parsePriceTable } from './prices.ts'

export interface Budget {
  readonly per: 'user' | 'chat' | 'global' | 'turn'
  /** `turn` with `per: turn`. */
  readonly period: 'day' | 'month' | 'turn'
  readonly unit: 'money' | 'tokens'
  readonly limit: number
  readonly action: 'warn' | 'block' | 'route_down'
  /** The users or chats to which it applies; empty for all. Users are `<platform>:<id>`, chats are session keys. */
  readonly only: ReadonlySet<string>
  readonly except: ReadonlySet<string>
}

export type BudgetSettings = ReturnType<typeof parseBudgetSettings>

/** Throws an `Error` that names the invalid setting. */
export function parseBudgetSettings(settings: Fields) {
  const budgets = asArray(settings['budgets']).map(parseBudget)
  const cheapModel = asString(settings['cheap_model'])
  if (cheapModel === '' && budgets.some(({ action }) => action === 'route_down'))
    throw new Error('settings.cheap_model is required for a budget with action: route_down')
  const warnAt = asNumber(settings['warn_at'])
  if (warnAt <= 0 || warnAt > 1) throw new Error('settings.warn_at: expected a number above 0, at most 1')
  return {
    budgets,
    prices: parsePriceTable(asRecord(settings['prices'])),
    currency: asString(settings['currency']),
    timeZone: parseTimeZone(asString(settings['timezone'])),
    /** Between 0 and 1. */
    warnAt,
    cheapModel,
    cheapModelFields: asRecord(settings['cheap_model_fields']),
    expectedOutputTokens: asNumber(settings['expected_output_tokens']),
  }
}

const periods = ['day', 'month'] as const
const subjects = ['user', 'chat', 'global', 'turn'] as const
const actions = ['warn', 'block', 'route_down'] as const

function parseBudget(value: unknown, position: number): Budget {
  const location = `settings.budgets, number ${position + 1}`
  if (!isRecord(value)) throw new Error(`${location}: expected {per, period, amount or tokens, action}`)
  const { amount, tokens } = value
  const limit = amount ?? tokens
  if (typeof limit !== 'number' || !(limit > 0) || (amount !== undefined && tokens !== undefined))
    throw new Error(`${location}: expected either amount or tokens, a number above 0`)
  const per = parseEnum(subjects, value['per'], `${location}: per`)
  if (per === 'turn' && value['period'] !== undefined) throw new Error(`${location}: a budget per turn has no period`)
  return {
    per,
    period: per === 'turn' ? 'turn' : parseEnum(periods, value['period'], `${location}: period`),
    unit: amount === undefined ? 'tokens' : 'money',
    limit,
    action: parseEnum(actions, value['action'], `${location}: action`),
    only: new Set(asArray(value['for']).map(String)),
    except: new Set(asArray(value['except']).map(String)),
  }
}

function parseEnum<Value extends string>(values: readonly Value[], value: unknown, location: string): Value {
  const known = values.find((candidate) => candidate === value)
  if (known === undefined) throw new Error(`${location}: expected ${values.join(', ')}`)
  return known
}

function parseTimeZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    throw new Error(`settings.timezone: expected a time zone such as Europe/Berlin, found "${timeZone}"`)
  }
}
